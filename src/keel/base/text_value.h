// keel/base/text_value.h — types whose values are written as text and read from text: Uuid, Timestamp, and your own.
//
//   class Sku {
//    public:
//     static constexpr const char* expected = "expected a SKU such as AB-1234";
//     static Result<Sku> parse(std::string_view text);
//     ShortText<7> text() const;                          // or std::string
//   };
//
// A type with these members is supported by Request::path_param and query_param (an invalid text is answered with 400),
// by json::Reader::value (an invalid text is a Value problem), by Row::get, and as an argument of a statement. Examples
// are data/uuid.h and data/timestamp.h. For an invalid text, the message is the name of the parameter, member or
// column, followed by `expected`.
//
// Threads: values.
// Cost:    a ShortText is an array; no heap.

#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>

#include "keel/base/result.h"

namespace keel {

template <class T>
concept TextValue = std::default_initializable<T> && requires(std::string_view text, const T& value) {
  { T::parse(text) } -> std::same_as<Result<T>>;
  { value.text() } -> std::convertible_to<std::string_view>;
  { T::expected } -> std::convertible_to<const char*>;
};

// A text of at most Capacity bytes, stored inside the object.
template <std::size_t Capacity>
class ShortText {
 public:
  // For code that writes the text: the buffer, and the number of its bytes that the text takes.
  char* data() noexcept { return chars_; }
  void resize(std::size_t size) noexcept { size_ = size; }

  std::size_t size() const noexcept { return size_; }
  std::string_view view() const noexcept { return {chars_, size_}; }
  operator std::string_view() const noexcept { return view(); }
  friend bool operator==(const ShortText& text, std::string_view other) noexcept { return text.view() == other; }

 private:
  char chars_[Capacity];
  std::size_t size_ = 0;
};

}  // namespace keel
