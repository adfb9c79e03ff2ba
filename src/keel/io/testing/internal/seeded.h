// Seeded randomness and the hash of a trace: shared by the simulated network and the simulated disk.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "keel/base/time.h"

namespace keel::sim {

inline std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

inline std::uint64_t hash_bytes(std::uint64_t hash, std::string_view bytes) noexcept {
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
    bytes.remove_prefix(8);
  }
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return mix(hash);
}

// SplitMix64 by S. Vigna (public domain).
struct Random {
  std::uint64_t state;
  std::uint64_t next() noexcept { return mix(state += 0x9e3779b97f4a7c15); }
  // Returns a number from 0 to `bound` - 1.
  std::uint64_t below(std::uint64_t bound) noexcept { return bound == 0 ? 0 : next() % bound; }
  bool chance(double probability) noexcept {
    return probability > 0 && static_cast<double>(next() >> 11) * 0x1p-53 < probability;
  }
  Duration between(Duration low, Duration high) noexcept {
    const std::int64_t span = std::max<std::int64_t>(0, (high - low).count_ns());
    return low + Duration::nanoseconds(static_cast<std::int64_t>(below(static_cast<std::uint64_t>(span) + 1)));
  }
};

}  // namespace keel::sim
