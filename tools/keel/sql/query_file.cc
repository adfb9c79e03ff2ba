#include "sql/query_file.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "gen/names.h"
#include "keel/base/ascii.h"
#include "sql/lexemes.h"
#include "sql/words.h"

namespace keel::sql {
namespace {

constexpr std::pair<std::string_view, Query::Kind> kinds[] = {
    {"one", Query::Kind::One},       {"optional", Query::Kind::Optional}, {"many", Query::Kind::Many},
    {"stream", Query::Kind::Stream}, {"exec", Query::Kind::Exec},         {"batch", Query::Kind::Batch}};
constexpr std::string_view kinds_listed = ":one, :optional, :many, :stream, :exec or :batch";

bool is_blank(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Whether the name is that of a C++ type, with `::` between its parts and optional arguments in angle brackets.
bool is_type(std::string_view name) {
  return !name.empty() && (ascii::is_letter(name[0]) || name[0] == '_') && std::ranges::all_of(name, [](char c) {
    return ascii::is_alphanumeric(c) || c == '_' || c == ':' || c == '<' || c == '>' || c == ',';
  });
}

// The name in the mark that begins a block; "" for the mark that ends a block; nothing for any other comment.
std::optional<std::string_view> mark_of(std::string_view comment) {
  if (!comment.starts_with("/*?") || !comment.ends_with("*/") || comment.size() < 5) return std::nullopt;
  return trimmed(comment.substr(3, comment.size() - 5));
}

class Reader {
 public:
  Reader(std::size_t source, Problems& problems)
      : source_(source), problems_(problems), text_(problems.text(source)), lexemes_(lexemes_of(text_)) {}

  QueryFile read() {
    if (const std::size_t nul = text_.find('\0'); nul != text_.npos) {
      error(nul, "a NUL byte, which SQL text must not contain");
      return {};
    }
    find_marks();
    std::size_t end = 0;
    for (const Lexeme& lexeme : lexemes_) {
      gap(end, lexeme.offset);
      if (lexeme.kind != Lexeme::Kind::End) take(lexeme, lexeme.offset != end);
      end = lexeme.offset + lexeme.text.size();
    }
    finish();
    return std::move(file_);
  }

 private:
  struct Mark {
    std::size_t offset;
    std::string_view name;
  };

  void error(std::size_t offset, std::string text) { problems_.add({source_, offset}, std::move(text)); }

  // Calls f(offset, comment) for each comment between two tokens.
  template <class F>
  void each_comment(std::size_t begin, std::size_t end, F&& f) {
    for (std::size_t at = begin; at < end;) {
      const std::size_t after = skip_comment(text_, at);
      if (after == at) {
        ++at;
        continue;
      }
      f(at, text_.substr(at, after - at));
      at = after;
    }
  }
  void find_marks() {
    std::size_t end = 0;
    for (const Lexeme& lexeme : lexemes_) {
      each_comment(end, lexeme.offset, [&](std::size_t at, std::string_view comment) {
        if (const auto name = mark_of(comment)) marks_.push_back({at, *name});
      });
      end = lexeme.offset + lexeme.text.size();
    }
  }

  void gap(std::size_t begin, std::size_t end) {
    std::size_t last = begin;
    each_comment(begin, end, [&](std::size_t at, std::string_view comment) {
      end_line(last, at);
      last = at + comment.size();
      if (const auto name = mark_of(comment)) {
        mark(at, *name);
      } else if (comment.starts_with("--")) {
        line(at, comment);
      }
    });
    end_line(last, end);
  }
  void end_line(std::size_t begin, std::size_t end) {
    if (text_.substr(begin, end - begin).find('\n') == text_.npos) return;
    if (ends_with_line_) filter_.clear();
  }

  void mark(std::size_t offset, std::string_view name) {
    const auto next = std::ranges::find(marks_, offset, &Mark::offset) + 1;
    if (!is_open_ || query().pieces.empty()) {
      error(offset, "a block /*? name */ is a part of a statement, but no statement has begun here");
      return;
    }
    if (name.empty()) {
      if (filter_.empty() || ends_with_line_) error(offset, "there is no block /*? name */ that ends here");
      filter_.clear();
      return;
    }
    if (!is_identifier(name)) {
      error(offset, "a block must begin with /*? and the name of a parameter: /*? name */");
      return;
    }
    filter_ = name;
    filter_offset_ = offset;
    ends_with_line_ = next == marks_.end() || !next->name.empty();
  }

  // Reads a comment that begins with two dashes.
  void line(std::size_t offset, std::string_view comment) {
    const std::string_view content = trimmed(comment.substr(2));
    const std::size_t colon = content.find(':');
    const std::string_view key = colon == content.npos ? std::string_view() : content.substr(0, colon);
    if (is_identifier(key) && !content.substr(colon).starts_with("::")) {
      const std::string_view value = trimmed(content.substr(colon + 1));
      const std::size_t at = value.empty() ? offset : static_cast<std::size_t>(value.data() - text_.data());
      if (directive(key, value, at, offset)) return;
    }
    if (content == "group" || content == "volatile") {
      if (is_open_ && !is_ended_) {
        query().marks += "\n-- " + std::string(content);
      } else {
        error(offset, "-- " + std::string(content) +
                          " belongs to a statement: write it between the line -- name: … and the semicolon");
      }
      return;
    }
    // The comment belongs to the query whose name follows it or precedes it.
    const bool follows = offset == comment_end_ || text_.substr(comment_end_, offset - comment_end_) == "\n";
    if (!follows) comment_.clear();
    comment_end_ = offset + comment.size();
    if (is_open_ && query().pieces.empty()) {
      add_comment(query().comment, content);
    } else {
      add_comment(comment_, content);
    }
  }
  static void add_comment(std::string& comment, std::string_view line) {
    if (!comment.empty()) comment += '\n';
    comment += line;
  }

  bool directive(std::string_view key, std::string_view value, std::size_t at, std::size_t offset) {
    if (key == "name") {
      begin_query(value, at);
      return true;
    }
    if (key == "include") {
      const bool is_quoted = value.size() > 2 && ((value.front() == '"' && value.back() == '"') ||
                                                  (value.front() == '<' && value.back() == '>'));
      if (!is_quoted || value.substr(1, value.size() - 2).find_first_of("\"<>\\") != value.npos) {
        error(at, "expected a header in quotes: -- include: \"api/types.h\"");
      } else {
        file_.includes.emplace_back(value);
      }
      return true;
    }
    if (key == "type") {
      typed(value, at, is_open_ ? query().column_types : file_.types,
            is_open_ ? "-- type: total int64" : "-- type: users.created_at timestamp", !is_open_);
      return true;
    }
    if (key == "param" || key == "sort" || key == "params" || key == "database") {
      if (!is_open_) {
        error(offset, "-- " + std::string(key) + ": belongs to a query: put it after the line -- name: …");
      } else if (key == "param") {
        typed(value, at, query().parameter_types, "-- param: limit int32", false);
      } else if (key == "params") {
        if (!is_type(value)) {
          error(at, "expected the name of a struct: -- params: NewUser");
        } else if (!query().parameters.empty()) {
          error(at, "-- params: occurs twice");
        }
        query().parameters = value;
        query().parameters_place = {source_, at};
      } else if (key == "database") {
        if (value != "sqlite" && value != "postgres")
          error(at, "expected -- database: sqlite or -- database: postgres");
        query().database = value;
        query().database_place = {source_, at};
      } else {
        sorts(value, at);
      }
      return true;
    }
    static const std::vector<std::string> keys = {"name", "param", "params", "type", "sort", "include", "database"};
    const std::string_view near = nearest(key, keys);
    if (near.empty() || key.size() < 4) return false;
    error(offset, "-- " + std::string(key) + ": is not known; did you mean -- " + std::string(near) + ":?");
    return true;
  }

  void typed(std::string_view value, std::size_t at, std::vector<Query::Typed>& to, std::string_view example,
             bool has_table) {
    const std::size_t blank = std::min(value.find_first_of(" \t"), value.size());
    const std::string_view name = value.substr(0, blank);
    const std::string_view type = trimmed(value.substr(blank));
    const std::size_t dot = name.find('.');
    const bool is_good =
        has_table ? dot != name.npos && is_identifier(name.substr(0, dot)) && is_identifier(name.substr(dot + 1))
                  : is_identifier(name) || (!name.empty() && std::ranges::all_of(name, ascii::is_digit));
    if (!is_good || !is_type(type)) {
      error(at, "expected a name and its type: " + std::string(example));
      return;
    }
    for (const Query::Typed& other : to) {
      if (other.name != name || other.type == type) continue;
      error(at, std::string(name) + " has another type at " + problems_.describe(other.place) + ": " + other.type);
      return;
    }
    to.push_back({std::string(name), std::string(type), {source_, at}});
  }

  void sorts(std::string_view value, std::size_t at) {
    query().sort_place = {source_, at};
    for (std::string_view rest = value;;) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view name = trimmed(rest.substr(0, comma));
      const std::string_view last = name.substr(name.rfind('.') + 1);
      const std::string_view table = last.size() == name.size() ? "t" : name.substr(0, name.size() - last.size() - 1);
      if (!is_identifier(last) || !is_identifier(table)) {
        error(at, "expected columns: -- sort: name, users.created_at");
        return;
      }
      if (std::ranges::find(query().sorts, name) != query().sorts.end()) {
        error(at, "-- sort: has " + std::string(name) + " twice");
        return;
      }
      for (const std::string& other : query().sorts) {
        if (gen::pascal_of(other.substr(other.rfind('.') + 1)) != gen::pascal_of(last)) continue;
        error(at, "-- sort: has two columns that a client would call " + std::string(last) +
                      ": give one of them another name in the statement, with `as`, and sort by that name");
        return;
      }
      query().sorts.emplace_back(name);
      if (comma == rest.size()) return;
      rest.remove_prefix(comma + 1);
    }
  }

  void begin_query(std::string_view value, std::size_t at) {
    finish();
    Query made;
    made.place = {source_, at};
    if (!comment_.empty() && text_.substr(comment_end_, 3).starts_with("\n--")) made.comment = comment_;
    comment_.clear();
    is_open_ = true;
    is_ended_ = false;
    std::vector<std::string_view> words;
    for (std::size_t i = 0; i < value.size();) {
      const std::size_t end = std::min(value.find_first_of(" \t\r", i), value.size());
      if (end != i) words.push_back(value.substr(i, end - i));
      i = end + 1;
    }
    const std::string name(words.empty() ? "" : words[0]);
    if (!is_identifier(name)) {
      error(at, "expected a name and a kind: -- name: find_user :one");
    } else if (gen::snake_of(name) == name + '_') {
      error(at, name + " is a keyword of C++: choose another name");
    } else if (words.size() < 2 || words[1][0] != ':') {
      error(at, name + " has no kind: after the name comes " + std::string(kinds_listed));
    } else {
      const std::string_view word = words[1].substr(1);
      const auto kind = std::ranges::find(kinds, word, &std::pair<std::string_view, Query::Kind>::first);
      if (kind == std::end(kinds)) {
        error(static_cast<std::size_t>(words[1].data() - text_.data()),
              std::string(words[1]) + " is not a kind: expected " + std::string(kinds_listed));
      } else {
        made.kind = kind->second;
      }
      if (words.size() > 2) {
        made.row_place = {source_, static_cast<std::size_t>(words[2].data() - text_.data())};
        made.row = words[2];
        if (!is_type(words[2]) || words.size() > 3) {
          error(made.row_place.offset, "after the kind, only the type of the rows may follow");
        }
      }
    }
    made.name = name;
    file_.queries.push_back(std::move(made));
  }

  Query& query() { return file_.queries.back(); }

  void take(const Lexeme& lexeme, bool is_apart) {
    if (!is_open_) {
      if (!has_said_nameless_) error(lexeme.offset, "a statement without a name: put -- name: find_user :one above it");
      has_said_nameless_ = true;
      return;
    }
    if (is_ended_) {
      if (!lexeme.is_symbol(";") && !has_said_second_) {
        error(lexeme.offset,
              "a second statement for " + query().name + ": each statement needs its own line -- name: …");
        has_said_second_ = true;
      }
      return;
    }
    if (lexeme.is_symbol(";")) {
      if (!filter_.empty() && !ends_with_line_) error(filter_offset_, "the block must end before the statement ends");
      filter_.clear();
      is_ended_ = true;
      has_said_second_ = false;
      return;
    }
    std::vector<Query::Piece>& pieces = query().pieces;
    if (lexeme.kind == Lexeme::Kind::Parameter && lexeme.text == "$sort" && !query().sorts.empty()) {
      pieces.push_back({"", {{source_, lexeme.offset}}, filter_, true});
      return;
    }
    const bool is_new = pieces.empty() || pieces.back().filter != filter_ || pieces.back().is_sort;
    if (is_new) pieces.push_back({"", {}, filter_, false});
    Query::Piece& piece = pieces.back();
    if (is_apart && (!is_new || pieces.size() > 1)) put(piece, " ", lexeme.offset, false);
    if (lexeme.kind == Lexeme::Kind::Quoted && is_alias_) {
      put(piece, alias(lexeme), lexeme.offset, false);
    } else {
      put(piece, lexeme.text, lexeme.offset, true);
    }
    is_alias_ = lexeme.is("as");
  }
  void put(Query::Piece& piece, std::string_view text, std::size_t offset, bool is_same) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      piece.text += text[i];
      piece.origin.push_back({source_, offset + (is_same ? i : 0)});
    }
  }

