// keel/http/message/fields.h — the syntax of header fields: tokens, values, lists.
//
// is_token() and is_field_value() keep CR, LF and NUL out of the heads that Keel sends; check each name or value after
// its last transformation. RFC 9110 §5.1, §5.5, §5.6.
//
// Cost: one pass over the bytes; no allocation.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace keel::http {

// One header field, as views into the message.
struct Field {
  std::string_view name;
  std::string_view value;  // the value, without the blanks around it
};

namespace byte_class {
inline constexpr std::uint8_t token = 1;  // tchar
inline constexpr std::uint8_t host = 2;   // the bytes of a reg-name (RFC 3986), except '%' and ','
// the bytes of a path and a query, including "%?/" and the brackets that browsers send unescaped
inline constexpr std::uint8_t target = 4;

// The sets to which each byte belongs; each set is one bit.
extern const std::array<std::uint8_t, 256> table;
// Whether `c` belongs to `set`.
inline bool is(std::uint8_t set, char c) noexcept { return (table[static_cast<unsigned char>(c)] & set) != 0; }
}  // namespace byte_class

// Whether `c` may be part of a token (RFC 9110 §5.6.2).
inline bool is_token_byte(char c) noexcept { return byte_class::is(byte_class::token, c); }

// Whether `text` is a token: at least one byte, and each byte is a tchar. Header names, methods and transfer codings
// are tokens.
bool is_token(std::string_view text) noexcept;

// Whether `text` is free of bytes that could end or split a header line: CR, LF, NUL, other control bytes, and DEL.
// HTAB and bytes from 0x80 up are allowed. An empty `text` is allowed.
bool is_field_value(std::string_view text) noexcept;

// Whether the texts are equal without regard to the case of A-Z; independent of the locale. '_' and '-' differ.
bool equals_ignore_case(std::string_view a, std::string_view b) noexcept;

// Removes blanks (SP, HTAB) from both ends.
std::string_view trim_blanks(std::string_view text) noexcept;

// Removes the first element from `rest`, a comma-separated list, and stores the element without surrounding blanks in
// `element`; returns false if the list is empty. An empty element is returned like any other, although RFC 9110 §5.6.1
// lets a recipient skip it; quoted strings are not recognized.
//   for (std::string_view rest = value, element; next_element(rest, element);) …
// After the last element, `rest` is a null view.
bool next_element(std::string_view& rest, std::string_view& element) noexcept;
// Whether an element of `list`, which is comma-separated, equals `wanted` without regard to case.
bool lists(std::string_view list, std::string_view wanted) noexcept;

}  // namespace keel::http
