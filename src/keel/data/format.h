// keel/data/format.h — detects the format of a sequence of bytes.
//
//   switch (data::detect(bytes)) {
//     case data::Format::Json: …
//
// Use detect() for a file, a queue or a cache to which programs write in different formats. If the format is stated, as
// in a Content-Type, use the stated format instead.
//
// Result:  the format in which the bytes are exactly one value. JSON is tried first, because the first byte of a JSON
//          text never begins an object or a list of the other formats. Some short inputs are one value both in CBOR and
//          in MessagePack. For an input that is one value in both formats, the result is MessagePack if only the
//          MessagePack value is an object or a list, and otherwise CBOR. The result is Unknown if there is no format in
//          which the bytes are exactly one value, for example because the bytes are empty, truncated, or nested more
//          than 64 levels deep (JSON: 128).
// Threads: a function.
// Cost:    one pass for each format that the first byte allows; no heap memory.

#pragma once

#include <cstdint>
#include <string_view>

namespace keel::data {

enum class Format : std::uint8_t { Unknown, Json, Cbor, MessagePack };

// The format that a document most likely has.
Format detect(std::string_view bytes);

}  // namespace keel::data
