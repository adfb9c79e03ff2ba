// keel/data/json_value.h — a JSON document without a struct.
//
//   KEEL_TRY(json::Value event, json::parse<json::Value>(text));           // json_parse.h
//   KEEL_TRY(auto id, event.get<std::int64_t>("/order/lines/0/id"));       // "/order/lines/0/id is missing"
//   if (const json::Value* tags = event.find("tags")) {
//     for (const json::Value& tag : tags->elements()) use(tag.string());   // std::optional<std::string_view>
//   }
//   event["seen"] = true;
//   json::Value reply = json::Value::object({{"id", id}, {"tags", json::Value::array({"a", "b"})}});
//   std::string text = json::write(reply);                                 // json_write.h
//
// A field of a struct may be a Value: it is read and written like any other field, whatever the Value contains.
//
// Numbers:  a number without a fraction and an exponent is exact from -2^63 to 2^64 - 1; any other number becomes the
//           nearest double. Numbers are compared by their values: Value(1) == Value(1.0).
// Objects:  members keep their order, but comparisons for equality ignore the order. A text in which a member is
//           repeated is malformed.
// Errors:   reading is as strict as json::Reader (json_reader.h), and limited by the options depth_max and bytes_max of
//           that reader. get() returns InvalidArgument with the pointer of the value if the value is missing or has
//           another type; the other functions return null or std::nullopt. Each of the following is a Bug (base/bug.h):
//           changing a value that is neither null nor of the kind that the function requires; a string of 2^32 bytes; a
//           list or an object of 2^31 elements; copying, comparing or writing a value that is nested more than 128
//           levels deep. Values of any depth can be destroyed.
// Lifetime: a std::string_view, span or pointer is valid until the Value is changed, moved or destroyed.
// Threads:  a value.
// Cost:     16 bytes for a value, which may be a string of at most 14 bytes; a longer string, a list and an object take
//           one allocation each. A member is found by a linear search in an object with up to 16 members, and by a
//           binary search in a larger object; to add a member to an object with n members, up to 4 n bytes are moved.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "keel/base/integer_range.h"
#include "keel/base/result.h"
#include "keel/data/json_reader.h"
#include "keel/data/json_writer.h"

namespace keel::json {

class Value {
 public:
  struct Entry;
  struct Member;
  class Members;

  Value() noexcept : Value(nullptr) {}
  Value(std::nullptr_t) noexcept { set(Type::Null, std::uint64_t{0}); }
  template <class T>
    requires std::is_arithmetic_v<T>
  Value(T value) noexcept {
    if constexpr (std::same_as<T, bool>) {
      set(Type::Boolean, std::uint64_t{value});
    } else if constexpr (std::floating_point<T>) {
      set(Type::Real, static_cast<double>(value));
    } else {
      static_assert(std::integral<T> && !std::same_as<T, char>,
                    "a single character cannot be a JSON value: write a string");
      if constexpr (std::is_signed_v<T>) {
        set(Type::Signed, std::int64_t{value});
      } else if (value <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
        set(Type::Signed, static_cast<std::int64_t>(value));
      } else {
        set(Type::Unsigned, std::uint64_t{value});
      }
    }
  }
  template <class T>
    requires(std::convertible_to<const T&, std::string_view> && !std::convertible_to<const T&, std::nullptr_t>)
  Value(const T& text) : Value() {
    set_string(text);
  }
  static Value array(std::initializer_list<Value> elements = {});
  static Value object(std::initializer_list<Entry> members = {});

  Value(const Value& other);
  Value(Value&& other) noexcept {
    std::memcpy(bytes_, other.bytes_, sizeof bytes_);
    other.set(Type::Null, std::uint64_t{0});
  }
  Value& operator=(const Value& other) { return *this = Value(other); }
  Value& operator=(Value&& other) noexcept;
  ~Value() {
    if (type() >= Type::Long) release();
  }

  Kind kind() const noexcept;
  bool is_null() const noexcept { return type() == Type::Null; }

  // Each function returns the value if the value has the function's type, otherwise nullopt; for an integer, the number
  // must be whole and must fit.
  std::optional<bool> boolean() const noexcept;
  std::optional<std::int64_t> int64() const noexcept;
  std::optional<std::uint64_t> uint64() const noexcept;
  // Returns the double that is nearest to the number, whatever the number's type.
  std::optional<double> number() const noexcept;
  std::optional<std::string_view> string() const noexcept;

  // The number of elements of a list or of members of an object; 0 for any other value.
  std::size_t size() const noexcept;
  bool empty() const noexcept { return size() == 0; }
  // The elements of a list; empty if this value is not a list.
  std::span<const Value> elements() const noexcept;
  std::span<Value> elements() noexcept;
  // The members of an object, as {key, value}; empty if this value is not an object: for (const auto& [key, value] :
  // document.members()).
  Members members() const noexcept;

