#include "keel/app/stall.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/base/stack.h"
#include "keel/observe/flight_recorder.h"
#include "keel/observe/log.h"

namespace keel::app {
namespace {

// For a worker to answer with its stack: long, because a machine that stalls is often a busy one.
constexpr Duration answer_patience = 1_s;
constexpr int last_requests = 8;

// A text of another thread, taken inside its signal handler.
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
  Instant turn;  // In which it was.
  Copied<32> method;
  Copied<256> path;
  log::TraceId trace;
};

std::string recent_requests(int worker) {
  std::string text;
  FlightRecorder::each([&](const FlightRecorder& recorder) {
    if (recorder.worker() != worker) return;
    recorder.last(last_requests, [&text](const flight::Request& request) {
      fmt::format_to(std::back_inserter(text), "{}{} {} {} {:.3f}ms", text.empty() ? "" : ", ",
                     request.method.empty() ? "-" : request.method, request.route.empty() ? "-" : request.route,
                     request.status, request.took.count_seconds() * 1e3);
    });
  });
  return text;
}

}  // namespace

struct StallWatch::State {
  struct Worker {
    io::Loop* loop = nullptr;
    pid_t thread = 0;
    Instant turn = {};      // That it was in at the last look; Instant(): none.
    Duration excused = {};  // Of that turn.
    Duration next = {};     // When to report it.
    bool is_stalled = false;
  };

  State(io::Runtime& runtime, Duration from, metrics::Registry& registry)
      : bound(from),
        period(std::max<Duration>(from / 2, 1_ms)),
        stalls(registry.counter("worker_stalls_total", "Times that a worker did not come back to its loop in time")),
        seconds(registry.histogram("worker_stall_seconds", "How long stalled workers took to come back",
                                   metrics::latency_seconds)) {
    runtime.each([this](io::Loop& loop) { workers.push_back({.loop = &loop, .thread = gettid()}); });
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
      if (worker.is_stalled) end(worker, now);
      worker = {.loop = worker.loop, .thread = worker.thread, .turn = turn, .excused = {}, .next = bound};
      // Of the lateness only what lies within this turn.
      if (turn != Instant()) worker.excused = std::min(excused, std::max(now - turn, Duration()));
    } else {
      worker.excused = worker.excused + excused;
    }
    if (turn == Instant() || now - turn - worker.excused < worker.next) return;
    if (!worker.is_stalled) stalls.add();
    report(worker, now - turn);
    worker.is_stalled = true;
    worker.next = (now - turn - worker.excused) * 2;
  }

  void report(const Worker& worker, Duration took) {
    Where where;
    const Result<> asked = ask(worker, where);
    // Without a stack, and not with one of what it did afterwards.
    const bool is_there = asked && where.turn == worker.turn;
    const Span span{is_there ? where.trace : log::TraceId()};
    const ScopedSpan scoped(span);
    const std::string stack = is_there ? to_string(where.stack)
                              : asked  ? "it went on meanwhile"
                                       : std::string(asked.error().message());
    const std::string recent = worker.is_stalled ? "" : recent_requests(worker.loop->index());
    log.warn("worker stalled", log::field("worker", worker.loop->index()), log::field("duration", took),
             log::field("method", is_there ? where.method.view() : ""),
             log::field("path", is_there ? where.path.view() : ""), log::field("stack", stack),
             log::field("recent", recent));
  }

  void end(const Worker& worker, Instant now) {
    const Duration took = now - worker.turn;
    seconds.observe(took);
    log.info("worker goes on", log::field("worker", worker.loop->index()), log::field("duration", took));
  }

  static Result<> ask(const Worker& worker, Where& where) {
    return capture_stack_of(worker.thread, where.stack, answer_patience, [&where, &worker] {
      where.turn = worker.loop->busy_since();
      const flight::Doing* const doing = flight::Doing::current();
      if (doing == nullptr) return;
      std::string_view method;
      std::string_view path;
      doing->tell(method, path, where.trace);
      where.method.take(method);
      where.path.take(path);
    });
  }

  const Duration bound;
  const Duration period;
  const metrics::Counter stalls;
  const metrics::Histogram seconds;
  const log::Logger log{"app.stall"};
  std::vector<Worker> workers;
  std::mutex mutex;
  std::condition_variable ending;
  bool is_ending = false;
  std::unique_ptr<Thread> thread;
};

StallWatch::StallWatch(io::Runtime& runtime, Duration bound, metrics::Registry& registry)
    : state_(std::make_unique<State>(runtime, bound, registry)) {
  KEEL_CHECK(bound > Duration(), "a stall lasts longer than nothing");
}

StallWatch::~StallWatch() = default;

void StallWatch::report_all() {
  const std::lock_guard lock(state_->mutex);  // The thread that watches writes what it knows of a worker.
  for (const State::Worker& worker : state_->workers) {
    Where where;
    const Result<> asked = State::ask(worker, where);
    const Span span{where.trace};
    const ScopedSpan scoped(span);
    state_->log.info("worker", log::field("worker", worker.loop->index()),
                     log::field("busy", where.turn == Instant() ? Duration() : Host::system().now() - where.turn),
                     log::field("method", where.method.view()), log::field("path", where.path.view()),
                     log::field("stack", asked ? to_string(where.stack) : std::string(asked.error().message())),
                     log::field("recent", recent_requests(worker.loop->index())));
  }
}

}  // namespace keel::app
