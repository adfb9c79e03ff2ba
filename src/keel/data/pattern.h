// keel/data/pattern.h — regular expressions that match a whole text or a part of it.
//
//   check(sku).matches("[A-Z]{3}-[0-9]+");               // in rules() (rules.h)
//   constexpr Pattern sku_pattern = "[A-Z]{3}-[0-9]+";   // one name for it where several need it
//   if (!sku_pattern.matches(text)) …
//
// The syntax is that of RE2 (https://github.com/google/re2/wiki/Syntax), without backreferences and lookaround. `.` and
// character classes match UTF-8 characters, not bytes. Matching takes time that is linear in the length of the text,
// for every pattern and every text, so that no client can slow down the matching by sending a particular text.
//
// Errors:  an invalid pattern is a Bug (base/bug.h) when the pattern is first used; the message contains the pattern
//          and its place in the source.
// Threads: any. A pattern is compiled once in the process, when it is first used, and kept until the process ends.
// Cost:    matches() and is_in() each take about 100 ns, plus time for each byte of the text; they use no heap memory.
//          A compiled pattern usually takes some kilobytes, and at most 8 MB. A program without patterns does not load
//          RE2's library.

#pragma once

#include <cstddef>
#include <string_view>

namespace keel {

class Pattern {
 public:
  // A Pattern can be made only from a literal, so that no pattern comes from a client.
  template <std::size_t size>
  consteval Pattern(const char (&text)[size], const char* file = __builtin_FILE(), unsigned line = __builtin_LINE())
      : text_(text, size - 1), file_(file), line_(line) {}

  // Makes a Pattern from a text that must live until the process ends, because the compiled pattern also lives that
  // long. The function is for tools that read schemas; never pass a client's text to it. The caller must have checked
  // that the text is a regular expression.
  static Pattern of_lasting(std::string_view text) noexcept { return Pattern(text); }

  // Whether the pattern matches the whole text.
  bool matches(std::string_view text) const;
  // Whether the pattern matches any part of the text, as `pattern` in JSON Schema does.
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
