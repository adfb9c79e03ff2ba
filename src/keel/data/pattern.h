// keel/data/pattern.h — regular expressions that match a whole text or a part of it.
//
//   check(sku).matches("[A-Z]{3}-[0-9]+");               // in rules() (rules.h)
//   constexpr Pattern sku_pattern = "[A-Z]{3}-[0-9]+";   // one name for it where several need it
//   if (!sku_pattern.matches(text)) …
//
// The syntax is RE2's (https://github.com/google/re2/wiki/Syntax), without back references and look-around. `.` and
// character classes stand for characters of UTF-8, not bytes. Time is linear in the text, for every pattern and every
// text: a client cannot slow matching down by its choice of text.
//
// Errors:  an invalid pattern is a Bug (base/bug.h) at its first use; the message has its text and its place.
// Threads: any. A pattern is compiled once in the process, at its first use, and kept until the process ends.
// Cost:    either takes some 100 ns and the time for the text, without the heap. A compiled pattern takes some
//          kilobytes, at most 8 MB. A program without patterns does not load RE2's library.

#pragma once

#include <cstddef>
#include <string_view>

namespace keel {

class Pattern {
 public:
  // A Pattern is made from a literal, so that no pattern comes from a client.
  template <std::size_t size>
  consteval Pattern(const char (&text)[size], const char* file = __builtin_FILE(), unsigned line = __builtin_LINE())
      : text_(text, size - 1), file_(file), line_(line) {}

  // Made from a text that, like the compiled pattern, lives until the process ends: for tools that read schemas, and
  // never for a client's text. The caller has checked that it is a regular expression.
  static Pattern of_lasting(std::string_view text) noexcept { return Pattern(text); }

  // Matches the whole text.
  bool matches(std::string_view text) const;
  // Matches some part of it, as `pattern` of JSON Schema does.
  bool is_in(std::string_view text) const;

  constexpr std::string_view text() const noexcept { return text_; }
  constexpr const char* file() const noexcept { return file_; }
  constexpr unsigned line() const noexcept { return line_; }

 private:
  explicit Pattern(std::string_view text) noexcept : text_(text), file_("a schema"), line_(0) {}

  std::string_view text_;
  const char* file_;
  unsigned line_;
};

}  // namespace keel
