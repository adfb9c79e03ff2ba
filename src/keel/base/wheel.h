// keel/base/wheel.h — timers of one thread: a hierarchical timing wheel.
//
// A Timer is intrusive: it lives in its owner, is started and stopped in O(1), and fires at or after its Instant, never
// before (resolution about 1 ms: one tick is 2^20 ns). Timers of one tick fire in the order they were started.
//
// Lifetime: a Timer is stopped before it is destroyed.
// Threads:  one.
// Cost:     no allocation; a few nanoseconds to start or stop.

#pragma once

#include <cstdint>

#include "keel/base/list.h"
#include "keel/base/time.h"

namespace keel {

struct Timer : Link {
  using Fire = void (*)(Timer&) noexcept;

  Timer() = default;
  explicit Timer(Fire f) : fire(f) {}
  bool is_running() const noexcept { return linked(); }

  Fire fire = nullptr;  // Called by advance() after it has stopped the timer; the function may start the timer again.
  Instant at;           // The time at which the timer fires; set by TimerWheel::start.
  std::uint8_t level = 0;
  std::uint8_t slot = 0;
};

// Timers, ordered by the time at which they are due; a timer is started or stopped in O(1).
class TimerWheel {
 public:
  explicit TimerWheel(Instant now) : tick_(now > Instant() ? floor_tick(now) : 0) {}
  ~TimerWheel();

  // Starts `timer`, or restarts it if it is running. An instant in the past fires at the next advance().
  void start(Timer& timer, Instant at) noexcept;
  // Stops `timer`; does nothing if it is not running.
  void stop(Timer& timer) noexcept;
  // Fires the timers that are due at `now`; returns their number. If a callback starts a timer that is already due,
  // that timer fires at the next call.
  int advance(Instant now) noexcept;
  // No timer fires before the returned time, which is Instant::never() when no timer is running. The returned time is
  // exact if the next timer is due within 64 ticks; otherwise it may be earlier than the time of that timer.
  Instant next() const noexcept;
  int running() const noexcept { return running_; }

 private:
  static constexpr int level_bits = 6;
  static constexpr int slots = 1 << level_bits;
  static constexpr int levels = 8;
  static constexpr int tick_shift = 20;
  static_assert(level_bits * levels >= 63 - tick_shift, "every tick must have a level");
  static constexpr std::uint8_t due_level = 0xff;
  static std::int64_t floor_tick(Instant at) { return at.ns() >> tick_shift; }
  static std::int64_t ceil_tick(Instant at);
  void place(Timer& timer) noexcept;
  bool earliest(int& level, int& slot, std::int64_t& tick) const noexcept;

  std::int64_t tick_;
  std::uint64_t occupied_[levels] = {};
  List<Timer> slot_[levels][slots];
  List<Timer> due_;
  int running_ = 0;
};

}  // namespace keel
