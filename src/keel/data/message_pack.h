// keel/data/message_pack.h — converts structs to MessagePack and back, without code for each field.
//
//   std::string bytes = message_pack::write(reading);         // or message_pack::write(buffer, reading)
//   KEEL_TRY(Reading reading, message_pack::parse<Reading>(bytes));
//
// Everything that cbor.h says about CBOR also holds here, in the forms of MessagePack: a std::vector<std::byte> is a
// bin, a Timestamp is the extension -1, and a Uuid is a bin of 16 bytes; a double always takes 8 bytes, and a float
// always takes 4 bytes. Any other extension is a violation in a field of the struct, and is skipped in a field that the
// struct does not have.
//
// Source: the MessagePack specification (github.com/msgpack/msgpack/blob/master/spec.md).

#pragma once

#include <string>
#include <string_view>

#include "keel/base/arena.h"
#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/data/internal/binary_fields.h"

namespace keel::message_pack {

// Reads a MessagePack document, value by value.
using Reader = binary::Reader<binary::MessagePack>;
// Writes a MessagePack document, value by value.
using Writer = binary::Writer<binary::MessagePack>;
using binary::ReaderOptions;

// read(), parse() and write() correspond to the functions of the same names in cbor.h.
template <class T>
bool read(T& value, std::string_view bytes, Arena& arena, Violations& wrong, ReaderOptions options = {}) {
  value = T();
  return binary::internal::Access<binary::MessagePack>::read_whole(
      bytes, arena, options, &binary::internal::read_field<binary::MessagePack, T>, &value, wrong);
}
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
  message_pack::write(out, value);
  return std::string(out.view());
}

// As cbor::find.
Result<std::string_view> find(std::string_view bytes, std::string_view pointer);

}  // namespace keel::message_pack
