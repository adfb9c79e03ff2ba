// A timer that is started and stopped again while others are pending: nanoseconds for both, by the number of the
// others. Due times are spread over a minute, those pending and those started alike. wheel_peers_bench.cc does the same
// with the timers of Boost.Asio and libuv. A std::multimap is what many write; a std::priority_queue cannot stop a
// timer.

#include <benchmark/benchmark.h>

#include <deque>
#include <map>

#include "keel/base/internal/wheel_bench.h"
#include "keel/base/wheel.h"

namespace keel {
namespace {

using internal::Dues;

Instant after(std::int64_t ms) { return Instant::from_ns(1'000'000'000'000) + Duration::milliseconds(ms); }

void wheel(benchmark::State& state) {
  TimerWheel wheel(after(0));
  Dues dues;
  std::deque<Timer> pending(static_cast<std::size_t>(state.range(0)));
  for (Timer& timer : pending) wheel.start(timer, after(dues.next_ms()));
  Timer timer;
  for (auto _ : state) {
    wheel.start(timer, after(dues.next_ms()));
    benchmark::ClobberMemory();
    wheel.stop(timer);
  }
  if (wheel.running() != state.range(0)) state.SkipWithError("another number of timers is pending than was started");
  for (Timer& each : pending) wheel.stop(each);
}
BENCHMARK(wheel)->Apply(internal::numbers_pending);

void multimap(benchmark::State& state) {
  std::multimap<Instant, int> pending;
  Dues dues;
  for (int i = 0; i < state.range(0); ++i) pending.emplace(after(dues.next_ms()), i);
  for (auto _ : state) {
    const auto timer = pending.emplace(after(dues.next_ms()), -1);
    benchmark::ClobberMemory();
    pending.erase(timer);
  }
  if (static_cast<std::int64_t>(pending.size()) != state.range(0)) {
    state.SkipWithError("another number of timers is pending than was started");
  }
}
BENCHMARK(multimap)->Apply(internal::numbers_pending);

}  // namespace
}  // namespace keel
