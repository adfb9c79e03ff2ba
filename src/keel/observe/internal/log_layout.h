// keel/observe/internal/log_layout.h — the layout of a log record in a ring. Written by log.h, read by log_record.cc.
//
// A record is a RecordHeader, a TraceId when `has_trace` is set, then the fields. A field is a word for the key (the
// literal's address and length, and the kind) and a word for the value; the bytes of strings and errors follow these
// two words. The size of every part is a multiple of 8 bytes. The stored addresses point to literals and components,
// which live as long as the process.

#pragma once

#include <cstdint>
#include <source_location>

namespace keel::log {

class Component;

namespace internal {

enum class Kind : std::uint8_t { Bool, Int, Uint, Double, Duration, String, Error };

inline constexpr std::uint8_t has_trace = 0x80;
// A header whose `level` has this value marks padding, after which the reader continues at the beginning of the ring.
inline constexpr std::uint8_t padding = 0x7f;

struct RecordHeader {
  std::uint32_t bytes;  // The size of the whole record.
  std::uint16_t message_bytes;
  std::uint8_t level;
  std::uint8_t fields;
  std::int64_t wall_ns;
  const Component* component;
  const char* message;
  std::source_location where;
};

constexpr std::uint32_t rounded(std::uint32_t bytes) { return (bytes + 7) & ~std::uint32_t{7}; }

}  // namespace internal
}  // namespace keel::log
