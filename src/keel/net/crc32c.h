// keel/net/crc32c.h — CRC32C, the checksum of iSCSI, ext4, gRPC's snappy frames and PROXY headers.
//
//   const std::uint32_t sum = crc32c(frame);
//   crc32c(second, crc32c(first)) == crc32c(first + second)         // for bytes in several pieces
//
// The checksum detects accidental damage; it does not protect against deliberate changes.
//
// Threads: a function.
// Cost:    with SSE 4.2, which is detected at run time, one to three cycles for 8 bytes; otherwise, with a table, about
//          three cycles for each byte.
// Source:  RFC 3720 appendix B.4 (Castagnoli's polynomial, reflected).

#pragma once

#include <cstdint>
#include <string_view>

namespace keel {

// `before`: the checksum of the bytes that precede `bytes`.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0) noexcept;

namespace internal {
// The implementation with the table; tests call it directly.
std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t before) noexcept;
}  // namespace internal

}  // namespace keel
