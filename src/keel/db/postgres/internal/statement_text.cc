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
    const char c = word[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c) != lower[i]) return false;
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
// "share" and "update" lock rows, and "into" creates a table; nextval and the others are built-in functions that change
// data. All functions that begin with pg_ and lo_ may do so as well.
constexpr std::array<std::string_view, 15> changing = {"insert", "update",     "delete", "merge", "into",
                                                       "share",  "nextval",    "setval", "call",  "dblink",
                                                       "notify", "set_config", "listen", "copy",  "dblink_exec"};
constexpr std::array<std::string_view, 8> control = {"begin",    "start", "commit",    "end",
                                                     "rollback", "abort", "savepoint", "release"};

// Splits a text into its words, comments and semicolons.
class Scan {
 public:
  enum class What : unsigned char { End, Word, Comment, Semicolon, Other };

  explicit Scan(std::string_view text) noexcept : text_(text) {}

  What next() noexcept {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const std::size_t begin = at_;
      if (c == '\'') {
        skip_quoted('\'', begin != 0 && (text_[begin - 1] == 'e' || text_[begin - 1] == 'E'));
      } else if (c == '"') {
        skip_quoted('"', false);
      } else if (c == '-' && has('-', 1)) {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
        found = text_.substr(begin + 2, at_ - begin - 2);
        return What::Comment;
      } else if (c == '/' && has('*', 1)) {
        skip_comment();
      } else if (c == '$') {
        at_ += std::max<std::size_t>(1, dollar_quoted_size(text_.substr(at_)));  // Or a parameter.
      } else if (is_word_start(c)) {
        while (at_ < text_.size() && is_word(text_[at_])) ++at_;
        // The letter of e'…' belongs to the literal.
        if (at_ - begin == 1 && at_ < text_.size() && text_[at_] == '\'') continue;
        found = text_.substr(begin, at_ - begin);
        return What::Word;
      } else if (c == ';') {
        ++at_;
        return What::Semicolon;
      } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
        ++at_;
      } else {
        ++at_;
        return What::Other;
      }
    }
    return What::End;
  }

  std::string_view found;
  std::size_t offset() const noexcept { return at_; }  // The offset after the last item.

 private:
  bool has(char c, std::size_t after) const noexcept { return at_ + after < text_.size() && text_[at_ + after] == c; }
  void skip_quoted(char quote, bool escapes) noexcept {
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (escapes && text_[at_] == '\\') ++at_;
    }
    ++at_;  // A doubled quote counts as the start of another literal, which has the same effect.
    if (at_ > text_.size()) at_ = text_.size();
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
      if (is_first) begins_reading = is_one_of(scan.found, reading);
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
    } else if (what == Scan::What::Other) {
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
      begin = scan.offset() - (what == Scan::What::Word ? scan.found.size() : 1);
    }
  }
  add(script.size());
  return statements;
}

AloneFacts alone_facts_of(std::string_view statement) noexcept {
  constexpr std::size_t words_max = 8;
  std::array<std::string_view, words_max> words{};
  Scan scan(statement);
  std::size_t count = 0;
  for (Scan::What what = scan.next(); what != Scan::What::End && count < words_max; what = scan.next()) {
    if (what == Scan::What::Word) words[count++] = scan.found;
  }
  const auto is = [&](std::size_t at, std::string_view word) { return at < count && same_word(words[at], word); };
  const auto at_of = [&](std::string_view word) {
    std::size_t at = 0;
    while (at < count && !is(at, word)) ++at;
    return at;
  };
  AloneFacts facts;
  const bool makes = is(0, "create") || is(0, "drop") || is(0, "alter");
  const bool is_global = is(1, "database") || is(1, "tablespace") || is(1, "subscription") || is(1, "system");
  const std::size_t concurrently = at_of("concurrently");
  facts.is_alone = is(0, "vacuum") || (is(0, "reindex") && (is_global || concurrently != count)) ||
                   (makes && is_global) || (makes && concurrently != count);
  if (!facts.is_alone || concurrently == count || is(0, "reindex")) return facts;
  const bool has_if = is(concurrently + 1, "if");
  facts.is_repeatable = has_if;
  if (is(0, "create")) {
    const std::size_t name = concurrently + 1 + (has_if ? 3u : 0u);
    if (name < count && !is(name, "on")) facts.index = words[name];
  }
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
