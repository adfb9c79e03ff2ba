#include "keel/base/wheel.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace keel {

TimerWheel::~TimerWheel() {
  for (auto& level : slot_) {
    for (auto& list : level) {
      while (list.pop_front() != nullptr) {
      }
    }
  }
  while (due_.pop_front() != nullptr) {
  }
}

std::int64_t TimerWheel::ceil_tick(Instant at) {
  constexpr std::int64_t mask = (std::int64_t{1} << tick_shift) - 1;
  if (at.ns() > std::numeric_limits<std::int64_t>::max() - mask) return at.ns() >> tick_shift;
  return (at.ns() + mask) >> tick_shift;
}

void TimerWheel::start(Timer& timer, Instant at) noexcept {
  stop(timer);
  timer.at = at;
  place(timer);
  ++running_;
}

void TimerWheel::place(Timer& timer) noexcept {
  const std::int64_t tick = ceil_tick(timer.at);
  if (tick <= tick_) {
    timer.level = due_level;
    due_.push_back(timer);
    return;
  }
  const auto differing = static_cast<std::uint64_t>(tick ^ tick_);
  const int level = (63 - std::countl_zero(differing)) / level_bits;
  const int slot = static_cast<int>((tick >> (level_bits * level)) & (slots - 1));
  timer.level = static_cast<std::uint8_t>(level);
  timer.slot = static_cast<std::uint8_t>(slot);
  slot_[level][slot].push_back(timer);
  occupied_[level] |= std::uint64_t{1} << slot;
}

void TimerWheel::stop(Timer& timer) noexcept {
  if (!timer.linked()) return;
  timer.unlink();
  --running_;
  if (timer.level != due_level && slot_[timer.level][timer.slot].empty()) {
    occupied_[timer.level] &= ~(std::uint64_t{1} << timer.slot);
  }
}

// The lowest occupied level holds the earliest timers: a timer is placed by the highest group of bits in which its tick
// differs from the current tick, so that the timer's slot is always ahead of the current slot of its level.
bool TimerWheel::earliest(int& level, int& slot, std::int64_t& tick) const noexcept {
  for (level = 0; level < levels; ++level) {
    if (occupied_[level] == 0) continue;
    slot = std::countr_zero(occupied_[level]);
    const int shift = level_bits * level;
    const std::int64_t above = tick_ >> (shift + level_bits) << (shift + level_bits);
    tick = above | (static_cast<std::int64_t>(slot) << shift);
    return true;
  }
  return false;
}

int TimerWheel::advance(Instant now) noexcept {
  const std::int64_t target = floor_tick(now);
  if (target <= tick_ && due_.empty()) return 0;  // What runs in a slot is due later than tick_.
  List<Timer> firing;
  firing.splice_back(due_);
  int level = 0;
  int slot = 0;
  std::int64_t tick = 0;
  while (earliest(level, slot, tick) && tick <= target) {
    tick_ = tick;
    occupied_[level] &= ~(std::uint64_t{1} << slot);
    if (level == 0) {
      firing.splice_back(slot_[0][slot]);
      continue;
    }
    List<Timer> cascading;
    cascading.splice_back(slot_[level][slot]);
    while (Timer* timer = cascading.pop_front()) place(*timer);
    firing.splice_back(due_);
  }
  tick_ = std::max(tick_, target);
  firing.for_each([](Timer& timer) { timer.level = due_level; });
  int fired = 0;
  while (Timer* timer = firing.pop_front()) {
    --running_;
    ++fired;
    timer->fire(*timer);
  }
  return fired;
}

Instant TimerWheel::next() const noexcept {
  if (!due_.empty()) return Instant::from_ns(tick_ << tick_shift);
  int level = 0;
  int slot = 0;
  std::int64_t tick = 0;
  if (!earliest(level, slot, tick)) return Instant::never();
  return Instant::from_ns(tick << tick_shift);
}

}  // namespace keel
