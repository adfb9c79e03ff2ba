#include "sql/tokens.h"

#include <algorithm>
#include <utility>

#include "keel/base/ascii.h"

namespace keel::sql {
namespace {

bool begins_name(char c) noexcept {
  return ascii::is_letter(c) || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}
bool continues_name(char c) noexcept { return begins_name(c) || ascii::is_digit(c); }
bool is_blank(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

int digit_of(char c) noexcept {
  const int value = ascii::hex_value(c);
  return value >= 0 ? value : 16;
}

class Scanner {
 public:
  explicit Scanner(std::string_view source) noexcept : source_(source) {}

  std::vector<Token> scan() && {
    while (at_ < source_.size()) next();
    end_line();
    return std::move(tokens_);
  }

 private:
  using Kind = Token::Kind;

  char peek(std::size_t ahead = 0) const noexcept { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  bool sees(std::string_view text) const noexcept { return source_.substr(at_, text.size()) == text; }
  // The size of a line splice (a backslash and the end of the line) at `at`; 0 if there is none.
  std::size_t splice(std::size_t at) const noexcept {
    if (at >= source_.size() || source_[at] != '\\') return 0;
    if (source_.substr(at + 1, 1) == "\n") return 2;
    return source_.substr(at + 1, 2) == "\r\n" ? 3 : 0;
  }
  void add(Kind kind, std::size_t from) { tokens_.push_back({kind, source_.substr(from, at_ - from), from}); }

  void next() {
    const char c = source_[at_];
    if (const std::size_t bytes = splice(at_); bytes != 0) {
      at_ += bytes;
    } else if (c == '\n') {
      end_line();
      ++at_;
      is_line_blank_ = true;
    } else if (is_blank(c)) {
      ++at_;
    } else if (sees("//")) {
      skip_line();
    } else if (sees("/*")) {
      const std::size_t end = source_.find("*/", at_ + 2);
      at_ = end == source_.npos ? source_.size() : end + 2;
    } else if (c == '#' && is_line_blank_) {
      directive();
    } else {
      is_line_blank_ = false;
      token(c);
    }
  }

  void token(char c) {
    const std::size_t from = at_;
    if (begins_name(c)) {
      while (at_ < source_.size() && continues_name(source_[at_])) ++at_;
      const std::string_view name = source_.substr(from, at_ - from);
      if (peek() == '"' && (name == "R" || name == "u8R" || name == "uR" || name == "UR" || name == "LR")) {
        raw_text(from);
      } else if (peek() == '"' && (name == "u8" || name == "u" || name == "U" || name == "L")) {
        text(from);
      } else {
        add(std::exchange(is_define_, false) ? Kind::Define : Kind::Name, from);
      }
    } else if (ascii::is_digit(c) || (c == '.' && ascii::is_digit(peek(1)))) {
      number(from);
    } else if (c == '"') {
      text(from);
    } else if (c == '\'') {
      character(from);
    } else {
      at_ += sees("->") || sees("::") ? 2 : 1;
      add(Kind::Punctuation, from);
    }
  }

  void number(std::size_t from) {
    for (++at_; at_ < source_.size(); ++at_) {
      const char c = source_[at_];
      const bool is_separator = c == '\'' && continues_name(peek(1));
      const bool is_sign = (c == '+' || c == '-') && std::string_view("eEpP").contains(source_[at_ - 1]);
      if (!continues_name(c) && c != '.' && !is_separator && !is_sign) break;
    }
    add(Kind::Number, from);
  }

  void character(std::size_t from) {
    ++at_;
    while (at_ < source_.size() && source_[at_] != '\'' && source_[at_] != '\n') {
      at_ += source_[at_] == '\\' && at_ + 1 < source_.size() ? 2 : 1;
    }
    if (peek() == '\'') ++at_;
    add(Kind::Character, from);
  }

  // Call this function at the opening quote. An unclosed literal ends with its line.
  void text(std::size_t from) {
    Token made{Kind::Text, {}, from};
    ++at_;
    while (at_ < source_.size() && source_[at_] != '"' && source_[at_] != '\n') {
      if (const std::size_t bytes = splice(at_); bytes != 0) {
        at_ += bytes;
      } else if (source_[at_] == '\\' && at_ + 1 < source_.size()) {
        escape(made);
      } else {
        append(made, source_[at_], at_);
        ++at_;
      }
    }
    finish(made, peek() == '"' ? 1 : 0);
  }

  void raw_text(std::size_t from) {
    Token made{Kind::Text, {}, from};
    ++at_;
    const std::size_t open = source_.find('(', at_);
    const std::size_t delimiter_bytes = open == source_.npos ? source_.npos : open - at_;
    if (delimiter_bytes > 16) {  // The maximum length.
      finish(made, 0);
      return;
    }
    const std::string close = ")" + std::string(source_.substr(at_, delimiter_bytes)) + "\"";
    at_ = open + 1;
    const std::size_t end = std::min(source_.find(close, at_), source_.size());
    for (; at_ < end; ++at_) append(made, source_[at_], at_);
    finish(made, std::min(close.size(), source_.size() - end));
  }

  void finish(Token& made, std::size_t closing_bytes) {
    made.origin.push_back(static_cast<std::uint32_t>(at_));
    at_ += closing_bytes;
    made.text = source_.substr(made.offset, at_ - made.offset);
    tokens_.push_back(std::move(made));
  }

  static void append(Token& made, char byte, std::size_t origin) {
    made.value.push_back(byte);
    made.origin.push_back(static_cast<std::uint32_t>(origin));
  }

  // Call this function at a backslash that is followed by a byte.
  void escape(Token& made) {
    const std::size_t from = at_;
    const char c = source_[at_ + 1];
    at_ += 2;
    static constexpr std::string_view names = "abfnrtv";
    static constexpr std::string_view bytes = "\a\b\f\n\r\t\v";
    if (const std::size_t index = names.find(c); index != names.npos) {
      append(made, bytes[index], from);
    } else if (digit_of(c) < 8) {
      --at_;
      append(made, static_cast<char>(digits(8, 3)), from);
    } else if (c == 'x' || c == 'o') {
      append(made, static_cast<char>(digits(c == 'x' ? 16 : 8, source_.size())), from);
    } else if (c == 'u' || c == 'U') {
      append_utf8(made, digits(16, c == 'u' ? 4 : 8), from);
    } else {
      append(made, c, from);
    }
  }
  // Reads at most `count` digits or, between braces, any number of digits.
  std::uint32_t digits(int base, std::size_t count) {
    const bool is_braced = peek() == '{';
    if (is_braced) {
      ++at_;
      count = source_.size();
    }
    std::uint32_t value = 0;
    for (; count > 0 && digit_of(peek()) < base; --count) {
      value = value * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(digit_of(source_[at_++]));
    }
    if (is_braced && peek() == '}') ++at_;
    return value;
  }
  static void append_utf8(Token& made, std::uint32_t code, std::size_t origin) {
    const auto add = [&](std::uint32_t byte) { append(made, static_cast<char>(byte), origin); };
    if (code < 0x80) {
      add(code);
    } else if (code < 0x800) {
      add(0xc0 | code >> 6);
      add(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      add(0xe0 | code >> 12);
      add(0x80 | (code >> 6 & 0x3f));
      add(0x80 | (code & 0x3f));
    } else {
      add(0xf0 | (code >> 18 & 7));
      add(0x80 | (code >> 12 & 0x3f));
      add(0x80 | (code >> 6 & 0x3f));
      add(0x80 | (code & 0x3f));
    }
  }

  void directive() {
    is_line_blank_ = false;
    ++at_;
    while (peek() == ' ' || peek() == '\t') ++at_;
    const std::size_t from = at_;
    while (at_ < source_.size() && continues_name(source_[at_])) ++at_;
    const std::string_view name = source_.substr(from, at_ - from);
    if (name == "include" || name == "pragma" || name == "line" || name == "error" || name == "warning") {
      skip_line();
    } else {
      in_directive_ = true;
      is_define_ = name == "define";
    }
  }
  void end_line() {
    is_define_ = false;
    if (std::exchange(in_directive_, false)) tokens_.push_back({Kind::EndOfLine, source_.substr(at_, 0), at_});
  }
  // Skips to the end of the logical line.
  void skip_line() {
    while (at_ < source_.size() && source_[at_] != '\n') at_ += std::max<std::size_t>(splice(at_), 1);
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
  bool is_line_blank_ = true;
  bool in_directive_ = false;
  bool is_define_ = false;  // Whether the next name is the name that a #define defines.
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) { return Scanner(source).scan(); }

}  // namespace keel::sql