  // Reads the alias after `as`, such as "total!", "note?", "id: int32" or "total!: int64".
  std::string alias(const Lexeme& lexeme) {
    const std::string value = lexeme.value();
    std::string name = value;
    std::string type;
    if (const std::size_t colon = value.find(':'); colon != value.npos) {
      name = trimmed(std::string_view(value).substr(0, colon));
      type = trimmed(std::string_view(value).substr(colon + 1));
    }
    const char mark = name.empty() ? '\0' : name.back();
    if (mark == '!' || mark == '?') name.pop_back();
    if (name == value) return std::string(lexeme.text);
    if (!is_identifier(name) || (value.find(':') != value.npos && !is_type(type))) {
      error(lexeme.offset,
            "expected a name, then ! or ? if needed, then : and a type if needed, such as \"total!: int64\"");
      return std::string(lexeme.text);
    }
    if (mark == '!' || mark == '?') query().nullable.emplace_back(name, mark == '?');
    if (!type.empty()) query().column_types.push_back({name, type, {source_, lexeme.offset}});
    return '"' + name + '"';
  }

  void finish() {
    if (!filter_.empty() && !ends_with_line_) error(filter_offset_, "the block does not end: close it with /*?*/");
    filter_.clear();
    is_alias_ = false;
    if (is_open_ && query().pieces.empty()) {
      error(query().place.offset, query().name + " has no statement after its name");
    }
  }

  const std::size_t source_;
  Problems& problems_;
  const std::string_view text_;
  const std::vector<Lexeme> lexemes_;
  std::vector<Mark> marks_;
  QueryFile file_;
  std::string filter_;
  std::size_t filter_offset_ = 0;
  std::string comment_;
  std::size_t comment_end_ = 0;
  bool ends_with_line_ = false;
  bool is_open_ = false;  // Whether a query has begun.
  bool is_ended_ = false;
  bool is_alias_ = false;  // Whether the last token was `as`.
  bool has_said_nameless_ = false;
  bool has_said_second_ = false;
};

}  // namespace

std::string_view word_of(Query::Kind kind) noexcept {
  for (const auto& [word, one] : kinds) {
    if (one == kind) return word;
  }
  return "";
}

QueryFile read_queries(std::size_t source, Problems& problems) { return Reader(source, problems).read(); }

}  // namespace keel::sql
