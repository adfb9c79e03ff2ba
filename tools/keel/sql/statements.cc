#include "sql/statements.h"

#include <algorithm>
#include <utility>

namespace keel::sql {
namespace {

using Kind = Token::Kind;

constexpr std::string_view calls[] = {"query",   "query_one", "query_optional", "query_many",
                                      "execute", "stream",    "copy_out"};
constexpr std::string_view mark_begin = "keel sql: ";

// Whether a name after this word is not the name of a declared variable: `return name` declares nothing, but
// `Sql name` declares a variable.
bool is_statement_word(std::string_view name) noexcept {
  static constexpr std::string_view words[] = {"return",   "co_return", "co_await", "co_yield", "throw",
                                               "new",      "delete",    "else",     "do",       "case",
                                               "operator", "goto",      "typename", "template"};
  return std::ranges::find(words, name) != std::end(words);
}

// The position after the bracket that closes the bracket at `at`; the end if no bracket closes it.
const Token* behind_brackets(const Token* at, const Token* end, std::string_view open, std::string_view close) {
  int depth = 0;
  for (; at != end; ++at) {
    if (at->is(open)) ++depth;
    if (at->is(close) && --depth == 0) return at + 1;
    if (at->is(";") || at->is("{")) return end;
  }
  return end;
}

// The token that ends the argument at `at`: a comma, a closing bracket or the end of the directive.
const Token* end_of_argument(const Token* at, const Token* end) {
  int depth = 0;
  for (; at != end && at->kind != Kind::EndOfLine; ++at) {
    if (at->is("(") || at->is("[") || at->is("{")) ++depth;
    if (at->is(")") || at->is("]") || at->is("}")) {
      if (depth == 0) return at;
      --depth;
    }
    if (at->is(",") && depth == 0) return at;
  }
  return at;
}

// session.query, session->template query_one.
bool is_member_call(const Token* begin, const Token* name) {
  if (name == begin) return false;
  const Token* before = name - 1;
  if (before->kind == Kind::Name && before->text == "template" && before != begin) --before;
  return before->is(".") || before->is("->");
}

}  // namespace

void Sources::add(std::string path, std::string text) {
  File& file = files_.emplace_back();
  file.path = std::move(path);
  file.text = std::move(text);
  file.tokens = tokens_of(file.text);
  file.constants = constants_of(files_.size() - 1, file.tokens);
}

std::string Sources::describe(const Place& place) const {
  const File& file = files_[place.source];
  const std::string_view before = std::string_view(file.text).substr(0, place.offset);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  return file.path + ':' + std::to_string(line) + ':' + std::to_string(column);
}

Sources::Text Sources::text_of(std::size_t source, const Token* first, const Token* last) {
  Text text;
  for (; first != last; ++first) {
    text.value += first->value;
    text.origin.resize(text.origin.size() - (text.origin.empty() ? 0 : 1));
    for (const std::uint32_t offset : first->origin) text.origin.push_back({source, offset});
  }
  return text;
}

void Sources::add_constant(Texts& texts, std::string_view name, Text text) {
  const auto [at, is_new] = texts.try_emplace(std::string(name), std::move(text));
  if (!is_new && at->second.value != text.value) at->second.is_ambiguous = true;
}

// Finds constants: `name = "…";`, `name[] = {"…"};`, `Sql name("…");`, `SqlFor<1> name{"…"};` and `#define NAME "…"`.
Sources::Texts Sources::constants_of(std::size_t source, const Tokens& tokens) {
  Texts found;
  const Token* const begin = tokens.data();
  const Token* const end = begin + tokens.size();
  for (const Token* name = begin; name != end; ++name) {
    if (name->kind != Kind::Name && name->kind != Kind::Define) continue;
    const Token* at = name + 1;
    if (name->kind == Kind::Name) {
      const bool is_declared = name != begin && ((name[-1].kind == Kind::Name && !is_statement_word(name[-1].text)) ||
                                                 name[-1].is(">") || name[-1].is("*"));
      if (!is_declared) continue;
      if (at != end && at->is("[")) at = behind_brackets(at, end, "[", "]");
      if (at != end && at->is("=")) ++at;
      const bool is_initialised = at != name + 1;
      if (at != end && (at->is("{") || (at->is("(") && !is_initialised))) {
        ++at;
      } else if (!is_initialised) {
        continue;
      }
    }
    const Token* const first = at;
    while (at != end && at->kind == Kind::Text) ++at;
    const bool is_whole =
        at == end || at->is(";") || at->is(")") || at->is("}") || at->is(",") || at->kind == Kind::EndOfLine;
    if (at != first && is_whole) add_constant(found, name->text, text_of(source, first, at));
  }
  return found;
}

// Returns the definition in the call's own source if there is one; otherwise the definition in other sources. Returns
// null if there is no definition, or if the definitions differ.
const Sources::Text* Sources::constant(std::size_t source, std::string_view name) const {
  if (const auto own = files_[source].constants.find(name); own != files_[source].constants.end()) {
    return own->second.is_ambiguous ? nullptr : &own->second;
  }
  const Text* found = nullptr;
  for (const File& file : files_) {
    const auto at = file.constants.find(name);
    if (at == file.constants.end()) continue;
    if (at->second.is_ambiguous || (found != nullptr && found->value != at->second.value)) return nullptr;
    found = &at->second;
  }
  return found;
}

// Returns the text of an argument. The argument is a sequence of literals and of names that stand for literals, or a
// single name, which may be qualified.
std::optional<Sources::Text> Sources::evaluate(std::size_t source, const Token* first, const Token* last) const {
  if (first->is("::")) ++first;
  while (last - first > 2 && first->kind == Kind::Name && first[1].is("::")) first += 2;
  if (first == last) return std::nullopt;
  Text text;
  for (; first != last; ++first) {
    Text part;
    if (first->kind == Kind::Text) {
      part = text_of(source, first, first + 1);
    } else if (const Text* known = first->kind == Kind::Name ? constant(source, first->text) : nullptr) {
      part = *known;
    } else {
      return std::nullopt;
    }
    text.value += part.value;
    if (!text.origin.empty()) text.origin.pop_back();
    text.origin.insert(text.origin.end(), part.origin.begin(), part.origin.end());
  }
  return text;
}

// The word that follows `mark_begin` in the byte's line, or in the line before if that line is a comment; "" if there
// is no such word.
std::string_view Sources::mark_at(const File& file, std::size_t offset) noexcept {
  const std::string_view text = file.text;
  const auto line_at = [&](std::size_t at) {
    const std::size_t begin = text.substr(0, at).rfind('\n') + 1;
    return text.substr(begin, std::min(text.find('\n', at), text.size()) - begin);
  };
  const auto mark_in = [](std::string_view line) -> std::string_view {
    const std::size_t at = line.find(mark_begin);
    if (at == line.npos) return {};
    line.remove_prefix(at + mark_begin.size());
    return line.substr(0, line.find_first_not_of("abcdefghijklmnopqrstuvwxyz"));
  };
  const std::string_view own = line_at(offset);
  if (const std::string_view mark = mark_in(own); !mark.empty() || own.data() == text.data()) return mark;
  std::string_view before = line_at(static_cast<std::size_t>(own.data() - text.data()) - 1);
  before.remove_prefix(std::min(before.find_first_not_of(" \t"), before.size()));
  const std::size_t end = before.starts_with("/*") ? before.find("*/") : before.npos;
  const bool is_alone = end == before.npos || before.find_first_not_of(" \t\r", end + 2) == before.npos;
  const bool is_comment = before.starts_with("//") || before.starts_with("/*");
  return is_comment && is_alone ? mark_in(before) : std::string_view();
}

void Sources::find_in(std::size_t source, Found& found) const {
  const File& file = files_[source];
  const Token* const begin = file.tokens.data();
  const Token* const end = begin + file.tokens.size();
  for (const Token* name = begin; name != end; ++name) {
    if (name->kind != Kind::Name || std::ranges::find(calls, name->text) == std::end(calls)) continue;
    if (!is_member_call(begin, name)) continue;
    const Token* at = name + 1;
    std::string read_as;
    if (at != end && at->is("<")) {
      const Token* const behind = behind_brackets(at, end, "<", ">");
      for (++at; at != end && at + 1 != behind && at != behind; ++at) read_as += at->text;
      at = behind;
    }
    if (at == end || !at->is("(")) continue;
    const bool is_copy = name->text == "copy_out";
    if (read_as.empty() && (is_copy || name->text == "stream")) continue;
    const Token* first = at + 1;
    const Token* last = end_of_argument(first, end);
    // With three arguments, the first is the transaction, and the second is the statement.
    if (is_copy && last != end && last->is(",")) {
      const Token* const after = end_of_argument(last + 1, end);
      if (after != end && after->is(",")) {
        first = last + 1;
        last = after;
      }
    }
    const std::string_view mark = mark_at(file, name->offset);
    if (first == last || first->is("[") || mark == "skip") continue;
    if (std::optional<Text> text = evaluate(source, first, last)) {
      found.statements.push_back({std::move(text->value), std::move(text->origin), name->text, std::move(read_as),
                                  mark == "sqlite"                ? "sqlite"
                                  : mark == "postgres" || is_copy ? "postgres"
                                                                  : ""});
    } else {
      const Token& closing = last[-1];
      found.unknown.push_back({{source, first->offset},
                               file.text.substr(first->offset, closing.offset + closing.text.size() - first->offset)});
    }
  }
}

Sources::Found Sources::find() const {
  Found found;
  for (std::size_t i = 0; i < files_.size(); ++i) find_in(i, found);
  return found;
}

}  // namespace keel::sql
