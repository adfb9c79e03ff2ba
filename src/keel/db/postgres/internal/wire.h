// keel/db/postgres/internal/wire.h — reads and writes the numbers (big-endian) and the texts (followed by a zero byte)
// of PostgreSQL's protocol.

#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "keel/base/buffer.h"
#include "keel/base/error.h"

namespace keel::db::postgres::wire {

static_assert(std::endian::native == std::endian::little);

template <std::integral T>
T swapped(T value) noexcept {
  if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(value)));
  if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(value)));
  if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_bswap64(static_cast<std::uint64_t>(value)));
  return value;
}

template <std::integral T>
T load(const char* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return swapped(value);
}

template <std::integral T>
char* store(char* to, T value) noexcept {
  value = swapped(value);
  std::memcpy(to, &value, sizeof value);
  return to + sizeof value;
}

template <std::integral T>
void append(Buffer& to, T value) {
  store(to.reserve(sizeof value), value);
  to.commit(sizeof value);
}

// Writes a text, and a zero byte after it.
inline char* store_text(char* to, std::string_view text) noexcept {
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  to[text.size()] = '\0';
  return to + text.size() + 1;
}

inline Error broken(std::string_view text) { return Error::text(Code::Protocol, text).from_environment(); }

// Reads values from the front of a message body. An attempt to read past the end marks the cursor as broken; from then
// on, the cursor returns zeros and empty texts.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) noexcept : rest_(bytes) {}

  template <std::integral T>
  T take() noexcept {
    if (rest_.size() < sizeof(T)) [[unlikely]] {
      fail();
      return 0;
    }
    const T value = load<T>(rest_.data());
    rest_.remove_prefix(sizeof(T));
    return value;
  }
  std::string_view take_bytes(std::size_t size) noexcept {
    if (rest_.size() < size) [[unlikely]] {
      fail();
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  // Takes a text and its zero byte.
  std::string_view take_text() noexcept {
    const void* end = rest_.empty() ? nullptr : std::memchr(rest_.data(), 0, rest_.size());
    if (end == nullptr) [[unlikely]] {
      fail();
      return {};
    }
    const std::string_view text(rest_.data(), static_cast<std::size_t>(static_cast<const char*>(end) - rest_.data()));
    rest_.remove_prefix(text.size() + 1);
    return text;
  }

  std::string_view rest() const noexcept { return rest_; }
  bool is_broken() const noexcept { return is_broken_; }
  // Whether the body was read exactly to its end.
  bool is_whole() const noexcept { return !is_broken_ && rest_.empty(); }

 private:
  void fail() noexcept {
    is_broken_ = true;
    rest_ = {};
  }
  std::string_view rest_;
  bool is_broken_ = false;
};

}  // namespace keel::db::postgres::wire
