// keel/contract/regex.h — converts regular expressions of ECMA-262, which JSON Schema uses, to those of RE2, which Keel
// uses.
//
//   const Regex sku("^\\p{Letter}{3}\\s$");
//   sku.re2          // "^\\p{L}{3}[\\t-\\r …]$"
//
// Syntax that means the same in ECMA-262 and RE2 is left unchanged. \s, \S and `.` become the characters of ECMA-262
// §22.2.2; \cX, \uXXXX and \u{…} become \x{…}, (?<name>…) becomes (…), and \p{Letter} or \p{Script=Greek} get RE2's
// names. Look-around and back references are passed on unchanged; RE2 rejects them, because they need more than linear
// time.
//
// Threads: a value.
// Cost:    linear.

#pragma once

#include <string>
#include <string_view>

namespace keel::contract {

struct Regex {
  explicit Regex(std::string_view pattern);

  std::string re2;
  bool is_ecma = true;  // Whether the text is a Pattern of ECMA-262 §22.2.1 with the flag u.
  bool has_look_around = false;
};

// Returns Regex(text).is_ecma, but without using the heap.
bool is_regex(std::string_view text) noexcept;

}  // namespace keel::contract
