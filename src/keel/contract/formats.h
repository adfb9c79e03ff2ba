// keel/contract/formats.h — the formats of JSON Schema and OpenAPI that texts are checked against.
//
//   if (!is_valid(Format::Email, text)) say(expected(Format::Email));    // "expected an email address such as …"
//
// Any other format is only an annotation: no text is checked against it (docs/contract.md has the list).
//
// Threads: functions.
// Cost:    linear in the length of the text, no heap; a `regex` is checked without compiling it.

#pragma once

#include <cstdint>
#include <string_view>

namespace keel::contract {

// The formats of JSON Schema that are checked.
enum class Format : std::uint8_t {
  None,                 // A format that is only an annotation: every text is valid.
  Date,                 // RFC 3339 §5.6 full-date
  Time,                 // RFC 3339 §5.6 full-time, with its offset
  DateTime,             // RFC 3339 §5.6
  Duration,             // RFC 3339 appendix A: P1DT12H
  Email,                // RFC 5321 §4.1.2 Mailbox
  IdnEmail,             // RFC 6531 §3.3: Email with UTF-8
  Hostname,             // RFC 1123 §2.1; A-labels (RFC 5890) must be well-formed
  Ipv4,                 // RFC 2673 §3.2 dotted-quad, without leading zeros
  Ipv6,                 // RFC 4291 §2.2
  Uri,                  // RFC 3986 §3: absolute, with a scheme
  UriReference,         // RFC 3986 §4.1
  Iri,                  // RFC 3987 §2.2
  IriReference,         // RFC 3987 §2.2
  UriTemplate,          // RFC 6570 §2
  Uuid,                 // RFC 9562 §4
  JsonPointer,          // RFC 6901 §5
  RelativeJsonPointer,  // draft-bhutton-relative-json-pointer-00
  Regex,                // ECMA-262, with the flag u
  Byte,                 // RFC 4648 §4, base64 with padding
};

// The format with this name, which is spelled as in a document ("date-time").
Format format_of(std::string_view name) noexcept;

// Whether `text` has the format.
bool is_valid(Format format, std::string_view text) noexcept;

// The message for a text that does not have the format; it is a literal.
const char* expected(Format format) noexcept;

}  // namespace keel::contract
