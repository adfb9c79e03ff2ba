// keel/net/crc32c.h — CRC32C, the checksum of iSCSI, ext4, gRPC's snappy frames and PROXY headers.
//
//   const std::uint32_t sum = crc32c(frame);
//   crc32c(second, crc32c(first)) == crc32c(first + second)         // of what lies in pieces
//
// It finds bytes that were damaged by accident; it does not protect against somebody who changes them.
//
// Threads: a function.
// Cost:    with SSE 4.2, which is detected at run time, 8 bytes in one to three cycles; otherwise a table, one byte in
//          about three cycles.
// Source:  RFC 3720 appendix B.4 (Castagnoli's polynomial, reflected).

#pragma once

#include <cstdint>
#include <string_view>

namespace keel {

// `before`: the checksum of the bytes before these.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0) noexcept;

namespace internal {
// The implementation with the table, for tests.
std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t before) noexcept;
}  // namespace internal

}  // namespace keel
