// keel/data/binary_value.h — reads a document of CBOR or MessagePack as a json::Value: for data without a struct.
//
//   KEEL_TRY(json::Value event, cbor::parse<json::Value>(bytes));
//   std::string text = json::write(event);
//   std::string packed = message_pack::write(event);
//
// Returns the document converted to JSON (RFC 8949 §6.1): bytes become a string in base64url without padding, NaN and
// the infinities become null, and a decimal fraction becomes its text; any other tag is dropped, and its value is kept.
// Numbers and texts have the same values in JSON, CBOR and MessagePack. Keys are written in the order that cbor.h
// describes.
//
// Errors: the following are Value problems: a bignum beyond 64 bits, an extension of MessagePack, and a simple value
//         that has no meaning for the Reader.

#pragma once

#include <concepts>

#include "keel/data/binary_reader.h"
#include "keel/data/binary_writer.h"
#include "keel/data/json_value.h"

namespace keel::binary {

// Reads a value of any shape.
template <class Format>
void read_binary(Reader<Format>& in, json::Value& value);
// The constraint excludes types that can merely be converted to a Value.
template <class Format, std::same_as<json::Value> Value>
void write_binary(Writer<Format>& out, const Value& value);

extern template void read_binary(Reader<Cbor>& in, json::Value& value);
extern template void read_binary(Reader<MessagePack>& in, json::Value& value);
extern template void write_binary(Writer<Cbor>& out, const json::Value& value);
extern template void write_binary(Writer<MessagePack>& out, const json::Value& value);

}  // namespace keel::binary