  // Null if this value is not an object, or has no member with this key.
  const Value* find(std::string_view key) const noexcept;
  Value* find(std::string_view key) noexcept;
  // Returns the value at a JSON Pointer (RFC 6901): "" is this value itself; "/lines/0/sku" is the member `sku`
  // of the first element of the member `lines`. Null if this value contains no value at `pointer`.
  const Value* at(std::string_view pointer) const;

  // Finds the value and converts it to T: bool, an integer, double, std::string_view, std::string. InvalidArgument says
  // what is wrong, for example: "/lines/0/sku is missing", "/lines/0/sku: expected a string", "/size: expected an
  // integer from 0 to 255".
  template <class T>
  Result<T> get(std::string_view pointer = {}) const {
    if constexpr (std::same_as<T, bool>) {
      return get_boolean(pointer);
    } else if constexpr (std::same_as<T, double>) {
      return get_number(pointer);
    } else if constexpr (std::integral<T> && std::is_signed_v<T> && !std::same_as<T, char>) {
      KEEL_TRY(const std::int64_t number, get_int64(pointer, integer_range<T>));
      return static_cast<T>(number);
    } else if constexpr (std::integral<T> && !std::same_as<T, char>) {
      KEEL_TRY(const std::uint64_t number, get_uint64(pointer, integer_range<T>));
      return static_cast<T>(number);
    } else {
      static_assert(std::constructible_from<T, std::string_view>,
                    "get() of a json::Value can return a bool, an integer, a double or a string; for a struct call "
                    "json::parse<T>(json::write(value))");
      KEEL_TRY(const std::string_view text, get_string(pointer));
      return T(text);
    }
  }

  // Returns the member of an object; if it does not exist, appends a member whose value is null. If this value is null,
  // it becomes an object first.
  Value& operator[](std::string_view key);
  // Appends an element to a list, and returns the new element. If this value is null, it becomes a list first.
  Value& push_back(Value element);
  // Returns false if the object had no member with this key.
  bool erase(std::string_view key);

  friend bool operator==(const Value& a, const Value& b) { return are_equal(a, b, 0); }
  friend void read_json(Reader& in, Value& value) { value.read(in); }
  friend void write_json(Writer& out, const Value& value) { value.write(out, 0); }

 private:
  enum class Type : std::uint8_t { Null, Boolean, Signed, Unsigned, Real, Short, Long, Array, Object };
  struct Block;
  struct Builder;

  Type type() const noexcept { return static_cast<Type>(bytes_[0]); }
  template <class T>
  T payload() const noexcept {
    T value;
    std::memcpy(&value, bytes_ + 8, sizeof value);
    return value;
  }
  template <class T>
  void set(Type type, T payload) noexcept {
    static_assert(sizeof payload == 8);
    std::memset(bytes_, 0, 8);
    bytes_[0] = static_cast<unsigned char>(type);
    std::memcpy(bytes_ + 8, &payload, 8);
  }
  Block* block() const noexcept { return payload<Block*>(); }
  void set_string(std::string_view text);
  std::string_view text() const noexcept;  // The characters of a string.
  void release() noexcept;
  void grow(Type type);
  void read(Reader& in);
  void write(Writer& out, int depth) const;
  Value copy(int depth) const;
  static bool are_equal(const Value& a, const Value& b, int depth);
  Result<const Value*> expect(std::string_view pointer) const;
  Result<bool> get_boolean(std::string_view pointer) const;
  Result<double> get_number(std::string_view pointer) const;
  Result<std::int64_t> get_int64(std::string_view pointer, const IntegerRange& range) const;
  Result<std::uint64_t> get_uint64(std::string_view pointer, const IntegerRange& range) const;
  Result<std::string_view> get_string(std::string_view pointer) const;

  // Byte 0 contains the type. A short string has its size in byte 1, and its text begins at byte 2; a long string has
  // its size in the bytes from 4 on. A number or a pointer begins at byte 8. Bytes that are not used are 0.
  alignas(8) unsigned char bytes_[16];
};

struct Value::Entry {
  std::string_view key;
  Value value;
};

struct Value::Member {
  std::string_view key;
  const Value& value;
};

class Value::Members {
 public:
  class Iterator {
   public:
    Member operator*() const noexcept { return {at_[0].text(), at_[1]}; }
    const Value& name() const noexcept { return at_[0]; }  // The key, as a Value.
    Iterator& operator++() noexcept {
      at_ += 2;
      return *this;
    }
    friend bool operator==(Iterator, Iterator) = default;

   private:
    friend class Members;
    explicit Iterator(const Value* at) noexcept : at_(at) {}
    const Value* at_;
  };

  Iterator begin() const noexcept { return Iterator(first_); }
  Iterator end() const noexcept { return Iterator(first_ + 2 * size_); }
  std::size_t size() const noexcept { return size_; }

 private:
  friend class Value;
  Members(const Value* first, std::size_t size) noexcept : first_(first), size_(size) {}
  const Value* first_;  // Keys and values alternate in memory.
  std::size_t size_;
};

}  // namespace keel::json
