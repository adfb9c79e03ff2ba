// keel/http/message/fields.h — the alphabet of header fields: tokens, values, lists.
//
// is_token() and is_field_value() are the checks that keep CR, LF and NUL out of what we send; run them after the
// last transformation of a value. RFC 9110 §5.1, §5.5, §5.6.
//
// Cost: one pass over the bytes; no allocation.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace keel::http {

// One header field, as views into the message.
struct Field {
  std::string_view name;   // the name as the sender wrote it
  std::string_view value;  // without the blanks around it
};

namespace byte_class {
inline constexpr std::uint8_t token = 1;  // tchar
inline constexpr std::uint8_t host = 2;   // reg-name without '%' and ','
// bytes of a path and a query, including "%?/" and brackets, which browsers send unescaped
inline constexpr std::uint8_t target = 4;

// The sets that each byte belongs to, one bit for each set.
extern const std::array<std::uint8_t, 256> table;
// Whether `c` belongs to `set`.
inline bool is(std::uint8_t set, char c) noexcept { return (table[static_cast<unsigned char>(c)] & set) != 0; }
}  // namespace byte_class

// Whether `c` may be part of a token (RFC 9110 §5.6.2).
inline bool is_token_byte(char c) noexcept { return byte_class::is(byte_class::token, c); }

// Whether `text` is a token: at least one byte, all of them tchar, as in a header name, a method, a transfer coding.
bool is_token(std::string_view text) noexcept;

// No byte that could end or split a header line: no CR, LF, NUL or other control byte, no DEL. HTAB and bytes from 0x80
// up are allowed. An empty text is allowed.
bool is_field_value(std::string_view text) noexcept;

// Equal without regard to the case of A-Z; no locale. '_' and '-' differ.
bool equals_ignore_case(std::string_view a, std::string_view b) noexcept;

// Removes blanks (SP, HTAB) from both ends.
std::string_view trim_blanks(std::string_view text) noexcept;

// Removes the first element from a comma-separated list, without the blanks around it; false when the list is empty.
// Empty elements are returned too (RFC 9110 §5.6.1 lets a recipient skip them); quoted strings are not recognized.
//   for (std::string_view rest = value, element; next_element(rest, element);) …
// `rest` becomes a null view at the end.
bool next_element(std::string_view& rest, std::string_view& element) noexcept;
// Whether an element of the list equals `wanted` without regard to case.
bool lists(std::string_view list, std::string_view wanted) noexcept;

}  // namespace keel::http
