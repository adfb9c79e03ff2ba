// keel/data/record.h — named, typed values without a struct: the content of a message.
//
//   Record reading;                                             // or Record reading(arena)
//   KEEL_TRY_VOID(reading.set("device.id", Uuid::v7()));        // makes the record "device"
//   KEEL_TRY_VOID(reading.set("samples", {21.5, 22.0}));
//   KEEL_TRY_VOID(reading.append("samples", 22.5));
//   KEEL_TRY(double last, reading.get<double>("samples[2]"));   // "samples[2] is missing"
//   for (const Record::Field field : reading) use(field.name, field.value);
//   std::string bytes = cbor::write(reading);                   // cbor.h, message_pack.h; json::write, json_write.h
//   KEEL_TRY(Record again, cbor::parse<Record>(bytes));
//
// A field of a struct may be a Record. record_fields.h converts between structs and Records, and thereby also checks a
// Record against an expected struct.
//
// Use a struct if the fields are known to the program. Use a Record for messages whose fields only the application's
// users know, with bytes, times and integers of a fixed width. Use a json::Value (json_value.h) for a JSON document: it
// has the types of JSON, can be changed in place, and is written in the form in which it was read.
// Paths:    "device.samples[2]". In a path, put a '\' before each '.', '[' or '\' that belongs to a name. find() takes
//           a name without such escapes.
// Types:    set() keeps the type of its argument: a std::uint16_t becomes a Uint16. get<T>() converts a number to any
//           numeric type that holds it exactly; it also converts a string to a Timestamp or a Uuid, and 16 bytes to a
//           Uuid. The formats do not store the width of a number: a number read from a format is an Int64, a Uint64 or
//           a Double, or a Float if it was read from MessagePack. Numbers are compared by their values: 1 == 1.0.
// Formats:  for CBOR and MessagePack, the rules that cbor.h describes for structs apply; the output is deterministic,
//           and bytes in which a field is repeated are malformed. A tag without a meaning for Records is ignored. In
//           JSON, bytes become base64url, times and UUIDs become their text, and NaN and the infinities become null;
//           when such texts are read again, they are strings.
// Errors:   InvalidArgument with the path and both types: "samples[2]: is a string, not a double". A Record can be
//           nested at most 64 deep; deeper nesting is InvalidArgument. A string of 4 GiB or more, or an array of 2^31
//           elements or more, is a Bug (bug.h).
// Lifetime: a Record that is made with an arena is stored entirely in the arena, and must not be used after the arena
//           ends; a Record that is made or copied without an arena owns its memory. Views and references are valid
//           until the Record is changed, moved or destroyed. A move to a Record with another arena copies the content.
// Threads:  a value.
// Cost:     a value or a name takes 24 bytes, which include a text of at most 22 bytes; a longer text, an array and a
//           record take one allocation each. A field is found by a linear search in a record with up to 16 fields, and
//           in a larger record by a binary search in an index that the Record maintains. Malformed CBOR or MessagePack
//           takes at most 800 bytes of memory while it is read, and none afterwards. Well-formed input takes memory of
//           up to 24 times its own size (for an array of small numbers); bytes_max of ReaderOptions limits the size of
//           the input.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/base/arena.h"
#include "keel/base/result.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"

namespace keel::json {
class Reader;
class Writer;
}  // namespace keel::json
namespace keel::binary {
struct Cbor;
struct MessagePack;
template <class Format>
class Reader;
template <class Format>
class Writer;
}  // namespace keel::binary

namespace keel {

class Record {
 public:
  enum class Kind : std::uint8_t {
    Null,
    Boolean,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Float,
    Double,
    String,
    Bytes,
    Time,
    Uuid,
    Array,
    Record,
  };
  // The name of the kind, as messages state it: "int64", "record".
  static std::string_view name_of(Kind kind) noexcept;

  class Value;
  struct Field;
  class Input;
  class Iterator;
  static constexpr int depth_max = 64;

  Record() noexcept = default;
  explicit Record(Arena& arena) noexcept : arena_(&arena) {}
  Record(const Record& other);
  Record(const Record& other, Arena& arena);
  Record(Record&& other) noexcept;
  Record& operator=(const Record& other);
  Record& operator=(Record&& other);
  ~Record() {
    if (arena_ == nullptr) release();
  }

  std::size_t size() const noexcept;
  bool empty() const noexcept { return size() == 0; }
  // The fields in the order in which they were added.
  Iterator begin() const noexcept;
  Iterator end() const noexcept;
  // Each function returns null if the Record does not contain the value. find() looks for a field by its name; at()
  // follows a path.
  const Value* find(std::string_view name) const noexcept;
  const Value* at(std::string_view path) const;
  bool contains(std::string_view path) const { return at(path) != nullptr; }
  // Returns the value at `path`, converted to T: bool, an integer, float, double, std::string_view, std::string,
  // std::span<const std::byte>, Timestamp, Uuid. Returns an error if T cannot hold the number exactly: "age: 300 does
  // not fit a uint8".
  template <class T>
  Result<T> get(std::string_view path) const;

