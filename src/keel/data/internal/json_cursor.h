// Keeps a Reader's position in registers, and reads objects and lists if the text has the common form, which is nearly
// always the case. The Cursor leaves any other text to the Reader, from the first byte of that text on, so that only
// the Reader reports errors: call give_back(), let the Reader work, then call go_on().

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "keel/data/internal/json_fields.h"
#include "keel/data/internal/json_scan.h"
#include "keel/data/json_reader.h"

namespace keel::json::internal {

class Cursor {
 public:
  explicit Cursor(Reader& in) noexcept : in_(in), at_(in.at_), end_(in.end_) {}

  // Enters a container; returns false if the Reader must enter the container.
  [[gnu::always_inline]] bool begin(char bracket) {
    const char* const at = behind_space(at_, end_);
    if (in_.state_ != Reader::State::Value || at == end_ || *at != bracket || in_.depth_ == in_.depth_max_) {
      return false;
    }
    in_.value_ = at;
    level_ = &in_.level_[in_.depth_++];
    *level_ = bracket == '[' ? 1 : 0;
    at_ = at + 1;
    return true;
  }

  // Reads the next key. `i` is the expected field, and is set to the field whose key was read; the value of the field
  // must be read next. Returns false at the end of the object, which the Cursor then leaves; also returns false when
  // the Reader must take over.
  [[gnu::always_inline]] bool member(const ReadTable& table, std::size_t& i) {
    const char* at = at_;
    if (!separate(at, '}')) return false;
    if (!begins_with(at, end_, table.keys[i])) {
      const char* const key = behind_space(at, end_);
      if (key == at || !begins_with(key, end_, table.keys[i])) i = find(table, key);
      if (i == table.count) return false;
      at = key;
    }
    is_first_ = false;
    key_ = at;
    at_ = at + table.keys[i].size();
    return true;
  }

  // Returns true if an element follows; false at the end of the list, which the Cursor then leaves; also false when the
  // Reader must take over.
  [[gnu::always_inline]] bool element() {
    const char* at = at_;
    if (!separate(at, ']')) return false;
    is_first_ = false;
    *level_ += 2;
    at_ = at;
    return true;
  }

  // Reads the next value; returns false if the Reader must read it.
  [[gnu::always_inline]] bool value(Form form, void* to) {
    in_.value_ = at_;
    if (take(form, to)) return true;
    if (at_ == end_ || static_cast<std::uint8_t>(*at_) > 0x20) return false;
    in_.value_ = at_ = behind_space(at_, end_);
    const char* const behind = take_apart(*this, form, to);
    if (behind == nullptr) return false;
    at_ = behind;
    return true;
  }

  bool has_left() const noexcept { return has_left_; }
  // Gives the position before a key or an element back to the Reader, whose next_key() or next_element() then reads the
  // key or element.
  void give_back() noexcept { give_back(is_first_ ? Reader::State::First : Reader::State::Next); }
  // Gives the position before a value back to the Reader.
  void give_back_value() noexcept { give_back(Reader::State::Value); }
  // Continues after a value that the Reader has read.
  void go_on() {
    if (in_.state_ == Reader::State::Value) [[unlikely]]
      in_.value_is_left();
    at_ = in_.at_;
  }
  // Continues after a key that the Reader has read, or where an element begins.
  void go_on_at_value() noexcept {
    at_ = in_.at_;
    key_ = nullptr;  // Null, because the Reader has read the key, and has recorded its place.
    is_first_ = false;
  }
  // Enters a container whose beginning the Reader has read.
  void enter() noexcept {
    at_ = in_.at_;
    level_ = &in_.level_[in_.depth_ - 1];
  }

