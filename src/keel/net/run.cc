#include "keel/net/run.h"

#include <signal.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/io/loop.h"
#include "keel/task/start.h"

namespace keel {
namespace {

// Written by the signal handler: no more than an atomic store and a write(2).
std::atomic<io::Loop*> signalled_loop = nullptr;
std::atomic<bool> is_signalled = false;

void on_signal(int) {
  const int before = errno;
  is_signalled.store(true);
  if (io::Loop* loop = signalled_loop.load()) loop->stop();
  errno = before;
}

// SIGINT and SIGTERM end a turn of `loop`, each once.
class StopSignals {
 public:
  explicit StopSignals(io::Loop& loop) noexcept {
    KEEL_CHECK(signalled_loop.exchange(&loop) == nullptr, "one run() in a process at a time");
    is_signalled.store(false);
    struct sigaction action = {};
    action.sa_handler = &on_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &action, &interrupt_before_);
    ::sigaction(SIGTERM, &action, &terminate_before_);
  }
  ~StopSignals() {
    restore();
    signalled_loop.store(nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool arrived() const noexcept { return is_signalled.load(); }
  void restore() const noexcept {
    ::sigaction(SIGINT, &interrupt_before_, nullptr);
    ::sigaction(SIGTERM, &terminate_before_, nullptr);
  }

 private:
  struct sigaction interrupt_before_ = {};
  struct sigaction terminate_before_ = {};
};

struct Main : Start<void> {
  explicit Main(io::Loop& l) noexcept : loop(l) {}
  static void ended(StartCore& start) noexcept { static_cast<Main&>(start).loop.stop(); }
  io::Loop& loop;
};

// What was closed last ends in a later turn: its operations are cancelled first.
void finish(io::Loop& loop) {
  for (int quiet = 0, turns = 0; quiet < 2 && turns < 100; ++turns) {
    quiet = loop.turn(Host::system().now() + 1_ms) == 0 ? quiet + 1 : 0;
  }
}

}  // namespace

Result<> run(Task<>&& main, io::EngineKind kind) {
  KEEL_CHECK(io::Loop::current() == nullptr, "run() is called where no loop runs");
  KEEL_TRY(const io::EngineChoice choice, io::choose_engine(kind));
  KEEL_TRY(auto engine, io::make_engine(choice.kind));
  io::Loop loop(std::move(engine), Host::system());
  const io::Loop::Entered entered(loop);
  const StopSignals signals(loop);
  Main start(loop);
  if (!start.begin(std::move(main), &Main::ended)) {
    while (start.is_running()) {
      loop.run();
      if (!signals.arrived()) continue;
      signals.restore();
      start.stop();
    }
  }
  Result<> result = start.take();
  finish(loop);
  if (!result && signals.arrived() && result.error().code() == Code::Cancelled) return {};
  return result;
}

}  // namespace keel