  // Sets the value at `path`, replacing any previous value. Missing records on the path are created; an element of an
  // array must exist, or be the element directly after the last.
  Result<> set(std::string_view path, const Input& value);
  // Appends a value to the array at `path`; the array is created if it does not exist.
  Result<> append(std::string_view path, const Input& value);
  // Removes the value at `path`; returns false if no value exists there. The elements of an array after a removed
  // element move forward.
  bool remove(std::string_view path);
  // Copies all fields of `other` into this Record. A field with the same name is replaced; but if the old and the new
  // value are both records, the fields of the new value are merged into the old value.
  void merge(const Record& other);
  void clear() noexcept;

  // A text for people: id: 7, raw: h'00ff', at: 2026-11-24T12:00:37Z, address: {city: "London"}. Names that are not
  // plain words are quoted.
  std::string text() const;

  friend bool operator==(const Record& a, const Record& b);

  friend void read_json(json::Reader& in, Record& record) { record.read(in); }
  friend void write_json(json::Writer& out, const Record& record) { record.write(out); }
  friend void read_binary(binary::Reader<binary::Cbor>& in, Record& record) { record.read(in); }
  friend void read_binary(binary::Reader<binary::MessagePack>& in, Record& record) { record.read(in); }
  friend void write_binary(binary::Writer<binary::Cbor>& out, const Record& record) { record.write(out); }
  friend void write_binary(binary::Writer<binary::MessagePack>& out, const Record& record) { record.write(out); }

 private:
  struct Block;
  struct Storage;
  struct Forms;
  struct Widths;
  template <class T>
  friend Record to_record(const T& value, Arena& arena);
  template <class T>
  friend Record to_record(const T& value);

  void release() noexcept;
  void read(json::Reader& in);
  void read(binary::Reader<binary::Cbor>& in);
  void read(binary::Reader<binary::MessagePack>& in);
  void write(json::Writer& out) const;
  void write(binary::Writer<binary::Cbor>& out) const;
  void write(binary::Writer<binary::MessagePack>& out) const;

  Block* fields_ = nullptr;  // Null while the record has no fields.
  Arena* arena_ = nullptr;   // Null: the heap.
};

// One value of a Record, which owns the value's content. A Value can be changed only through its Record.
class Record::Value {
 public:
  Kind kind() const noexcept { return static_cast<Kind>(bytes_[0]); }
  bool is_null() const noexcept { return kind() == Kind::Null; }
  // The number of elements of an array or of fields of a record; 0 for any other value.
  std::size_t size() const noexcept;
  // The elements of an array; empty for any other value.
  std::span<const Value> elements() const noexcept;
  // The fields of a record; empty for any other value.
  Iterator begin() const noexcept;
  Iterator end() const noexcept;
  const Value* find(std::string_view name) const noexcept;
  const Value* at(std::string_view path) const;
  template <class T>
  Result<T> get(std::string_view path = {}) const;
  friend bool operator==(const Value& a, const Value& b) { return are_equal(a, b); }

 private:
  friend class Record;
  friend class Input;
  friend class Iterator;
  friend struct Widths;

  Value() noexcept { std::memset(bytes_, 0, sizeof bytes_); }
  template <class T>
  void set(Kind kind, const T& payload) noexcept {
    static_assert(sizeof payload == 8 || sizeof payload == 16);
    std::memset(bytes_, 0, sizeof bytes_);
    bytes_[0] = static_cast<unsigned char>(kind);
    std::memcpy(bytes_ + 8, &payload, sizeof payload);
  }
  template <class T>
  T payload() const noexcept {
    T value;
    std::memcpy(&value, bytes_ + 8, sizeof value);
    return value;
  }
  std::string_view text() const noexcept {  // The characters of a name or a string, or the bytes of a byte string.
    if (bytes_[1] <= short_max) return {reinterpret_cast<const char*>(bytes_ + 2), bytes_[1]};
    std::uint32_t size = 0;
    std::memcpy(&size, bytes_ + 4, sizeof size);
    return {payload<const char*>(), size};
  }
  Block* block() const noexcept { return payload<Block*>(); }
  static bool are_equal(const Value& a, const Value& b);
  static const Value* resolve(const Block* fields, const Value* whole, std::string_view path);

  static Result<const Value*> expect(const Block* fields, const Value* whole, std::string_view path);
  // Converts the value that expect() has found; `path` is for the message.
  Result<bool> get_boolean(std::string_view path) const;
  Result<std::int64_t> get_int64(std::string_view path, Kind kind, std::int64_t least, std::int64_t most) const;
  Result<std::uint64_t> get_uint64(std::string_view path, Kind kind, std::uint64_t most) const;
  Result<double> get_number(std::string_view path, Kind kind) const;
  Result<std::string_view> get_string(std::string_view path) const;
  Result<std::span<const std::byte>> get_bytes(std::string_view path) const;
  Result<Timestamp> get_time(std::string_view path) const;
  Result<keel::Uuid> get_uuid(std::string_view path) const;
  template <class T>
  Result<T> get_as(std::string_view path) const;

