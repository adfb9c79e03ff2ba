// What the benchmarks of the timer wheel and of its peers share.

#pragma once

#include <array>
#include <cstdint>
#include <random>

namespace keel::internal {

// When timers are due: the same times for all, spread over a minute, without a random number while it is measured.
class Dues {
 public:
  Dues() {
    std::mt19937 random(1);
    for (std::int64_t& ms : ms_) ms = 1 + random() % 60'000;
  }
  std::int64_t next_ms() noexcept { return ms_[next_++ % ms_.size()]; }

 private:
  std::array<std::int64_t, 4096> ms_;
  std::size_t next_ = 0;
};

// For Apply() of a benchmark.
inline void numbers_pending(auto* benchmark) { benchmark->ArgName("pending")->Arg(1)->Arg(1000)->Arg(100'000); }

}  // namespace keel::internal
