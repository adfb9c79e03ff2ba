// keel/data/json_writer.h — writes one JSON text (RFC 8259) into a Buffer.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "keel/base/buffer.h"

namespace keel::json {
namespace internal {
class Pen;
}

// Writes one JSON text, which is appended to the Buffer. In strings that are not UTF-8, every ill-formed part is
// replaced by U+FFFD; so the output is always UTF-8. The text contains no white space between its tokens; json_indent.h
// adds white space for people. Calls must follow the grammar: key() before each value of an object, and end_object() or
// end_array() for each begin; a violation is a bug, which debug builds detect where the check is cheap.
//
// Lifetime: the Buffer must outlive the Writer.
// Cost:     a string without escapes is scanned and copied once, 16 bytes at a time.
class Writer {
 public:
  // For the types that a contract generates (docs/from_contract.md): which kind of members the Writer leaves out. A
  // request has no `readOnly` members, and a response has no `writeOnly` members.
  enum class Omit : std::uint8_t { Nothing, ReadOnly, WriteOnly };

  explicit Writer(Buffer& out, Omit omit = Omit::Nothing) noexcept : out_(out), omit_(omit) {}

  Writer& begin_object() { return begin('{'); }
  Writer& end_object() { return end('}'); }
  Writer& begin_array() { return begin('['); }
  Writer& end_array() { return end(']'); }
  Writer& key(std::string_view name);
  // Writes a key that includes its quotes and colon, "\"id\":". The key must be well-formed; this is not checked. The
  // key is copied unchanged.
  Writer& quoted_key(std::string_view key);
  Writer& string(std::string_view text);
  // Writes bytes as a string in base64, with + and / in the alphabet and with padding (base64.h).
  Writer& base64(std::span<const std::byte> bytes);
  Writer& integer(std::int64_t value);
  Writer& unsigned_integer(std::uint64_t value);
  // Writes the shortest text that is read back as the same double. NaN and infinity are written as null, because JSON
  // cannot represent them.
  Writer& number(double value);
  Writer& boolean(bool value) { return raw(value ? "true" : "false"); }
  Writer& null() { return raw("null"); }
  // `json` must be one complete, well-formed value; this is not checked. The value is copied unchanged.
  Writer& raw(std::string_view json);

  Omit omit() const noexcept { return omit_; }
  void set_omit(Omit omit) noexcept { omit_ = omit; }

  // Whether one whole value has been written, and every object and array that was begun has ended.
  bool is_complete() const noexcept { return depth_ == 0 && place_ == Place::Next; }

 private:
  friend class internal::Pen;
  // First: at the beginning of a container; Next: after a value; Value: after a key.
  enum class Place : std::uint8_t { First, Next, Value };
  Writer& begin(char bracket);
  Writer& end(char bracket);
  // Writes the separator that is required before the next value, and makes space for `bytes` more bytes.
  char* open(std::size_t bytes);
  void close(char* end) noexcept { out_.resize(static_cast<std::size_t>(end - out_.data())); }
  void quote(std::string_view text);
  void quote_slow(std::string_view text, std::size_t clean);

  Buffer& out_;
  int depth_ = 0;
  Place place_ = Place::First;
  Omit omit_;
};

// Defined in json_write.h; declared here for templates that write values of any type and include only this header.
template <class T>
void write(Writer& out, const T& value);

namespace internal {

template <class T>
struct CanWrite;  // This type is complete only after json_write.h has been included.
template <class T>
concept CanBeWritten = requires { sizeof(CanWrite<T>); };

// Writes a value by the write_json() that is declared next to its type, or by its fields.
template <class T>
void write_given(Writer& out, const T& value) {
  if constexpr (requires { write_json(out, value); }) {
    write_json(out, value);
  } else if constexpr (CanBeWritten<T>) {
    json::write(out, value);
  } else {
    static_assert(CanBeWritten<T>,
                  "to write a struct as JSON, include keel/data/json_write.h, which keel/http.h includes");
  }
}

}  // namespace internal
}  // namespace keel::json
