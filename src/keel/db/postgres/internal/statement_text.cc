#include "keel/db/postgres/internal/statement_text.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "keel/base/ascii.h"
#include "keel/db/sql.h"

namespace keel::db::postgres::internal {
namespace {

bool is_word_start(char c) noexcept {
  return ascii::is_alphanumeric(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_word(char c) noexcept { return is_word_start(c) || c == '$'; }

bool same_word(std::string_view word, std::string_view lower) noexcept {
  if (word.size() != lower.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (ascii::to_lower(word[i]) != lower[i]) return false;
  }
  return true;
}
template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) noexcept {
  for (const std::string_view one : words) {
    if (same_word(word, one)) return true;
  }
  return false;
}

constexpr std::array<std::string_view, 5> reading = {"select", "values", "table", "show", "with"};
// A statement that contains one of these words may change data: "share" and "update" lock rows, "into" creates a table,
// and some words, such as nextval, are functions that change data. All functions whose names begin with pg_ or lo_
// count as changing data, too.
constexpr std::array<std::string_view, 15> changing = {"insert", "update",     "delete", "merge", "into",
                                                       "share",  "nextval",    "setval", "call",  "dblink",
                                                       "notify", "set_config", "listen", "copy",  "dblink_exec"};
// A statement that is not allowed in a transaction can be recognized by at most this many words, names and signs at its
// beginning.
constexpr std::size_t items_max = 32;
constexpr std::array<std::string_view, 8> control = {"begin",    "start", "commit",    "end",
                                                     "rollback", "abort", "savepoint", "release"};

// Splits a text into its words, quoted names, comments and semicolons. A semicolon within the body of a function in
// standard SQL, `begin atomic … end`, does not end the statement and is reported as Other.
class Scan {
 public:
  enum class What : unsigned char { End, Word, Name, Comment, Semicolon, Other };

  explicit Scan(std::string_view text) noexcept : text_(text) {}

  What next() noexcept {
    const What what = next_item();
    if (what == What::Comment || what == What::End) return what;
    if (body_ != Body::None) return next_in_body(what);
    if (what == What::Semicolon) {
      routine_ = Routine::Begins;
      depth_ = 0;
    } else if (what == What::Word) {
      look_at_head();
      if (routine_ == Routine::Is && depth_ == 0 && is_after_begin_ && same_word(found, "atomic")) {
        body_ = Body::BetweenStatements;
      }
    } else if (what == What::Other) {
      if (found == "(") ++depth_;
      if (found == ")") --depth_;
      routine_ = routine_ == Routine::Is ? routine_ : Routine::IsNot;
    }
    is_after_begin_ = what == What::Word && same_word(found, "begin");
    return what;
  }

  // The item that was found: the word, the name with its quotes, the text of the comment, or the character.
  std::string_view found;
  std::size_t offset() const noexcept { return at_; }  // The offset of the end of the last item.

 private:
  // How far the beginning of the statement matches these words: `create [or replace] function|procedure`.
  enum class Routine : unsigned char { Begins, AfterCreate, AfterOr, AfterReplace, Is, IsNot };
  // Where the scan is: outside of a function's body, between two statements of the body, or in one of them. Between two
  // statements, an `end` ends the body; within a statement, an `end` may belong to a `case`.
  enum class Body : unsigned char { None, BetweenStatements, InStatement };

  void look_at_head() noexcept {
    const bool is_routine = same_word(found, "function") || same_word(found, "procedure");
    switch (routine_) {
      case Routine::Begins:
        routine_ = same_word(found, "create") ? Routine::AfterCreate : Routine::IsNot;
        break;
      case Routine::AfterCreate:
        routine_ = is_routine ? Routine::Is : same_word(found, "or") ? Routine::AfterOr : Routine::IsNot;
        break;
      case Routine::AfterOr:
        routine_ = same_word(found, "replace") ? Routine::AfterReplace : Routine::IsNot;
        break;
      case Routine::AfterReplace:
        routine_ = is_routine ? Routine::Is : Routine::IsNot;
        break;
      case Routine::Is:
      case Routine::IsNot:
        break;
    }
  }
  What next_in_body(What what) noexcept {
    if (what == What::Semicolon) {
      body_ = Body::BetweenStatements;
      return What::Other;
    }
    const bool ends = body_ == Body::BetweenStatements && what == What::Word && same_word(found, "end");
    body_ = ends ? Body::None : Body::InStatement;
    return what;
  }

  What next_item() noexcept {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const std::size_t begin = at_;
      if (c == '\'') {
        skip_quoted('\'');
      } else if (c == '"') {
        do skip_quoted('"');
        while (has('"', 0));
        found = text_.substr(begin, at_ - begin);
        return What::Name;
      } else if (c == '-' && has('-', 1)) {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
        found = text_.substr(begin + 2, at_ - begin - 2);
        return What::Comment;
      } else if (c == '/' && has('*', 1)) {
        skip_comment();
      } else if (c == '$') {
        at_ += std::max<std::size_t>(1, dollar_quoted_size(text_.substr(at_)));  // Or a parameter.
      } else if (const std::size_t escaped = escaped_quoted_size(text_.substr(at_)); escaped != 0) {
        at_ += escaped;
      } else if (is_word_start(c)) {
        while (at_ < text_.size() && is_word(text_[at_])) ++at_;
        // In x'…' the letter belongs to the literal, and is not a word.
        if (at_ - begin == 1 && at_ < text_.size() && text_[at_] == '\'') continue;
        found = text_.substr(begin, at_ - begin);
        return What::Word;
      } else if (c == ';') {
        found = text_.substr(at_++, 1);
        return What::Semicolon;
      } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
        ++at_;
      } else {
        found = text_.substr(at_++, 1);
        return What::Other;
      }
    }
    return What::End;
  }

