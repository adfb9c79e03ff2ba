// Seeded random numbers: the same seed gives the same load.
//
// Source: SplitMix64 by S. Vigna (public domain).
// Cost:   a few instructions, 8 bytes.

#pragma once

#include <cstdint>

namespace keel::load {

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Returns a number from 0 to `bound` - 1; the bias is below `bound` / 2^64.
  std::uint64_t below(std::uint64_t bound) noexcept {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(next()) * bound >> 64);
  }
  // Returns a number of at least 0 and below 1.
  double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace keel::load
