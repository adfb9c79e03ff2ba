#include "keel/app/watchdog.h"

#include <algorithm>
#include <atomic>

namespace keel::app {

struct Watchdog::Turn : Job {
  explicit Turn(io::Loop& on)
      : Job([](Job& job) noexcept { static_cast<Turn&>(job).has_run.store(true, std::memory_order_release); }),
        loop(on) {}
  io::Loop& loop;
  std::atomic<bool> has_run = true;
};

Watchdog::Watchdog(Notify& notify, io::Runtime& runtime) : notify_(notify), next_(Host::current().now()) {
  for (int i = 0; i < runtime.workers(); ++i) turns_.push_back(std::make_unique<Turn>(runtime.loop(i)));
}

Watchdog::~Watchdog() = default;

Duration Watchdog::interval() const noexcept {
  return notify_.watchdog() > Duration() ? notify_.watchdog() / 3 : Duration::forever();
}

Result<> Watchdog::tick() {
  const Instant now = Host::current().now();
  if (notify_.watchdog() <= Duration() || now < next_) return {};
  const auto has_run = [](const auto& turn) { return turn->has_run.load(std::memory_order_acquire); };
  if (!std::ranges::all_of(turns_, has_run)) return {};
  next_ = now + interval();
  for (const auto& turn : turns_) {
    turn->has_run.store(false, std::memory_order_relaxed);
    turn->loop.post(*turn);
  }
  return notify_.beat();
}

}  // namespace keel::app
