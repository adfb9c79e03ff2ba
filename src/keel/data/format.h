// keel/data/format.h — finds out the format of some bytes.
//
//   switch (data::detect(bytes)) {
//     case data::Format::Json: …
//
// Use it for a file, a queue or a cache that is filled by writers of different formats. Where the format is stated, as
// in a Content-Type, use the stated format instead.
//
// Result:  the format in which the bytes are exactly one value. JSON is tried first, because no JSON text begins like
//          an object or a list of the other formats. Some short inputs are one value both in CBOR and in MessagePack:
//          the result is then the format in which they are an object or a list, and CBOR when they are in both. Unknown
//          when the bytes are not exactly one value in any format: empty, truncated, nested more than 64 (JSON: 128)
//          deep.
// Threads: a function.
// Cost:    one pass for each format that the first byte allows; no heap.

#pragma once

#include <cstdint>
#include <string_view>

namespace keel::data {

enum class Format : std::uint8_t { Unknown, Json, Cbor, MessagePack };

// The format that a document most likely has.
Format detect(std::string_view bytes);

}  // namespace keel::data
