// Keeps a Writer's position in registers, and writes objects and lists whose values have the common forms. For other
// values, call give_back(), let the Writer work, then call go_on().

#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "keel/base/bug.h"
#include "keel/data/internal/json_fields.h"
#include "keel/data/internal/json_text.h"
#include "keel/data/json_writer.h"

namespace keel::json::internal {

class Pen {
 public:
  explicit Pen(Writer& out) noexcept : out_(out) { take(); }

  [[gnu::always_inline]] void begin(char bracket) {
    reserve(2);
    if (out_.place_ == Writer::Place::Next) *to_++ = ',';
    *to_++ = bracket;
    ++out_.depth_;
  }
  [[gnu::always_inline]] void end(char bracket) {
    reserve(1);
    *to_++ = bracket;
    --out_.depth_;
    give_back(Writer::Place::Next);
  }
  [[gnu::always_inline]] void key(std::string_view key) {
    reserve(key.size() + 1 + value_max);
    separate();
    to_ = put(to_, key);
  }
  [[gnu::always_inline]] void element() {
    reserve(1 + value_max);
    separate();
  }

  // Writes the value after a key, or an element; returns false if the Writer must write it.
  [[gnu::always_inline]] bool value(Form form, const void* from) {
    switch (form) {
      case Form::Other:
        return false;
      case Form::View:
        return string(*static_cast<const std::string_view*>(from));
      case Form::String:
        return string(*static_cast<const std::string*>(from));
      case Form::Boolean:
        to_ = put(to_, *static_cast<const bool*>(from) ? std::string_view("true") : std::string_view("false"));
        return true;
      case Form::Int32:
        return integer(*static_cast<const std::int32_t*>(from));
      case Form::Uint32:
        return integer(*static_cast<const std::uint32_t*>(from));
      case Form::Int64:
        return integer(*static_cast<const std::int64_t*>(from));
      case Form::Uint64:
        return integer(*static_cast<const std::uint64_t*>(from));
      case Form::Double:
        break;
    }
    to_ = put_number(to_, *static_cast<const double*>(from));
    return true;
  }

  // Gives the position after the beginning of a container back to the Writer.
  void give_back_first() noexcept {
    give_back(Writer::Place::First);
    is_first_ = false;
  }
  // Gives the position before a member back to the Writer, which then writes the member or leaves it out.
  void give_back_member() noexcept { give_back(is_first_ ? Writer::Place::First : Writer::Place::Next); }
  void go_on_at_member() noexcept {
    is_first_ = out_.place_ == Writer::Place::First;
    take();
  }
  // Gives the position after a key, or before an element, back to the Writer.
  void give_back_value() noexcept { give_back(Writer::Place::Value); }
  void go_on() {
    KEEL_DEXPECT(out_.place_ == Writer::Place::Next, "a JSON value is expected, but none is written");
    take();
  }

 private:
  // The maximum size of a number; numbers are the longest values for which no space is reserved individually.
  static constexpr std::size_t value_max = 32;

  [[gnu::always_inline]] void reserve(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - to_) < bytes) [[unlikely]]
      grow(bytes);
  }
  [[gnu::noinline]] void grow(std::size_t bytes) {
    out_.close(to_);
    to_ = out_.out_.reserve(bytes);
    end_ = out_.out_.data() + out_.out_.capacity();
  }
  [[gnu::always_inline]] void separate() noexcept {
    if (!is_first_) *to_++ = ',';
    is_first_ = false;
  }
  [[gnu::always_inline]] bool string(std::string_view text) {
    reserve(text.size() + 2);
    if (!copy_plain(to_ + 1, text.data(), text.size())) return false;
    *to_ = '"';
    to_ += text.size() + 1;
    *to_++ = '"';
    return true;
  }
  template <class T>
  [[gnu::always_inline]] bool integer(T value) noexcept {
    to_ = std::to_chars(to_, to_ + 20, value).ptr;
    return true;
  }
  void give_back(Writer::Place place) noexcept {
    out_.close(to_);
    out_.place_ = place;
  }
  void take() noexcept {
    Buffer& buffer = out_.out_;
    to_ = buffer.data() + buffer.size();
    end_ = buffer.data() + buffer.capacity();
  }

  Writer& out_;
  char* to_ = nullptr;
  char* end_ = nullptr;
  bool is_first_ = true;
};

}  // namespace keel::json::internal
