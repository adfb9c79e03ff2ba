// keel/data/base64.h — converts bytes to text (RFC 4648 §4 and §5), and back.
//
//   std::string text = base64::encode(bytes, base64::Form::Url);
//   KEEL_TRY(std::string bytes, base64::decode(text, base64::Form::Url));
//
// Decoding is strict, so that each sequence of bytes has exactly one text. Decoding accepts only characters of the
// form's alphabet, no line breaks or blanks, and padding exactly where the form requires it. The bits of the last
// character that go beyond the last byte must be zero (RFC 4648 §3.5).
//
// Result:  the decoding functions return the number of bytes, or the bytes.
// Errors:  InvalidArgument, such as "base64: byte 17 is not in the alphabet"; the number is the position in the text,
//          counted from 0. ResourceExhausted: `out` is too small for the decoded bytes; nothing was written.
// Threads: functions.
// Cost:    about 1 ns for three bytes; only functions that return a std::string allocate.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/result.h"

namespace keel::base64 {

// The alphabet of a text, and whether the text has padding.
enum class Form : std::uint8_t {
  Standard,          // The alphabet with + and /, padded with =; used by MIME, PEM and HTTP Basic.
  StandardUnpadded,  // The alphabet with + and /, without padding.
  Url,               // The alphabet with - and _, without padding; used by JWT, in URLs and in file names.
  UrlPadded,         // The alphabet with - and _, padded with =.
};

// The number of characters to which `bytes` bytes are encoded.
std::size_t encoded_size(std::size_t bytes, Form form) noexcept;
// The number of bytes to which a well-formed text is decoded. For a malformed text, the result is at least the number
// of bytes that decode() writes before it finds the error.
std::size_t decoded_size(std::string_view text) noexcept;

// Writes encoded_size() characters, and returns the position after them.
char* encode(char* to, std::span<const std::byte> bytes, Form form) noexcept;
void encode(Buffer& to, std::span<const std::byte> bytes, Form form);
std::string encode(std::span<const std::byte> bytes, Form form);
std::string encode(std::string_view bytes, Form form);

// Returns the number of bytes written to `out`, which must not overlap `text`; after an error, the content of `out` is
// unspecified.
Result<std::size_t> decode(std::string_view text, std::span<std::byte> out, Form form) noexcept;
// Appends the result; after an error, nothing has been appended.
Result<std::size_t> decode(std::string_view text, Buffer& out, Form form);
Result<std::string> decode(std::string_view text, Form form);

}  // namespace keel::base64
