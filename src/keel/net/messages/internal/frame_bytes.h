// Functions that write the bytes of a frame's head. The functions are inline, because most fields of a frame are
// constants where the frame is written.

#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "keel/net/messages/frame.h"

namespace keel::messages::internal::frame_bytes {

inline constexpr std::uint8_t has_deadline = 1;
inline constexpr std::uint8_t has_trace = 2;
inline constexpr std::uint8_t has_checksum_flag = 4;
inline constexpr std::uint8_t from_opener_flag = 8;
inline constexpr std::uint8_t flags_known = 15;
inline constexpr std::size_t length_bytes = 4;

template <class N>
N load(const char* from) noexcept {
  N number;
  std::memcpy(&number, from, sizeof number);
  if constexpr (std::endian::native == std::endian::little) {
    if constexpr (sizeof number == 8) number = __builtin_bswap64(number);
    if constexpr (sizeof number == 4) number = __builtin_bswap32(number);
    if constexpr (sizeof number == 2) number = __builtin_bswap16(number);
  }
  return number;
}
template <class N>
void store(char* to, N number) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    if constexpr (sizeof number == 8) number = __builtin_bswap64(number);
    if constexpr (sizeof number == 4) number = __builtin_bswap32(number);
    if constexpr (sizeof number == 2) number = __builtin_bswap16(number);
  }
  std::memcpy(to, &number, sizeof number);
}
// Writes the bytes before the payload, at most overhead_bytes_max - 4, and returns their number.
[[gnu::always_inline]] inline std::uint8_t put_head(char* to, const Frame& frame, bool has_checksum) noexcept {
  std::uint8_t size = Frame::head_bytes;
  std::uint8_t flags = frame.from_opener ? from_opener_flag : 0;
  if (frame.time_left) {
    flags |= has_deadline;
    constexpr std::int64_t ms = 1'000'000;
    const std::int64_t left = std::max<std::int64_t>(frame.time_left->count_ns(), 0);
    const std::int64_t whole = left / ms + (left % ms != 0 ? 1 : 0);
    store(to + size, static_cast<std::uint32_t>(std::min<std::int64_t>(whole, UINT32_MAX)));
    size += 4;
  }
  if (frame.trace) {
    flags |= has_trace;
    store(to + size, frame.trace.high);
    store(to + size + 8, frame.trace.low);
    size += 16;
  }
  if (has_checksum) flags |= has_checksum_flag;
  store(to, static_cast<std::uint32_t>(size - length_bytes + frame.payload.size() + (has_checksum ? 4 : 0)));
  to[4] = static_cast<char>(frame.kind);
  to[5] = static_cast<char>(flags);
  store(to + 6, frame.type);
  store(to + 8, frame.id);
  return size;
}

}  // namespace keel::messages::internal::frame_bytes
