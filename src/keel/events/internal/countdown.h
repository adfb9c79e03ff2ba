// Counts running activities, and lets one thread wait until all of them have ended.

#pragma once

#include <atomic>
#include <cstdint>

#include "keel/base/atomics.h"

namespace keel::events::internal {

// A test passes another `Atomics`, with which it runs the operations in every order.
template <class Atomics = StandardAtomics>
class BasicCountdown {
 public:
  // A thread may also count its own code as an activity, so that the wait does not end before that code has returned.
  void begin() noexcept { left_.fetch_add(1, std::memory_order_relaxed); }
  // Returns true if this was the last activity; the caller must then notify the waiting thread, which sees everything
  // done before each end().
  bool end() noexcept { return left_.fetch_sub(1, std::memory_order_acq_rel) == (awaited_bit | 1); }

  // Returns false if nothing is running, so that no notification will arrive.
  bool wait() noexcept { return left_.fetch_or(awaited_bit, std::memory_order_acq_rel) != 0; }
  // Returns false if the last activity has ended already; its thread then notifies the waiting thread.
  bool stop_waiting() noexcept { return left_.fetch_and(~awaited_bit, std::memory_order_acq_rel) != awaited_bit; }

  bool is_zero() const noexcept { return (left_.load(std::memory_order_acquire) & ~awaited_bit) == 0; }

 private:
  static constexpr std::uint32_t awaited_bit = 1u << 31;
  typename Atomics::template Atomic<std::uint32_t> left_{0};
};

using Countdown = BasicCountdown<>;

}  // namespace keel::events::internal
