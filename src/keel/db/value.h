// keel/db/value.h — one SQL value, and the arguments of a statement.
//
// Value is a view: text and blobs refer to the caller's bytes. Arguments copies several Values and their bytes into one
// pool block; a statement owns the Arguments while it waits for its turn.
//
// A bool becomes 0 or 1; integers are signed 64-bit (an unsigned 64-bit type does not compile); an empty std::optional,
// a Patch without a value and nullptr become NULL. An argument of a type that is written as text (base/text_value.h),
// such as Uuid, becomes that text; a Timestamp becomes its ordered_text(), which sorts in the order of time
// (data/timestamp.h). An enum becomes the name of its value (data/enum_names.h); a value that has no name is a Bug
// (base/bug.h). A std::vector<std::byte> becomes a blob.
//
// Threads: the types are values; an Arguments may be moved to another thread.
// Cost:    an Arguments takes one pool block, and no heap.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/base/text_value.h"
#include "keel/data/enum_names.h"
#include "keel/data/patch.h"

namespace keel::db {

// The kinds of values in parameters and rows.
enum class ValueKind : std::uint8_t { Null, Integer, Real, Text, Blob };

struct Value {
  constexpr Value() noexcept : integer(0) {}
  constexpr Value(std::nullptr_t) noexcept : integer(0) {}
  template <std::integral T>
    requires(sizeof(T) < 8 || std::signed_integral<T>)
  constexpr Value(T value) noexcept : kind(ValueKind::Integer), integer(static_cast<std::int64_t>(value)) {}
  constexpr Value(double value) noexcept : kind(ValueKind::Real), real(value) {}
  template <class T>
    requires(std::is_convertible_v<const T&, std::string_view> && !std::is_same_v<T, std::nullptr_t>)
  constexpr Value(const T& text) noexcept : kind(ValueKind::Text), bytes(nullptr) {
    const std::string_view view(text);
    bytes = view.data() != nullptr ? view.data() : "";
    size = clamp(view.size());
  }
  Value(std::span<const std::byte> blob) noexcept
      : kind(ValueKind::Blob),
        size(clamp(blob.size())),
        bytes(blob.data() != nullptr ? reinterpret_cast<const char*>(blob.data()) : "") {}
  template <class T>
  constexpr Value(const std::optional<T>& value) noexcept : Value(value ? Value(*value) : Value()) {}

  ValueKind kind = ValueKind::Null;
  // The size in bytes of a text or blob. If a text or blob is larger than the database accepts, the statement fails
  // with ResourceExhausted.
  std::uint32_t size = 0;
  union {
    std::int64_t integer;
    double real;
    const char* bytes;
  };

 private:
  static constexpr std::uint32_t clamp(std::size_t bytes) noexcept {
    return bytes < 0xffffffff ? static_cast<std::uint32_t>(bytes) : 0xffffffff;
  }
};
static_assert(sizeof(Value) == 16);

class Arguments {
 public:
  Arguments() = default;
  // Copies the values and their bytes.
  explicit Arguments(std::span<const Value> values);
  Arguments(Arguments&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)), bytes_(other.bytes_), count_(std::exchange(other.count_, 0)) {}
  Arguments& operator=(Arguments&&) = delete;
  ~Arguments();

  std::span<const Value> values() const noexcept { return {static_cast<const Value*>(block_), count_}; }

 private:
  void* block_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint32_t count_ = 0;
};

namespace internal {
[[noreturn, gnu::cold]] void throw_nameless(std::int64_t value);

template <class T>
const T& as_sql(const T& value) noexcept {
  return value;
}
template <class T>
  requires std::is_enum_v<T>
std::string_view as_sql(const T& value) {
  const std::string_view name = enum_name(value);
  if (name.empty()) throw_nameless(static_cast<std::int64_t>(value));
  return name;
}
template <TextValue T>
auto as_sql(const T& value) {
  if constexpr (requires { value.ordered_text(); }) {
    return value.ordered_text();
  } else {
    return value.text();
  }
}
template <class T>
  requires(TextValue<T> || std::is_enum_v<T>)
auto as_sql(const std::optional<T>& value) {
  using Text = decltype(as_sql(*value));
  return value ? std::optional<Text>(as_sql(*value)) : std::optional<Text>();
}
// Both an absent and a null Patch become NULL: a statement that must distinguish them needs is_absent() as another
// argument.
template <class T>
auto as_sql(const Patch<T>& value) {
  using Text = std::remove_cvref_t<decltype(as_sql(*value))>;
  return value.has_value() ? std::optional<Text>(as_sql(*value)) : std::optional<Text>();
}
}  // namespace internal

// A type that an argument of a statement can have.
template <class T>
concept StatementArgument = std::is_constructible_v<Value, decltype(internal::as_sql(std::declval<const T&>()))>;

// Calls f with the arguments as Values; the Values are valid during the call.
template <class F, class... A>
decltype(auto) with_values(F&& f, const A&... arguments) {
  const auto call = [&f](std::initializer_list<Value> values) -> decltype(auto) {
    return f(std::span<const Value>(values.begin(), values.size()));
  };
  return call({Value(internal::as_sql(arguments))...});
}

}  // namespace keel::db
