// keel/data/cbor.h — structs as CBOR (RFC 8949) and back, without a line for each field.
//
//   struct Reading {
//     Uuid device;
//     Timestamp at;
//     double celsius = 0;
//     std::vector<std::byte> raw;
//   };
//   std::string bytes = cbor::write(reading);                 // or cbor::write(buffer, reading)
//   KEEL_TRY(Reading reading, cbor::parse<Reading>(bytes));
//
// A struct is described once for JSON, CBOR and rows: json_parse.h says which types there are and fields.h how a struct
// is spelled. What is different in CBOR:
//
//   std::vector<std::byte>, std::array<std::byte, n>    a byte string
//   Timestamp                       tag 1 where it is whole seconds, else tag 0; a text alone is read, too
//   Uuid                            tag 37; 16 bytes or a text alone are read, too
//   double, float                   the shortest form that is the same, with NaN and the infinities
//   json::Value                     any value (binary_value.h)
//   your own                        void read_binary(auto& in, Money& money) beside the type reads one value, and
//                                   void write_binary(auto& out, const Money& money) writes it (binary_reader.h)
//
// What is written is deterministic (RFC 8949 §4.2.1): equal values are equal bytes, shorter keys stand before longer
// ones. Reading takes members in any order, fastest in that one or in the struct's, and lengths that are indefinite.
// Fields that the struct does not have are passed over, unless it is strict; a field or a key of a map given twice
// makes the bytes malformed. rules() are asked as for JSON (rules.h).
//
// Errors:   all that is wrong, not only the first thing (violations.h); a malformed one says at which byte. Nesting is
//           bounded by ReaderOptions, and nothing is allocated for a length or count that is not there.
// Lifetime: views live as the bytes and the arena do.
// Threads:  functions.
// Cost:     one pass; no heap but for strings, lists and maps of the struct; writing a map sorts its keys.

#pragma once

#include <string>
#include <string_view>

#include "keel/base/arena.h"
#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/data/internal/binary_fields.h"

namespace keel::cbor {

// Reads a CBOR document, value by value.
using Reader = binary::Reader<binary::Cbor>;
// Writes a CBOR document, value by value.
using Writer = binary::Writer<binary::Cbor>;
using binary::ReaderOptions;

// Puts what the bytes say into `value`, which is T() before. False when something is wrong, which `wrong` then tells;
// what is right has been read all the same. `wrong` is cleared first.
template <class T>
bool read(T& value, std::string_view bytes, Arena& arena, Violations& wrong, ReaderOptions options = {}) {
  value = T();
  return binary::internal::Access<binary::Cbor>::read_whole(
      bytes, arena, options, &binary::internal::read_field<binary::Cbor, T>, &value, wrong);
}

// The value, or InvalidArgument with all that is wrong (Violations::error).
template <class T>
Result<T> parse(std::string_view bytes, Arena& arena, ReaderOptions options = {}) {
  T value{};
  Violations wrong;
  if (!read(value, bytes, arena, wrong, options)) return wrong.error();
  return value;
}
template <class T>
Result<T> parse(std::string_view bytes, ReaderOptions options = {}) {
  static_assert(
      !json::internal::holds_views<T>(),
      "a struct with a std::string_view is read with an arena that lives at least as long: parse<T>(bytes, arena)");
  Arena arena;
  return parse<T>(bytes, arena, options);
}

// One value, where one is due.
template <class T>
void write(Writer& out, const T& value) {
  binary::internal::write_value(out, value);
}
template <class T>
void write(Buffer& out, const T& value) {
  Writer writer(out);
  binary::internal::write_value(writer, value);
}
template <class T>
std::string write(const T& value) {
  Buffer out;
  cbor::write(out, value);
  return std::string(out.view());
}

// The value in the notation of RFC 8949 §8, for people: {"id": 7, "raw": h'00ff', "at": 1(1363896240)}. InvalidArgument
// when the bytes are not one value.
Result<std::string> diagnose(std::string_view bytes);

// The bytes of the value at a JSON Pointer (RFC 6901), without reading the rest into anything: "/lines/0/sku".
// NotFound when there is none; InvalidArgument when what is passed on the way there is malformed, which is all that is
// looked at. parse<T>() then reads what it gives.
Result<std::string_view> find(std::string_view bytes, std::string_view pointer);

}  // namespace keel::cbor
