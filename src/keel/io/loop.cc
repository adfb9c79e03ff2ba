#include "keel/io/loop.h"

#include <algorithm>
#include <utility>

#include "keel/base/check.h"

namespace keel::io {
namespace {

constinit thread_local Loop* current_loop = nullptr;
// How often the calendar is read from the system; between two readings, the loop advances the calendar with the
// monotonic clock.
constexpr Duration wall_period = 100_ms;

}  // namespace

Loop::Loop(std::unique_ptr<Engine> engine, Host& outside, int index)
    : Executor(outside.now()),
      engine_(std::move(engine)),
      outside_(outside),
      index_(index),
      wheel_(turn_time_),
      random_(outside) {
  wall_offset_ns_ = outside.wall_ns() - turn_time_.ns();
  wall_checked_ = turn_time_;
}

Loop::~Loop() = default;

Loop* Loop::current() noexcept { return current_loop; }

Loop::Entered::Entered(Loop& loop) noexcept
    : loop_before_(current_loop),
      host_before_(Host::set_current(&loop)),
      executor_before_(Executor::set_current(&loop)) {
  current_loop = &loop;
}
Loop::Entered::~Entered() {
  current_loop = loop_before_;
  Host::set_current(host_before_);
  Executor::set_current(executor_before_);
}

void Loop::run() {
  Entered entered(*this);
  while (!stopping_.load(std::memory_order_acquire)) turn(Instant::never());
  end_work();
  stopping_.store(false, std::memory_order_relaxed);
}

void Loop::finish() {
  Entered entered(*this);
  const Instant until = outside_.now() + 100_ms;
  for (int quiet = 0; quiet < 2 && outside_.now() < until;) {
    quiet = turn(outside_.now() + 1_ms) == 0 ? quiet + 1 : 0;
  }
  end_work();
}

void Loop::end_work() noexcept {
  engine_->flush();
  stale_ = true;
  busy_since_ns_.store(0, std::memory_order_relaxed);
}

void Loop::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  engine_->wake();
}

void Loop::read_clock() noexcept {
  turn_time_ = outside_.now();
  stale_ = false;
  if (turn_time_ - wall_checked_ >= wall_period) [[unlikely]] {
    wall_checked_ = turn_time_;
    wall_offset_ns_ = outside_.wall_ns() - turn_time_.ns();
  }
}

void Loop::begin_work() noexcept {
  read_clock();
  busy_since_ns_.store(turn_time_.ns(), std::memory_order_relaxed);
}

int Loop::turn(Instant until) {
  ++turns_;
  turning_ = true;
  int handled = run_posted();
  if (stale_ && wheel_.running() != 0) begin_work();
  if (!stale_) handled += wheel_.advance(turn_time_);
  run_deferred();
  // If a local job was posted in the meantime, or stop() was called, the engine must not wait for a completion.
  const bool idle =
      local_.empty() && deferred_.empty() && !stopping_.load(std::memory_order_acquire) && remote_.empty();
  const Instant wait = idle ? std::min(until, wheel_.next()) : Instant();
  busy_since_ns_.store(0, std::memory_order_relaxed);
  stale_ = !engine_->wait(wait);
  if (stale_) {
    turning_ = false;
    return handled;
  }
  begin_work();
  handled += engine_->dispatch();
  run_deferred();
  turning_ = false;
  return handled;
}

// Called before the engine's completions are collected, and before the jobs that other threads have posted are taken.
void Loop::run_deferred() noexcept {
  if (!deferred_.empty()) run_all(deferred_.take_all());
}

int Loop::run_all(Job* jobs) noexcept {
  int count = 0;
  while (jobs != nullptr) {
    Job* job = std::exchange(jobs, jobs->next);
    job->run(*job);
    ++count;
  }
  return count;
}

int Loop::run_posted() noexcept {
  int count = 0;
  // The queue is checked only once: jobs posted during the check must not run with the clock of the previous iteration.
  Job* const remote = remote_.take_all();
  if (stale_ && (remote != nullptr || !local_.empty())) begin_work();
  count += run_all(remote);
  if (!local_.empty()) count += run_all(local_.take_all());
  return count;
}

void Loop::defer(Job& job) noexcept { deferred_.push(job); }

void Loop::post(Job& job) noexcept {
  if (current_loop == this) {
    local_.push(job);
  } else {
    remote_.push(job);
    wake_for_posted();
  }
}

void Loop::post_all(Job& first, Job& last) noexcept {
  if (current_loop == this) {
    Executor::post_all(first, last);
  } else {
    remote_.push_all(first, last);
    wake_for_posted();
  }
}

bool Loop::offer_after(Job& job, Duration delay) noexcept {
  const Instant due = outside_.now() + delay;
  if (current_loop == this) return delayed_.start(job, due);
  const bool is_sent = delayed_.send(job, due);
  // If a worker has posted earlier, its wake-up may still wait for the end of that worker's iteration.
  wake_for_posted();
  return is_sent;
}

// Every thread that posts calls this, even if the queue was not empty: the wake-up by the thread that posted first may
// still wait for the end of that thread's own iteration. For all jobs that are posted before this loop checks its
// queue, the engine is woken only once.
void Loop::wake_for_posted() noexcept {
  if (current_loop != nullptr && current_loop->turning_) {
    current_loop->engine_->wake_other(*engine_);
  } else {
    engine_->wake();
  }
}

}  // namespace keel::io
