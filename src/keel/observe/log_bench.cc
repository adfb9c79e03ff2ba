// What one record costs the thread that makes it: nanoseconds per call. The ring is emptied outside the measured time.

#include <benchmark/benchmark.h>

#include "keel/observe/log.h"
#include "keel/observe/log_record.h"

namespace keel::log {
namespace {

// A worker's host knows the time; the system's asks the kernel.
class WorkerClock final : public Host {
 public:
  Instant now() noexcept override { return Instant::from_ns(1); }
  std::int64_t wall_ns() noexcept override { return 1'700'000'000'000'000'000; }
  std::uint64_t random() noexcept override { return 4; }
  void secret(std::span<std::byte> out) noexcept override { secret_from_random(out); }
  void start_timer(Timer&, Instant) noexcept override {}
  void stop_timer(Timer&) noexcept override {}
  std::unique_ptr<Thread> start_thread(const char* name, Function<void()> body) override {
    return Host::system().start_thread(name, std::move(body));
  }
};

template <class F>
void measure(benchmark::State& state, bool on_worker, F&& record) {
  WorkerClock clock;
  Host* const before = Host::set_current(on_worker ? &clock : nullptr);
  {
    Reader reader(false);
    Ring ring({.bytes = 1 << 20});
    int since = 0;
    for (auto _ : state) {
      record();
      if (++since == 2048) {
        since = 0;
        state.PauseTiming();
        reader.drain([](const Record&) {});
        state.ResumeTiming();
      }
    }
    reader.drain([](const Record&) {});
  }
  Host::set_current(before);
}

void three_fields(benchmark::State& state) {
  Logger log("bench");
  std::string_view address = "127.0.0.1:8080";
  measure(state, state.range(0) != 0,
          [&] { log.info("listening", field("address", address), field("workers", 2), field("backlog", 4096u)); });
}
BENCHMARK(three_fields)->ArgName("worker_clock")->Arg(0)->Arg(1);

void access_line(benchmark::State& state) {
  Logger log("bench");
  std::string_view path = "/api/users/1234";
  const Span span{{1, 2}};
  const ScopedSpan scoped(span);
  measure(state, state.range(0) != 0, [&] {
    log.info("request", field("method", std::string_view("GET")), field("path", path), field("status", 200),
             field("bytes", std::uint64_t{123}), field("duration", Duration::microseconds(17)));
  });
}
BENCHMARK(access_line)->ArgName("worker_clock")->Arg(0)->Arg(1);

void level_off(benchmark::State& state) {
  Logger log("bench");
  for (auto _ : state) log.debug("request", field("status", 200));
}
BENCHMARK(level_off);

}  // namespace
}  // namespace keel::log
