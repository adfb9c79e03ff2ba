// keel/data/format.h — which format bytes are in that do not say it.
//
//   switch (data::detect(bytes)) {
//     case data::Format::Json: …
//
// For a file, a queue or a cache that has had several writers. Where somebody says it (a Content-Type), ask that.
//
// Result:  the format in which the bytes are one whole value. JSON comes first: its texts begin no object and no list
//          of the others. Few bytes are a value in both CBOR and MessagePack: then the one in which they are an object
//          or a list, and CBOR when both are.
//          Unknown when they are a value in none: empty, cut off, nested more than 64 (JSON: 128) deep.
// Threads: a function.  Cost: one pass for each format that is possible by the first byte; no heap.

#pragma once

#include <cstdint>
#include <string_view>

namespace keel::data {

enum class Format : std::uint8_t { Unknown, Json, Cbor, MessagePack };

// The format that a document most likely has.
Format detect(std::string_view bytes);

}  // namespace keel::data
