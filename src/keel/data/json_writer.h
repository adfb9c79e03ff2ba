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

// Appends one JSON text. In strings that are not UTF-8 every ill-formed part is replaced by U+FFFD; the output is
// always UTF-8. There are no blanks; json_indent.h adds them for people. Calls must follow the grammar: key() before
// each value of an object, and an end for each begin; a violation is a bug (checked in debug builds where the check is
// cheap).
//
// Lifetime: the Buffer must outlive the Writer.
// Cost:     a string without escapes is scanned and copied once, 16 bytes at a time.
class Writer {
 public:
  // For the types that a contract generates (docs/from_contract.md): which members are left out. A request has no
  // `readOnly` members, and a response has no `writeOnly` members.
  enum class Omit : std::uint8_t { Nothing, ReadOnly, WriteOnly };

  explicit Writer(Buffer& out, Omit omit = Omit::Nothing) noexcept : out_(out), omit_(omit) {}

  Writer& begin_object() { return begin('{'); }
  Writer& end_object() { return end('}'); }
  Writer& begin_array() { return begin('['); }
  Writer& end_array() { return end(']'); }
  Writer& key(std::string_view name);
  // Writes a key that has its quotes and colon, "\"id\":", and must be well-formed, which is not checked. It is copied
  // as it is.
  Writer& quoted_key(std::string_view key);
  Writer& string(std::string_view text);
  // Writes bytes as a string in base64, with + and / and padded (base64.h).
  Writer& base64(std::span<const std::byte> bytes);
  Writer& integer(std::int64_t value);
  Writer& unsigned_integer(std::uint64_t value);
  // The shortest text that reads back as the same double. NaN and infinity, which JSON does not have, are written as
  // null.
  Writer& number(double value);
  Writer& boolean(bool value) { return raw(value ? "true" : "false"); }
  Writer& null() { return raw("null"); }
  // `json` is one complete, well-formed value; this is not checked. It is copied as it is.
  Writer& raw(std::string_view json);

  Omit omit() const noexcept { return omit_; }
  void set_omit(Omit omit) noexcept { omit_ = omit; }

  // Whether a whole value was written, and every object and array that was begun has ended.
  bool is_complete() const noexcept { return depth_ == 0 && place_ == Place::Next; }

 private:
  friend class internal::Pen;
  enum class Place : std::uint8_t { First, Next, Value };  // First in a container; after another value; after a key.
  Writer& begin(char bracket);
  Writer& end(char bracket);
  char* open(std::size_t bytes);  // Writes the separator that a value needs before it, and makes room for `bytes` more.
  void close(char* end) noexcept { out_.resize(static_cast<std::size_t>(end - out_.data())); }
  void quote(std::string_view text);
  void quote_slow(std::string_view text, std::size_t clean);

  Buffer& out_;
  int depth_ = 0;
  Place place_ = Place::First;
  Omit omit_;
};

// Defined in json_write.h; declared here for code that writes values of a template type and includes only this header.
template <class T>
void write(Writer& out, const T& value);

namespace internal {

template <class T>
struct CanWrite;  // Defined once json_write.h is included.
template <class T>
concept CanBeWritten = requires { sizeof(CanWrite<T>); };

// Uses the write_json() next to its type, or its fields.
template <class T>
void write_given(Writer& out, const T& value) {
  if constexpr (requires { write_json(out, value); }) {
    write_json(out, value);
  } else if constexpr (CanBeWritten<T>) {
    json::write(out, value);
  } else {
    static_assert(CanBeWritten<T>,
                  "a struct is written as JSON with keel/data/json_write.h, which keel/http.h includes");
  }
}

}  // namespace internal
}  // namespace keel::json
