// Randomness of clients and of what happens to them: apart from that of network and disk, so that each may change
// alone.

#pragma once

#include <cstddef>
#include <cstdint>

#include "keel/base/time.h"

namespace keel {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() noexcept {  // SplitMix64 by S. Vigna (public domain).
    std::uint64_t x = (state_ += 0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  std::size_t below(std::size_t bound) noexcept { return static_cast<std::size_t>(next() % bound); }
  bool one_in(std::size_t n) noexcept { return below(n) == 0; }
  Duration up_to(Duration most) noexcept {
    return Duration::nanoseconds(static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(most.count_ns() + 1)));
  }

 private:
  std::uint64_t state_;
};

}  // namespace keel
