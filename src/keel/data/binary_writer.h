// keel/data/binary_writer.h — writes one value of CBOR (RFC 8949) or MessagePack step by step.
//
//   void write_binary(auto& out, const Money& money) {       // for cbor::Writer and message_pack::Writer
//     out.begin_array(2);
//     out.integer(money.cents);
//     out.string(money.currency);
//   }
//
// To write a struct, use cbor.h or message_pack.h instead: these write the whole struct. To write a container, first
// pass the number of its elements or members; each element is then one value, and each member is a key and one value.
//
// Result:  numbers, lengths and counts are written in their shortest form; in CBOR, a double is written in the shortest
//          form that has the same value. In MessagePack, a double is always written as a double, and a float is always
//          written as a float.
// Errors:  in MessagePack, a text or a byte string of 4 GiB or more is a Bug (base/bug.h). Texts must be UTF-8; the
//          Writer does not check this.
// Threads: one thread at a time.
// Cost:    no heap memory except for the growth of the buffer.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/data/binary_reader.h"
#include "keel/data/date.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"

namespace keel::binary {

// Writes a document of `Format`, value by value.
template <class Format>
class Writer {
 public:
  explicit Writer(Buffer& out) noexcept : out_(out) {}

  Writer& begin_object(std::size_t members);
  Writer& begin_array(std::size_t elements);
  Writer& key(std::string_view name) { return string(name); }
  Writer& string(std::string_view text);
  Writer& bytes(std::span<const std::byte> bytes);
  Writer& integer(std::int64_t value);
  Writer& unsigned_integer(std::uint64_t value);
  Writer& number(double value);
  Writer& single(float value);
  Writer& boolean(bool value);
  Writer& null();
  // CBOR: tag 1 for whole seconds, and tag 0 (which is exact) for other times; MessagePack: the extension -1.
  Writer& timestamp(Timestamp time);
  // Writes the date as text; in CBOR with tag 1004 (RFC 8943).
  Writer& date(Date date);
  // CBOR: 16 bytes with tag 37; MessagePack: 16 bytes.
  Writer& uuid(const Uuid& id);
  // `value` must be one complete, well-formed value; it is copied without a check.
  Writer& raw(std::string_view value);

 private:
  friend class internal::Access<Format>;
  Buffer& out_;
};

extern template class Writer<Cbor>;
extern template class Writer<MessagePack>;

}  // namespace keel::binary
