// What wheel_bench.cc measures, with the timers of Boost.Asio and of libuv, for those who have them. Asio tells a
// handler of each timer that is stopped; that is a part of stopping it, done here for a hundred at a time.

#include <benchmark/benchmark.h>

#include "keel/base/internal/wheel_bench.h"

#ifdef KEEL_BENCH_ASIO
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#endif
#ifdef KEEL_BENCH_UV
#include <uv.h>

#include <vector>
#endif

namespace keel {
namespace {

using internal::Dues;

#ifdef KEEL_BENCH_ASIO
void asio(benchmark::State& state) {
  namespace asio = boost::asio;
  constexpr int batch = 100;
  asio::io_context context(1);
  Dues dues;
  const auto now = std::chrono::steady_clock::now() + std::chrono::hours(1);
  const auto due = [&dues, now] { return now + std::chrono::milliseconds(dues.next_ms()); };
  std::int64_t told = 0;
  std::int64_t stopped = 0;
  std::deque<asio::steady_timer> pending;
  for (int i = 0; i < state.range(0); ++i) {
    pending.emplace_back(context, due());
    pending.back().async_wait([](boost::system::error_code) {});
  }
  asio::steady_timer timer(context);
  while (state.KeepRunningBatch(batch)) {
    for (int i = 0; i < batch; ++i) {
      timer.expires_at(due());
      timer.async_wait([&told](boost::system::error_code) { ++told; });
      timer.cancel();
    }
    stopped += batch;
    context.poll();
  }
  if (told != stopped) state.SkipWithError("a handler was not told that its timer was stopped");
}
BENCHMARK(asio)->Apply(internal::numbers_pending);
#endif

#ifdef KEEL_BENCH_UV
void uv(benchmark::State& state) {
  uv_loop_t loop;
  if (uv_loop_init(&loop) != 0) return state.SkipWithError("there is no loop");
  Dues dues;
  const auto ignore = [](uv_timer_t*) {};
  const auto due = [&dues] { return static_cast<std::uint64_t>(3'600'000 + dues.next_ms()); };
  std::vector<uv_timer_t> pending(static_cast<std::size_t>(state.range(0)));
  for (uv_timer_t& timer : pending) {
    uv_timer_init(&loop, &timer);
    uv_timer_start(&timer, ignore, due(), 0);
  }
  uv_timer_t timer;
  uv_timer_init(&loop, &timer);
  for (auto _ : state) {
    uv_timer_start(&timer, ignore, due(), 0);
    benchmark::ClobberMemory();
    uv_timer_stop(&timer);
  }
  int active = 0;
  for (uv_timer_t& each : pending) active += uv_is_active(reinterpret_cast<uv_handle_t*>(&each)) != 0;
  if (active != state.range(0) || uv_is_active(reinterpret_cast<uv_handle_t*>(&timer)) != 0) {
    state.SkipWithError("another number of timers is pending than was started");
  }
  for (uv_timer_t& each : pending) uv_close(reinterpret_cast<uv_handle_t*>(&each), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&timer), nullptr);
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_loop_close(&loop);
}
BENCHMARK(uv)->Apply(internal::numbers_pending);
#endif

}  // namespace
}  // namespace keel
