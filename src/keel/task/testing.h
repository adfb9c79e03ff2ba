// keel/task/testing.h — one thread's loop for tests: an Executor and a Host whose time moves only when told.
//
//   testing::TestLoop loop;
//   Result<int> result = loop.run(compute());       // runs the task to its end; time jumps to the next timer when idle
//   loop.advance(50_ms);                            // or step by step
//
// Threads: post() from any; all else on the thread that made it, for which it is current while it lives.

#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/exec/delayed_jobs.h"
#include "keel/exec/executor.h"
#include "keel/task/start.h"
#include "keel/task/task.h"

namespace keel::testing {

class TestLoop final : public Executor, public Host {
 public:
  TestLoop() : host_before_(Host::set_current(this)), executor_before_(Executor::set_current(this)) {
    turn_time_ = now_;
  }
  ~TestLoop() override {
    run_jobs();
    Host::set_current(host_before_);
    Executor::set_current(executor_before_);
  }

  void post(Job& job) noexcept override {
    {
      std::lock_guard lock(mutex_);
      job.next = nullptr;
      *last_ = &job;
      last_ = &job.next;
    }
    posted_.notify_one();
  }
  bool offer_after(Job& job, Duration delay) noexcept override { return delayed_.start(job, now_ + delay); }
  bool has_clock() const noexcept override { return true; }
  Instant now() noexcept override { return now_; }
  std::int64_t wall_ns() noexcept override { return now_.ns(); }
  std::uint64_t random() noexcept override { return ++random_ * 0x9e3779b97f4a7c15u; }
  void secret(std::span<std::byte> out) noexcept override { secret_from_random(out); }
  void start_timer(Timer& timer, Instant at) noexcept override { wheel_.start(timer, at); }
  void stop_timer(Timer& timer) noexcept override { wheel_.stop(timer); }
  std::unique_ptr<Thread> start_thread(const char* name, Function<void()> body) override {
    return Host::system().start_thread(name, std::move(body));
  }

  // Runs what was posted, and what that posts, until nothing waits.
  int run_jobs() noexcept {
    int count = 0;
    while (Job* job = take()) {
      while (job != nullptr) {
        Job* next = job->next;
        job->run(*job);
        job = next;
        ++count;
      }
    }
    return count;
  }
  // Runs jobs, moves the time by `duration` timer by timer, and runs what follows.
  void advance(Duration duration) noexcept {
    const Instant until = now_ + duration;
    run_jobs();
    while (wheel_.next() <= until) step();
    turn_time_ = now_ = until;
    wheel_.advance(now_);
    run_jobs();
  }
  // Turns until `ended()`; when idle jumps to the next timer, and without timers waits for other threads.
  template <class Ended>
  void run_until(Ended ended) noexcept {
    while (!ended()) {
      if (run_jobs() > 0) continue;
      if (wheel_.running() > 0) {
        step();
        continue;
      }
      std::unique_lock lock(mutex_);
      const bool came = posted_.wait_for(lock, std::chrono::seconds(20), [this] { return first_ != nullptr; });
      KEEL_CHECK(came, "a test waits for something that happens");
    }
  }
  template <class T>
  Result<T> run(Task<T>&& task) noexcept {
    Start<T> start;
    if (!start.begin(std::move(task), [](StartCore&) noexcept {})) {
      run_until([&] { return start.has_ended(); });
    }
    return start.take();
  }
  int timers() const noexcept { return wheel_.running(); }

 private:
  Job* take() noexcept {
    std::lock_guard lock(mutex_);
    last_ = &first_;
    return std::exchange(first_, nullptr);
  }
  void step() noexcept {
    if (wheel_.next() > now_) turn_time_ = now_ = wheel_.next();
    wheel_.advance(now_);
    run_jobs();
  }

  Host* host_before_;
  Executor* executor_before_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  TimerWheel wheel_{now_};
  DelayedJobs delayed_{*this, wheel_};
  std::uint64_t random_ = 0;
  std::mutex mutex_;
  std::condition_variable posted_;
  Job* first_ = nullptr;
  Job** last_ = &first_;
};

}  // namespace keel::testing
