// keel/data/format.h — finds out which format some bytes have.
//
//   switch (data::detect(bytes)) {
//     case data::Format::Json: …
//
// Use it for a file, a queue or a cache that several kinds of writers have filled. Where the format is stated, as in a
// Content-Type, use that instead.
//
// Result: the format in which the bytes are exactly one value. JSON comes first: its texts begin no object and no list
//          of the others. Few bytes are a value in both CBOR and MessagePack: then the one in which they are an object
//          or a list, and CBOR when both are.
//          Unknown when they are a value in none: empty, cut off, nested more than 64 (JSON: 128) deep.
// Threads: a function. Cost: one pass for each format that the first byte allows; no heap.

#pragma once

#include <cstdint>
#include <string_view>

namespace keel::data {

enum class Format : std::uint8_t { Unknown, Json, Cbor, MessagePack };

// The format that a document most likely has.
Format detect(std::string_view bytes);

}  // namespace keel::data