 private:
  void give_back(Reader::State state) noexcept {
    in_.at_ = at_;
    in_.state_ = state;
    if (key_ != nullptr) *level_ = static_cast<std::uint64_t>(key_ + 1 - in_.begin_) << 1;
  }
  // Reads the value, which must begin at the current byte.
  [[gnu::always_inline]] bool take(Form form, void* to) {
    const char* at = at_;
    switch (form) {
      case Form::Other:
        return false;
      case Form::View:
        if (!take_string(at, end_, *static_cast<std::string_view*>(to))) return false;
        break;
      case Form::String: {
        std::string_view text;
        if (!take_string(at, end_, text)) return false;
        put_string(text, end_, *static_cast<std::string*>(to));
        break;
      }
      case Form::Boolean:
        if (!take_boolean(at, end_, *static_cast<bool*>(to))) return false;
        break;
      case Form::Double:
        if (!take_double(at, end_, *static_cast<double*>(to))) return false;
        break;
      case Form::Int32:
      case Form::Uint32:
      case Form::Int64:
      case Form::Uint64: {
        std::int64_t number = 0;
        if (!take_integer(at, end_, number)) return false;
        if (form == Form::Int64) {
          *static_cast<std::int64_t*>(to) = number;
        } else if (form == Form::Int32) {
          if (number != static_cast<std::int32_t>(number)) return false;
          *static_cast<std::int32_t*>(to) = static_cast<std::int32_t>(number);
        } else if (form == Form::Uint64) {
          if (number < 0 || *at_ == '-') return false;
          *static_cast<std::uint64_t*>(to) = static_cast<std::uint64_t>(number);
        } else {
          if (number < 0 || number > std::numeric_limits<std::uint32_t>::max()) return false;
          *static_cast<std::uint32_t*>(to) = static_cast<std::uint32_t>(number);
        }
      }
    }
    at_ = at;
    return true;
  }
  // Works on a copy of the cursor, so that the caller's cursor stays in registers. Returns null if only the Reader can
  // read this value.
  [[gnu::noinline]] static const char* take_apart(Cursor at, Form form, void* to) {
    return at.take(form, to) ? at.at_ : nullptr;
  }

  // If a comma is required before the next value, skips it; returns false at the end of the container, and if neither a
  // comma nor the end follows.
  [[gnu::always_inline]] bool separate(const char*& at, char closing) {
    if (at == end_) return false;
    if (*at == ',' && !is_first_) {
      ++at;
      return true;
    }
    if (*at == closing) {
      leave(at);
      return false;
    }
    if (static_cast<std::uint8_t>(*at) <= 0x20) [[unlikely]] {
      at = behind_space(at, end_);
      if (at == end_) return false;
      if (*at == closing) {
        leave(at);
        return false;
      }
      if (is_first_) return true;
      if (*at++ == ',') return true;
      return false;
    }
    return is_first_;
  }
  [[gnu::always_inline]] void leave(const char* bracket) noexcept {
    --in_.depth_;
    in_.at_ = bracket + 1;
    in_.state_ = Reader::State::Next;
    has_left_ = true;
  }

  // Finds the field with the key at `at`, if the key is not the expected one. Names contain neither escapes nor quotes.
  [[gnu::always_inline]] std::size_t find(const ReadTable& table, const char* at) const noexcept {
    if (end_ - at < 9 || *at != '"') return table.count;
    std::uint64_t front = word_at<std::uint64_t>(at + 1);
    std::uint64_t back = 0;
    if constexpr (std::endian::native != std::endian::little) return table.count;
    constexpr std::uint64_t each_byte = 0x0101010101010101;
    const std::uint64_t other = front ^ each_byte * '"';
    const std::uint64_t quote = (other - each_byte) & ~other & each_byte * 0x80;
    if (quote != 0) {
      front &= (quote ^ (quote - 1)) >> 8;  // Clears all bytes of `front` from the quote on.
    } else {
      const auto size = plain_run(at + 1, static_cast<std::size_t>(end_ - at - 1));
      if (size > 8) back = word_at<std::uint64_t>(at + 1 + size - 8);
    }
    const std::size_t mask = (std::size_t{1} << table.slot_bits) - 1;
    for (std::size_t slot = name_slot(front, back, table.slot_bits); table.slots[slot] != 0; slot = (slot + 1) & mask) {
      const std::size_t i = table.slots[slot] - 1u;
      if (begins_with(at, end_, table.keys[i])) return i;
    }
    return table.count;
  }

  Reader& in_;
  const char* at_;
  const char* const end_;
  // The key of the last member that was read; null if the Reader has read the key.
  const char* key_ = nullptr;
  std::uint64_t* level_ = nullptr;  // The state of this container in the Reader.
  bool is_first_ = true;
  bool has_left_ = false;
};

}  // namespace keel::json::internal
