#include "keel/io/stall_watch.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/base/stack.h"

namespace keel::io {
namespace {

// How long to wait until a worker reports its stack. This time is long, because a machine with stalls is often busy.
constexpr Duration response_timeout = 1_s;

// A text that belongs to another thread, copied inside that thread's signal handler.
template <std::size_t n>
struct Copied {
  char bytes[n];
  std::size_t size = 0;
  void take(std::string_view text) noexcept {
    size = std::min(text.size(), n);
    std::memcpy(bytes, text.data(), size);
  }
  std::string_view view() const noexcept { return {bytes, size}; }
};

struct Where {
  Stack stack;
  Instant turn;  // The time at which the worker's iteration began.
  Copied<32> verb;
  Copied<256> object;
  log::TraceId trace;
  flight::Activity doing() const noexcept { return {verb.view(), object.view(), trace}; }
};

}  // namespace

struct StallWatch::State {
  struct Worker {
    Loop* loop = nullptr;
    pid_t thread = 0;
    // The beginning of the worker's iteration, as seen at the last check; Instant(): the worker was waiting.
    Instant turn = {};
    // The part of the duration of that iteration in which the watching thread did not run; this part does not count.
    Duration excused = {};
    Duration next = {};  // The duration at which the stall is reported next.
    bool is_stalled = false;
  };

  State(Runtime& runtime, Duration from, Function<void(const Stall&)> told)
      : bound(from), period(std::max<Duration>(from / 2, 1_ms)), tell(std::move(told)) {
    runtime.each([this](Loop& loop) { workers.push_back({.loop = &loop, .thread = gettid()}); });
    thread = Host::system().start_thread("keel-watch", [this] { run(); });
  }
  ~State() {
    {
      std::lock_guard lock(mutex);
      is_ending = true;
    }
    ending.notify_all();
    thread.reset();
  }

  void run() {
    std::unique_lock lock(mutex);
    Instant looked = Host::system().now();
    while (!is_ending) {
      ending.wait_for(lock, std::chrono::nanoseconds(period.count_ns()));
      if (is_ending) return;
      const Instant now = Host::system().now();
      const Duration late = std::max(now - looked - period, Duration());
      looked = now;
      for (Worker& worker : workers) look(worker, now, late);
    }
  }

  void look(Worker& worker, Instant now, Duration excused) {
    const Instant turn = worker.loop->busy_since();
    if (turn != worker.turn) {
      if (worker.is_stalled) {
        tell({.worker = worker.loop->index(), .lasted = now - worker.turn, .is_over = true, .is_first = false});
      }
      worker = {.loop = worker.loop, .thread = worker.thread, .turn = turn, .excused = {}, .next = bound};
      // Only the part of the delay within this iteration counts.
      if (turn != Instant()) worker.excused = std::min(excused, std::max(now - turn, Duration()));
    } else {
      worker.excused = worker.excused + excused;
    }
    if (turn == Instant() || now - turn - worker.excused < worker.next) return;
    tell_of(worker, now - turn);
    worker.is_stalled = true;
    worker.next = (now - turn - worker.excused) * 2;
  }

  void tell_of(const Worker& worker, Duration lasted) {
    Where where;
    const Result<> asked = ask(worker, where);
    Stall stall{.worker = worker.loop->index(), .lasted = lasted, .is_first = !worker.is_stalled};
    std::string stack;
    if (!asked) {
      stack = asked.error().message();
    } else if (where.turn != worker.turn) {
      // The worker's current stack does not show the cause of the stall.
      stack = "the worker continued in the meantime";
    } else {
      stack = to_string(where.stack);
      stall.doing = where.doing();
    }
    stall.stack = stack;
    tell(stall);
  }

  static Result<> ask(const Worker& worker, Where& where) {
    return capture_stack_of(worker.thread, where.stack, response_timeout, [&where, &worker] {
      where.turn = worker.loop->busy_since();
      const flight::Doing* const doing = flight::Doing::current();
      if (doing == nullptr) return;
      const flight::Activity told = doing->tell();
      where.verb.take(told.verb);
      where.object.take(told.object);
      where.trace = told.trace;
    });
  }

  const Duration bound;
  const Duration period;
  const Function<void(const Stall&)> tell;
  std::vector<Worker> workers;
  std::mutex mutex;
  std::condition_variable ending;
  bool is_ending = false;
  std::unique_ptr<Thread> thread;
};

StallWatch::StallWatch(Runtime& runtime, Duration bound, Function<void(const Stall&)> tell) {
  KEEL_CHECK(bound > Duration(), "the shortest reported stall must be above zero");
  state_ = std::make_unique<State>(runtime, bound, std::move(tell));
}

StallWatch::~StallWatch() = default;

void StallWatch::look_at_all(FunctionRef<void(const Stall&)> tell) {
  // The watching thread updates the workers' states under this lock.
  const std::lock_guard lock(state_->mutex);
  for (const State::Worker& worker : state_->workers) {
    Where where;
    const Result<> asked = State::ask(worker, where);
    const std::string stack = asked ? to_string(where.stack) : std::string(asked.error().message());
    tell({.worker = worker.loop->index(),
          .lasted = where.turn == Instant() ? Duration() : Host::system().now() - where.turn,
          .stack = stack,
          .doing = where.doing()});
  }
}

}  // namespace keel::io