  static constexpr std::size_t short_max = 22;
  static constexpr unsigned char is_long = 0xFF;

  // Byte 0 contains the kind. For a short text, byte 1 contains the size, and the text begins at byte 2. For a long
  // text, byte 1 contains is_long, and the size begins at byte 4. Any other content begins at byte 8.
  alignas(8) unsigned char bytes_[24];
};

struct Record::Field {
  std::string_view name;
  const Value& value;
};

class Record::Iterator {
 public:
  Field operator*() const noexcept { return {at_[0].text(), at_[1]}; }
  Iterator& operator++() noexcept {
    at_ += 2;
    return *this;
  }
  friend bool operator==(Iterator, Iterator) = default;

 private:
  friend class Record;
  explicit Iterator(const Value* at) noexcept : at_(at) {}
  const Value* at_;  // Names and values alternate in memory.
};

// A value that is passed to set(); used only as an argument. The Input refers to the argument and does not copy it.
class Record::Input {
 public:
  Input(std::nullptr_t) noexcept {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Input(T value) noexcept {
    static_assert(!std::same_as<T, char>, "a single character cannot be a value of a Record: set a string or a number");
    if constexpr (std::same_as<T, bool>) {
      scalar_.set(Kind::Boolean, std::uint64_t{value});
    } else if constexpr (std::floating_point<T>) {
      scalar_.set(std::same_as<T, float> ? Kind::Float : Kind::Double, static_cast<double>(value));
    } else {
      constexpr int width = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
      constexpr Kind first = std::is_signed_v<T> ? Kind::Int8 : Kind::Uint8;
      scalar_.set(static_cast<Kind>(static_cast<int>(first) + width),
                  static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(value));
    }
  }
  template <class T>
    requires(std::convertible_to<const T&, std::string_view> && !std::convertible_to<const T&, std::nullptr_t>)
  Input(const T& text) noexcept : what_(What::Text), text_(text) {}
  template <class T>
    requires(std::convertible_to<const T&, std::span<const std::byte>>)
  Input(const T& bytes) noexcept : what_(What::Bytes) {
    const std::span<const std::byte> all = bytes;
    text_ = {reinterpret_cast<const char*>(all.data()), all.size()};
  }
  Input(Timestamp time) noexcept { scalar_.set(Kind::Time, time); }
  Input(const keel::Uuid& id) noexcept { scalar_.set(Kind::Uuid, id); }
  Input(const Record& record) noexcept : what_(What::Record), record_(&record) {}
  Input(const Value& value) noexcept : what_(What::Value), value_(&value) {}
  Input(std::initializer_list<Input> elements) noexcept : what_(What::List), list_(elements) {}

 private:
  friend class Record;
  enum class What : std::uint8_t { Scalar, Text, Bytes, Record, Value, List };
  What what_ = What::Scalar;
  Value scalar_;
  std::string_view text_;
  const Record* record_ = nullptr;
  const Value* value_ = nullptr;
  std::initializer_list<Input> list_;
};

template <class T>
Result<T> Record::Value::get_as(std::string_view path) const {
  if constexpr (std::same_as<T, bool>) {
    return get_boolean(path);
  } else if constexpr (std::same_as<T, float>) {
    KEEL_TRY(const double number, get_number(path, Kind::Float));
    return static_cast<float>(number);
  } else if constexpr (std::same_as<T, double>) {
    return get_number(path, Kind::Double);
  } else if constexpr (std::integral<T> && !std::same_as<T, char>) {
    constexpr int width = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    constexpr Kind kind = static_cast<Kind>(static_cast<int>(std::is_signed_v<T> ? Kind::Int8 : Kind::Uint8) + width);
    if constexpr (std::is_signed_v<T>) {
      KEEL_TRY(const std::int64_t number,
               get_int64(path, kind, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
      return static_cast<T>(number);
    } else {
      KEEL_TRY(const std::uint64_t number, get_uint64(path, kind, std::numeric_limits<T>::max()));
      return static_cast<T>(number);
    }
  } else if constexpr (std::same_as<T, Timestamp>) {
    return get_time(path);
  } else if constexpr (std::same_as<T, keel::Uuid>) {
    return get_uuid(path);
  } else if constexpr (std::same_as<T, std::span<const std::byte>>) {
    return get_bytes(path);
  } else {
    static_assert(std::same_as<T, std::string_view> || std::same_as<T, std::string>,
                  "get() of a Record can return a bool, a number, a string, std::span<const std::byte>, a Timestamp or "
                  "a Uuid; for a struct call from_record<T>() (record_fields.h)");
    KEEL_TRY(const std::string_view text, get_string(path));
    return T(text);
  }
}
template <class T>
Result<T> Record::Value::get(std::string_view path) const {
  KEEL_TRY(const Value* const value, expect(nullptr, this, path));
  return value->get_as<T>(path);
}
template <class T>
Result<T> Record::get(std::string_view path) const {
  KEEL_TRY(const Value* const value, Value::expect(fields_, nullptr, path));
  return value->get_as<T>(path);
}

}  // namespace keel
