// Keel's loop; see turns.h.

#include <memory>
#include <string_view>
#include <vector>

#include "keel/io/loop.h"
#include "turns.h"

using namespace keel;

namespace {

constexpr long turns_per_round = 1000;

struct Bench {
  explicit Bench(std::unique_ptr<io::Engine> engine, long count)
      : loop(std::move(engine), Host::system()), timers(static_cast<std::size_t>(count)) {
    for (auto& timer : timers) timer.bench = this;
  }

  void idle_turns() {
    for (long i = 0; i < turns_per_round; ++i) loop.turn(Instant());
  }
  void posted() {
    for (long i = 0; i < turns_per_round; ++i) {
      loop.post(job);
      loop.turn(Instant());
    }
  }
  void start_stop() {
    long i = 0;
    for (auto& timer : timers) loop.start_timer(timer, loop.now() + 1_s + 1_ms * (i++ % 1000));
    for (auto& timer : timers) loop.stop_timer(timer);
  }
  void expiry() {
    left = timers.size();
    const Instant now = loop.precise_now();
    long i = 0;
    for (auto& timer : timers) loop.start_timer(timer, now + 1_ms * (1 + i++ % 8));
    while (left != 0) loop.turn(Instant::never());
  }

  void expired() {
    if (--left == 0) loop.post(job);  // So that this turn does not wait for more.
  }

  struct Counted : Timer {
    Counted() : Timer([](Timer& timer) noexcept { static_cast<Counted&>(timer).bench->expired(); }) {}
    Bench* bench = nullptr;
  };

  io::Loop loop;
  std::vector<Counted> timers;
  std::size_t left = 0;
  Job job{[](Job&) noexcept {}};
};

template <auto method>
int measure(Bench& bench, long operations) {
  return turns_measure([](void* with) { (static_cast<Bench*>(with)->*method)(); }, &bench, operations);
}

}  // namespace

int main(int argc, char** argv) {
  const turns_options options = turns_read(argc, argv);
  const std::string_view what = options.what;
  auto engine =
      io::make_engine(std::string_view(options.engine) == "uring" ? io::EngineKind::Uring : io::EngineKind::Epoll);
  if (!engine) {
    std::fprintf(stderr, "%s\n", engine.error().describe().c_str());
    return 3;
  }
  Bench bench(*std::move(engine), options.count);
  const io::Loop::Entered entered(bench.loop);
  io::Receive quiet([](io::Op&) noexcept {});
  quiet.fd = turns_quiet_connection();
  bench.loop.engine().submit(quiet);
  if (what == "idle-turn") return measure<&Bench::idle_turns>(bench, turns_per_round);
  if (what == "posted") return measure<&Bench::posted>(bench, turns_per_round);
  if (what == "start-stop") return measure<&Bench::start_stop>(bench, options.count);
  if (what == "expiry") return measure<&Bench::expiry>(bench, options.count);
  return 2;
}