  bool has(char c, std::size_t after) const noexcept { return at_ + after < text_.size() && text_[at_ + after] == c; }
  void skip_quoted(char quote) noexcept {
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
    }
    if (at_ < text_.size())
      // After a doubled quote, the next call reads another literal, which has the same effect as continuing this one.
      ++at_;
  }
  void skip_comment() noexcept {  // Comments nest.
    int depth = 0;
    while (at_ < text_.size()) {
      if (text_[at_] == '/' && has('*', 1)) {
        ++depth;
        at_ += 2;
      } else if (text_[at_] == '*' && has('/', 1)) {
        at_ += 2;
        if (--depth == 0) return;
      } else {
        ++at_;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Routine routine_ = Routine::Begins;
  Body body_ = Body::None;
  int depth_ = 0;  // The number of open parentheses in the statement before its body.
  bool is_after_begin_ = false;
};

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

bool has_prefix(std::string_view word, std::string_view lower) noexcept {
  return word.size() > lower.size() && same_word(word.substr(0, lower.size()), lower);
}

}  // namespace

TextFacts facts_of(std::string_view text) noexcept {
  TextFacts facts;
  bool begins_reading = false;
  bool changes = false;
  bool is_first = true;
  Scan scan(text);
  for (Scan::What what = scan.next(); what != Scan::What::End; what = scan.next()) {
    if (what == Scan::What::Comment) {
      const std::string_view mark = trimmed(scan.found);
      if (mark == "group") facts.is_group = true;
      if (mark == "volatile") changes = true;
    } else if (what == Scan::What::Word) {
      if (is_first) {
        begins_reading = is_one_of(scan.found, reading);
        facts.is_control = is_one_of(scan.found, control);
      }
      is_first = false;
      if (is_one_of(scan.found, changing) || has_prefix(scan.found, "pg_") || has_prefix(scan.found, "lo_")) {
        changes = true;
      }
    }
  }
  facts.is_read = begins_reading && !changes;
  return facts;
}

std::string with_numbers(std::string_view text) {
  std::string numbered;
  std::array<std::string_view, parameters_max> names;
  int count = 0;
  std::size_t copied = 0;
  for_each_placeholder(text, [&](const Placeholder& placeholder) {
    if (!placeholder.is_named()) return;
    int i = 0;
    while (i < count && names[static_cast<std::size_t>(i)] != placeholder.name) ++i;
    if (i == count) names[static_cast<std::size_t>(count++)] = placeholder.name;
    numbered.append(text.substr(copied, placeholder.offset + 1 - copied));
    numbered += std::to_string(i + 1);
    copied = placeholder.offset + 1 + placeholder.name.size();
  });
  numbered.append(text.substr(copied));
  return numbered;
}

std::string_view find_transaction_control(std::string_view script) noexcept {
  Scan scan(script);
  bool is_first = true;
  for (Scan::What what = scan.next(); what != Scan::What::End; what = scan.next()) {
    if (what == Scan::What::Semicolon) {
      is_first = true;
    } else if (what == Scan::What::Word) {
      if (is_first && is_one_of(scan.found, control)) return scan.found;
      is_first = false;
    } else if (what == Scan::What::Other || what == Scan::What::Name) {
      is_first = false;
    }
  }
  return {};
}

std::vector<std::string_view> statements_of(std::string_view script) {
  std::vector<std::string_view> statements;
  Scan scan(script);
  constexpr std::size_t none = std::string_view::npos;
  std::size_t begin = none;
  const auto add = [&](std::size_t end) {
    if (begin != none) statements.push_back(script.substr(begin, end - begin));
    begin = none;
  };
  for (Scan::What what = scan.next(); what != Scan::What::End; what = scan.next()) {
    if (what == Scan::What::Semicolon) {
      add(scan.offset() - 1);
    } else if (begin == none && what != Scan::What::Comment) {
      begin = scan.offset() - scan.found.size();
    }
  }
  add(script.size());
  return statements;
}

AloneFacts alone_facts_of(std::string_view statement) {
  struct Item {
    Scan::What what;
    std::string_view text;
  };
  std::vector<Item> items;
  Scan scan(statement);
  for (Scan::What what = scan.next(); what != Scan::What::End && items.size() < items_max; what = scan.next()) {
    if (what != Scan::What::Comment) items.push_back({what, scan.found});
  }
  const auto is = [&](std::size_t at, std::string_view word) {
    return at < items.size() && items[at].what == Scan::What::Word && same_word(items[at].text, word);
  };
  const auto is_name = [&](std::size_t at) {
    return at < items.size() && (items[at].what == Scan::What::Word || items[at].what == Scan::What::Name);
  };
  AloneFacts facts;
  const bool makes = is(0, "create") || is(0, "drop") || is(0, "alter");
  const bool is_global = is(1, "database") || is(1, "tablespace") || is(1, "subscription") || is(1, "system");
  std::size_t at = 0;
  while (at < items.size() && !is(at, "concurrently")) ++at;
  const bool is_concurrent = at != items.size();
  facts.is_alone = is(0, "vacuum") || (is(0, "reindex") && (is_global || is_concurrent)) || (makes && is_global) ||
                   (makes && is_concurrent);
  if (!facts.is_alone || !is_concurrent || is(0, "reindex")) return facts;
  facts.is_repeatable = is(++at, "if");
  if (!is(0, "create") || !facts.is_repeatable) return facts;
  at += 3;  // if not exists
  if (is_name(at) && is(at + 1, "on")) {
    facts.index = items[at].text;
    at += is(at + 2, "only") ? 3 : 2;
    for (; is_name(at); at += 2) {
      facts.table += items[at].text;
      if (at + 1 == items.size() || items[at + 1].text != ".") break;
      facts.table += '.';
    }
  }
  // The index can be dropped before the statement is repeated only if both names are known; every name is understood,
  // except a name of the form U&"…".
  facts.is_repeatable = !facts.index.empty() && !facts.table.empty();
  return facts;
}

int line_of(std::string_view text, int position) noexcept {
  if (position <= 0) return 0;
  int line = 1;
  int character = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;
    if (++character >= position) break;
    if (c == '\n') ++line;
  }
  return line;
}

}  // namespace keel::db::postgres::internal
