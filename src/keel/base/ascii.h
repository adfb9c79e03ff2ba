// keel/base/ascii.h — letters, digits and blanks of ASCII, independent of the locale.
//
// A byte from 0x80 up is neither a letter nor a digit nor a blank, and keeps its case.
//
// Threads: any; the functions depend only on their argument.
// Cost:    a comparison or two; no table.

#pragma once

namespace keel::ascii {

// The hexadecimal digits, indexed by their values.
inline constexpr char hex_lower[] = "0123456789abcdef";
inline constexpr char hex_upper[] = "0123456789ABCDEF";

// Classes of ASCII characters, independent of the locale; false for any other byte.
constexpr bool is_digit(char c) noexcept { return static_cast<unsigned char>(c - '0') < 10; }
constexpr bool is_upper(char c) noexcept { return static_cast<unsigned char>(c - 'A') < 26; }
constexpr bool is_lower(char c) noexcept { return static_cast<unsigned char>(c - 'a') < 26; }
constexpr bool is_letter(char c) noexcept { return static_cast<unsigned char>((c | 0x20) - 'a') < 26; }
constexpr bool is_alphanumeric(char c) noexcept { return is_letter(c) || is_digit(c); }
constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

// to_lower() and to_upper() change only ASCII letters; any other byte is returned unchanged.
constexpr char to_lower(char c) noexcept { return is_upper(c) ? static_cast<char>(c | 0x20) : c; }
constexpr char to_upper(char c) noexcept { return is_lower(c) ? static_cast<char>(c & ~0x20) : c; }

// The value of a hexadecimal digit in either case, or -1.
constexpr int hex_value(char c) noexcept {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace keel::ascii
