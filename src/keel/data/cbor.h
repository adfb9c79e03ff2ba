// keel/data/cbor.h — converts structs to CBOR (RFC 8949) and back, without code for each field.
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
// A struct is described once for JSON, CBOR and rows: json_parse.h lists the supported types, and fields.h says how a
// struct is described. The following types are represented differently in CBOR:
//
//   std::vector<std::byte>, std::array<std::byte, n>    a byte string
//   Timestamp                       tag 1 where it is whole seconds, else tag 0; a text alone is read, too
//   Date                            a text with tag 1004 (RFC 8943); read without the tag, too
//   Decimal                         tag 4, a decimal fraction; a text and an integer are read, too
//   Uuid                            tag 37; 16 bytes or a text alone are read, too
//   double, float                   the shortest form that is the same, with NaN and the infinities
//   json::Value                     any value (binary_value.h)
//   your own                        void read_binary(auto& in, Money& money) beside the type reads one value, and
//                                   void write_binary(auto& out, const Money& money) writes it (binary_reader.h)
//
// The output is deterministic (RFC 8949 §4.2.1): equal values give equal bytes, and shorter keys come before longer
// keys. The reader accepts members in any order, and indefinite lengths; it is fastest if the members are in the order
// of the output or of the struct. Fields that the struct does not have are skipped, unless the struct is strict; bytes
// in which a field or a map key is repeated are malformed. rules() is called as for JSON (rules.h).
//
// Errors:   all violations, not only the first violation (violations.h); if the CBOR is malformed, the offset of the
//           first invalid byte. ReaderOptions limits the nesting. No memory is allocated for a declared length or count
//           before the corresponding bytes have arrived.
// Lifetime: views into the bytes or the arena are valid as long as both the bytes and the arena exist.
// Threads:  functions.
// Cost:     one pass; heap memory only for strings, lists and maps of the struct; when a map is written, its keys are
//           sorted.

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

// Reads the bytes into `value`, which must be equal to T() before the call. Returns false if `wrong` has violations;
// even then, all valid values have been read. The function clears `wrong` first.
template <class T>
bool read(T& value, std::string_view bytes, Arena& arena, Violations& wrong, ReaderOptions options = {}) {
  value = T();
  return binary::internal::Access<binary::Cbor>::read_whole(
      bytes, arena, options, &binary::internal::read_field<binary::Cbor, T>, &value, wrong);
}

// Returns the value, or InvalidArgument with everything that is wrong (Violations::error).
template <class T>
Result<T> parse(std::string_view bytes, Arena& arena, ReaderOptions options = {}) {
  T value{};
  Violations wrong;
  if (!read(value, bytes, arena, wrong, options)) return wrong.error();
  return value;
}
template <class T>
Result<T> parse(std::string_view bytes, ReaderOptions options = {}) {
  static_assert(!json::internal::holds_views<T>(),
                "a struct with a std::string_view must be read with an arena, which must live at least as long as the "
                "struct: parse<T>(bytes, arena)");
  Arena arena;
  return parse<T>(bytes, arena, options);
}

// Reads one value that is part of a larger document.
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

// Returns the value in the notation of RFC 8949 §8, which people can read: {"id": 7, "raw": h'00ff', "at":
// 1(1363896240)}. InvalidArgument if the bytes are not exactly one value.
Result<std::string> diagnose(std::string_view bytes);

// Returns the bytes of the value at `pointer`, without decoding other values; `pointer` is a JSON Pointer (RFC 6901)
// such as "/lines/0/sku". NotFound if the document has no value at `pointer`; InvalidArgument if `pointer` is not a
// JSON Pointer, or if the document is malformed before the end of the value. The part of the document after the value
// is not checked. parse<T>() can read the returned bytes.
Result<std::string_view> find(std::string_view bytes, std::string_view pointer);

}  // namespace keel::cbor
