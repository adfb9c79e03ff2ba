// Advances the parts of a Send or a WriteAt as their bytes are sent.

#pragma once

#include "keel/io/op.h"

namespace keel::io {

// Removes `bytes` bytes from the front of the parts; returns true when no bytes are left.
inline bool advance_parts(iovec*& parts, std::uint32_t& count, std::size_t bytes) noexcept {
  while (count != 0 && bytes >= parts->iov_len) {
    bytes -= parts->iov_len;
    ++parts;
    --count;
  }
  if (count == 0) return true;
  parts->iov_base = static_cast<char*>(parts->iov_base) + bytes;
  parts->iov_len -= bytes;
  return false;
}

// Advances the parts of `op`, and updates its count of sent bytes.
inline bool advance(Send& op, std::size_t bytes) noexcept {
  op.sent += bytes;
  return advance_parts(op.parts, op.part_count, bytes);
}
inline bool advance(WriteAt& op, std::size_t bytes) noexcept {
  op.written += bytes;
  op.offset += bytes;
  return advance_parts(op.parts, op.part_count, bytes);
}
inline std::size_t bytes_left(const iovec* parts, std::uint32_t count) noexcept {
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < count; ++i) bytes += parts[i].iov_len;
  return bytes;
}
// The number of leading parts that together have at most `bytes` bytes; at least 1.
inline std::uint32_t parts_within(const Send& op, std::size_t bytes) noexcept {
  std::uint32_t count = 1;
  for (std::size_t used = op.parts->iov_len; count != op.part_count; ++count) {
    used += op.parts[count].iov_len;
    if (used > bytes) break;
  }
  return count;
}
inline std::int32_t total_of(const WriteAt& op) noexcept {
  return op.written > INT32_MAX ? INT32_MAX : static_cast<std::int32_t>(op.written);
}

}  // namespace keel::io
