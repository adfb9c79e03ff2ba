#include "sql/lexemes.h"

#include <algorithm>

#include "keel/base/ascii.h"
#include "keel/db/sql.h"

namespace keel::sql {
namespace {

bool is_blank_byte(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool begins_word(char c) noexcept {
  return ascii::is_alphanumeric(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool continues_word(char c) noexcept { return begins_word(c) || c == '$'; }

// The position after the closing quote; a quote within the text is written twice.
std::size_t skip_quoted(std::string_view text, std::size_t at, char end) noexcept {
  for (++at; at < text.size(); ++at) {
    if (text[at] != end) continue;
    if (end != ']' && at + 1 < text.size() && text[at + 1] == end) {
      ++at;
    } else {
      return at + 1;
    }
  }
  return text.size();
}

std::size_t skip_number(std::string_view text, std::size_t at) noexcept {
  while (at < text.size()) {
    const char c = text[at];
    const bool is_sign = (c == '+' || c == '-') && (text[at - 1] == 'e' || text[at - 1] == 'E') &&
                         at + 1 < text.size() && ascii::is_digit(text[at + 1]);
    if (!begins_word(c) && c != '.' && !is_sign) break;
    ++at;
  }
  return at;
}

// The character for which a backslash and `c` stand in e'…'. Escapes with numbers, such as \x41, are not decoded.
char unescaped(char c) noexcept {
  constexpr std::string_view letters = "bfnrt";
  const std::size_t at = letters.find(c);
  return at == letters.npos ? c : "\b\f\n\r\t"[at];
}

constexpr std::string_view symbols[] = {"->>", "||", "->", "<=", ">=", "<>", "!=", "==", "<<", ">>", "::"};

}  // namespace

bool Lexeme::is(std::string_view word) const noexcept {
  return kind == Lexeme::Kind::Word && std::ranges::equal(text, word, {}, &ascii::to_lower);
}

std::string Lexeme::value() const {
  if (kind != Lexeme::Kind::Quoted && kind != Lexeme::Kind::Text) return std::string(text);
  if (text[0] == '$') {
    const std::size_t tag = text.find('$', 1) + 1;
    const bool is_ended = text.size() >= 2 * tag && text.ends_with(text.substr(0, tag));
    return std::string(text.substr(tag, text.size() - tag - (is_ended ? tag : 0)));
  }
  const bool has_escapes = text[0] == 'e' || text[0] == 'E';
  const char end = has_escapes ? '\'' : text[0] == '[' ? ']' : text[0];
  std::string value;
  for (std::size_t i = has_escapes ? 2 : 1; i < text.size(); ++i) {
    if (has_escapes && text[i] == '\\') {
      if (++i < text.size()) value += unescaped(text[i]);
      continue;
    }
    if (text[i] == end) {
      if (end == ']' || i + 1 >= text.size() || text[i + 1] != end) break;
      ++i;
    }
    value += text[i];
  }
  return value;
}

std::size_t skip_comment(std::string_view text, std::size_t at) noexcept {
  return at + db::comment_size(text.substr(at));
}

std::vector<Lexeme> lexemes_of(std::string_view text) {
  std::vector<Lexeme> found;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (is_blank_byte(c)) {
      ++at;
      continue;
    }
    if (const std::size_t end = skip_comment(text, at); end != at) {
      at = end;
      continue;
    }
    const std::size_t begin = at;
    const char before = at == 0 ? ' ' : text[at - 1];
    // Whether the bracket belongs to a PostgreSQL array: tags[1], array[$1]. A bracket in any other place begins a
    // quoted name, as in [name].
    const bool is_of_array = c == '[' && (continues_word(before) || before == '"' || before == ']' || before == ')');
    Lexeme::Kind kind = Lexeme::Kind::Symbol;
    if (is_of_array) {
      ++at;
    } else if (c == '\'') {
      kind = Lexeme::Kind::Text;
      at = skip_quoted(text, at, c);
    } else if ((c == 'x' || c == 'X') && at + 1 < text.size() && text[at + 1] == '\'') {
      kind = Lexeme::Kind::Blob;
      at = skip_quoted(text, at + 1, '\'');
    } else if (c == '"' || c == '`' || c == '[') {
      kind = Lexeme::Kind::Quoted;
      at = skip_quoted(text, at, c == '[' ? ']' : c);
    } else if (ascii::is_digit(c) || (c == '.' && at + 1 < text.size() && ascii::is_digit(text[at + 1]))) {
      kind = Lexeme::Kind::Number;
      at = skip_number(text, at + 1);
    } else if (const std::size_t escaped = db::escaped_quoted_size(text.substr(at)); escaped != 0) {
      kind = Lexeme::Kind::Text;
      at += escaped;
    } else if (begins_word(c)) {
      kind = Lexeme::Kind::Word;
      while (at < text.size() && continues_word(text[at])) ++at;
    } else if (const std::size_t size = db::dollar_quoted_size(text.substr(at)); size != 0) {
      kind = Lexeme::Kind::Text;
      at += size;
    } else if (c == '$') {
      kind = Lexeme::Kind::Parameter;
      for (++at; at < text.size() && continues_word(text[at]); ++at) {
      }
    } else {
      const auto symbol =
          std::ranges::find_if(symbols, [&](std::string_view one) { return text.substr(at, one.size()) == one; });
      at += symbol == std::end(symbols) ? 1 : symbol->size();
    }
    found.push_back({kind, text.substr(begin, at - begin), begin});
  }
  found.push_back({Lexeme::Kind::End, text.substr(text.size()), text.size()});
  return found;
}

}  // namespace keel::sql
