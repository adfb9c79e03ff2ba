#include "keel/exec/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "keel/base/bug.h"
#include "keel/base/check.h"
#include "keel/exec/internal/pool_state.h"

namespace keel {
namespace {

// The time in which a thread expects to finish a batch of jobs.
constexpr Duration batch_time = 50_us;
// A thread that takes one job at a time measures one job in this many.
constexpr unsigned timed_every = 16;
constexpr Duration long_run = 10_us;
constexpr unsigned follow_short_every = 64;

Instant now() noexcept { return Host::system().now(); }
std::chrono::steady_clock::time_point steady(Instant at) noexcept {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(at.ns()));
}

void pin_to(int cpu) noexcept {
  if (cpu < 0 || cpu >= CPU_SETSIZE) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

// Waits until the condition holds. False: `limit` passed before.
template <class Condition>
bool wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Duration limit, Condition condition) {
  const Instant until = now() + limit;
  if (!until.is_never()) return changed.wait_until(lock, steady(until), condition);
  changed.wait(lock, condition);
  return true;
}

}  // namespace

ThreadPool::ThreadPool(ThreadPoolOptions options) : state_(std::make_unique<State>(std::move(options))) {
  State& s = *state_;
  KEEL_EXPECT(s.options.threads > 0, "a thread pool needs at least one thread");
  if (s.options.executor != nullptr) return;
  s.threads = s.options.threads;
  s.utilisation.note(now(), s.threads, 0);
  int started = 0;
  try {
    if (s.threads_max > s.threads) start_clock();
    for (; started < s.options.threads; ++started) start_thread(*s.workers[static_cast<std::size_t>(started)]);
  } catch (...) {
    {
      const auto lock = s.enter();
      s.threads = started;
    }
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::start_thread(Worker& worker) {
  const std::string name = (state_->options.name + "-" + std::to_string(worker.number)).substr(0, 15);
  worker.thread = state_->host.start_thread(name.c_str(), [this, &worker] { work(worker); });
}

void ThreadPool::start_clock() {
  State& s = *state_;
  const auto is_needed = [&s] {
    const auto lock = s.enter();
    return !s.is_stopping && !s.has_clock;
  };
  if (!is_needed()) return;
  // Other callers wait at this lock, because their jobs must not be accepted if the thread cannot be started.
  const std::lock_guard starting(s.clock_start);
  if (!is_needed()) return;
  const std::string name = (s.options.name + "-clock").substr(0, 15);
  std::unique_ptr<Thread> thread = s.host.start_thread(name.c_str(), [this] { keep_time(); });
  const auto lock = s.enter();
  s.clock_thread = std::move(thread);
  s.has_clock = true;
}

void ThreadPool::post(Job& job, Priority priority) noexcept {
  State& s = *state_;
  Worker* called = nullptr;
  {
    const auto lock = s.enter();
    // While stop() waits for the jobs, a running job may still post to the pool. Once stop() has waited for all
    // jobs, no thread is left to run a posted job.
    KEEL_CHECK(!s.is_finished, "a thread pool must be stopped after everything that posts to it");
    s.push(job, priority);
    called = s.call_searcher();
  }
  if (called != nullptr) called->parker.unpark();
  if (s.options.executor != nullptr) send_errands(1);
}

void ThreadPool::post_all(Job& first, Job& last) noexcept {
  State& s = *state_;
  Worker* called = nullptr;
  std::size_t errands = 0;
  if (s.options.executor != nullptr) {
    errands = 1;
    for (const Job* job = &first; job != &last; job = job->next) ++errands;
  }
  {
    const auto lock = s.enter();
    KEEL_CHECK(!s.is_finished, "a thread pool must be stopped after everything that posts to it");
    s.push_all(first, last, Priority::Normal);
    called = s.call_searcher();
  }
  if (called != nullptr) called->parker.unpark();
  send_errands(errands);
}

void ThreadPool::run_in_caller(Job& first, Job& last) noexcept {
  State& s = *state_;
  for (Job* job = &first; job != nullptr;) {
    Job* const next = job == &last ? nullptr : job->next;
    const unsigned every = s.caller_follow_every.load(std::memory_order_relaxed);
    if (s.options.measured && s.in_caller.load(std::memory_order_relaxed) % every == 0) {
      const Instant began = now();
      job->run(*job);
      const Duration ran = now() - began;
      s.options.measured(Duration(), ran);
      s.caller_follow_every.store(ran < long_run ? follow_short_every : 1, std::memory_order_relaxed);
    } else {
      job->run(*job);
    }
    s.in_caller.fetch_add(1, std::memory_order_relaxed);
    job = next;
  }
}

bool ThreadPool::admit(Job& first, Job& last, std::size_t count, Priority priority, WhenFull when_full) noexcept {
  State& s = *state_;
  if (when_full == WhenFull::Block && current() == this) when_full = WhenFull::RunInCaller;
  Worker* called = nullptr;
  {
    auto lock = s.enter();
    while (!s.is_stopping && !s.has_room(count)) [[unlikely]] {
      if (when_full == WhenFull::Block && &Host::current() != &Host::system()) when_full = WhenFull::Refuse;
      if (when_full == WhenFull::RunInCaller) {
        lock.unlock();
        run_in_caller(first, last);
        return true;
      }
      if (when_full == WhenFull::Refuse || count > s.options.queue_max) {
        s.refused += count;
        return false;
      }
      ++s.blocked;
      s.room.wait(lock);
      --s.blocked;
    }
    if (s.is_stopping) {
      s.refused += count;
      return false;
    }
    s.push_all(first, last, priority);
    called = s.call_searcher();
  }
  if (called != nullptr) called->parker.unpark();
  if (s.options.executor != nullptr) send_errands(count);
  return true;
}

bool ThreadPool::offer(Job& job, Priority priority) noexcept {
  return admit(job, job, 1, priority, state_->options.when_full);
}
bool ThreadPool::offer_all(Job& first, Job& last, std::size_t count, Priority priority) noexcept {
  return admit(first, last, count, priority, state_->options.when_full);
}
bool ThreadPool::try_post(Job& job, Priority priority) noexcept {
  return admit(job, job, 1, priority, WhenFull::Refuse);
}

bool ThreadPool::offer_after(Job& job, Duration delay) noexcept {
  State& s = *state_;
  if (s.options.executor != nullptr) {
    auto errand = std::make_unique<Errand>(*this, &job);
    if (s.is_stopping || !s.options.executor->offer_after(*errand, delay)) return false;
    s.errands.push_back(*errand.release());
    return true;
  }
  try {
    start_clock();
    const auto lock = s.enter();
    if (!s.is_stopping && s.delayed.size() < s.options.queue_max) {
      const auto placed = s.delayed.emplace(now() + delay, &job);
      if (placed == s.delayed.begin()) s.clock.notify_one();
      return true;
    }
  } catch (...) {
    // There is no memory, or no thread for the clock.
  }
  const auto lock = s.enter();
  ++s.refused;
  return false;
}

bool ThreadPool::drain(Duration limit) {
  KEEL_EXPECT(current() != this, "a job must not wait for its own thread pool");
  State& s = *state_;
  if (s.options.executor != nullptr) return s.queued() == 0;
  auto lock = s.enter();
  return wait(s.idle, lock, limit, [&s] { return s.is_idle() || s.is_finished; });
}

std::size_t ThreadPool::stop(Duration limit) {
  KEEL_EXPECT(current() != this, "a job must not stop its own thread pool");
  State& s = *state_;
  if (s.options.executor != nullptr) return stop_errands();
  std::multimap<Instant, Job*> never_due;
  {
    const auto lock = s.enter();
    s.is_stopping = true;
    if (limit <= Duration()) s.is_discarding.store(true, std::memory_order_relaxed);
    never_due.swap(s.delayed);
    ++s.discarding;
    s.room.notify_all();
  }
  std::size_t discarded = 0;
  for (const auto& [due, job] : never_due) discarded += discard(*job);
  std::unique_ptr<Thread> clock;
  {
    auto lock = s.enter();
    --s.discarding;
    s.discarded += discarded;
    if (s.is_idle() && !s.is_finished) s.finish();
    const auto finished = [&s] { return s.is_finished; };
    if (!wait(s.idle, lock, limit, finished)) {
      s.is_discarding.store(true, std::memory_order_relaxed);
      s.idle.wait(lock, finished);
    }
    // If offer_after() starts a clock at this moment, the destructor's stop() ends it.
    clock = std::move(s.clock_thread);
  }
  clock.reset();
  for (auto& worker : s.workers) worker->thread.reset();
  const auto lock = s.enter();
  return s.discarded;
}

// --- On an executor.

void ThreadPool::send_errands(std::size_t count) noexcept {
  State& s = *state_;
  for (; count > 0; --count) {
    auto* const errand = new Errand(*this, nullptr);
    s.errands.push_back(*errand);
    s.options.executor->post(*errand);
  }
}

void ThreadPool::Errand::run(Job& job) noexcept {
  const std::unique_ptr<Errand> errand(&static_cast<Errand&>(job));
  if (errand->pool == nullptr) return;
  State& s = *errand->pool->state_;
  s.errands.remove(*errand);
  Job* const next = errand->due != nullptr ? errand->due : s.lanes.pop();
  if (next != nullptr) errand->pool->run_here(*next);
}

void ThreadPool::run_here(Job& job) noexcept {
  State& s = *state_;
  Executor* const before = set_current(this);
  job.run(job);
  set_current(before);
  s.workers.front()->executed.add();
}

std::size_t ThreadPool::stop_errands() noexcept {
  State& s = *state_;
  s.is_stopping = true;
  while (Errand* const errand = s.errands.pop_front()) {
    errand->pool = nullptr;
    if (errand->due != nullptr) s.discarded += discard(*errand->due);
  }
  while (Job* const job = s.lanes.pop()) run_here(*job);
  s.is_finished = true;
  return s.discarded;
}

// --- On threads.

void ThreadPool::work(Worker& me) noexcept {
  const std::vector<int>& cpus = state_->options.cpus;
  if (!cpus.empty()) pin_to(cpus[static_cast<std::size_t>(me.number) % cpus.size()]);
  Executor* const before = set_current(this);
  while (next(me)) run(me);
  set_current(before);
}

// Gets jobs for `me`; if there are none, the thread first sleeps. False: the thread is to end.
bool ThreadPool::next(Worker& me) noexcept {
  State& s = *state_;
  if (me.taken > 1 && s.has_processors) s.gather();
  auto lock = s.enter();
  me.is_busy = false;
  if (s.blocked > 0) s.room.notify_all();
  if (me.follow_every != 0) s.follow_every = std::exchange(me.follow_every, 0u);
  bool searches = false;  // The thread searches for jobs, and is counted as searching.
  bool has_spun = false;
  while (true) {
    if (me.leaves) return false;
    const bool found = s.fill(me) || s.steal(me);
    if (searches && (found || has_spun || s.is_finished)) {
      searches = false;
      --s.searching;
    }
    if (found) {
      Worker* const called = s.call_searcher();
      lock.unlock();
      if (called != nullptr) called->parker.unpark();
      return true;
    }
    if (s.is_finished) return false;
    // Only one thread searches without the lock; other threads without a job may sleep.
    if (!has_spun && s.searching == (searches ? 1 : 0) && s.has_processors && !s.is_stopping) {
      has_spun = true;
      if (!std::exchange(searches, true)) ++s.searching;
      lock.unlock();
      s.spin(me);
      lock = s.enter();
      continue;
    }
    if (std::exchange(searches, false)) --s.searching;
    s.sleep(me);
    if (s.is_idle()) s.note_idle();
    lock.unlock();
    s.park(me);
    lock = s.enter();
    searches = std::exchange(me.is_called, false);
    has_spun = false;
  }
}

void ThreadPool::run(Worker& me) noexcept {
  State& s = *state_;
  const bool is_timed = me.take_max > 1 || me.turns++ % timed_every == 0;
  const Instant began = is_timed ? now() : Instant();
  std::size_t discarded = 0;
  int count = 0;
  while (Job* const job = me.batch.take()) {
    if (s.is_discarding.load(std::memory_order_relaxed)) [[unlikely]] {
      const std::size_t asked = discard(*job);
      discarded += asked;
      if (asked > 0) continue;
    } else if (job == me.followed) [[unlikely]] {
      const Instant start = now();
      job->run(*job);
      const Duration ran = now() - start;
      s.options.measured(start - me.followed_at, ran);
      me.follow_every = ran < long_run ? follow_short_every : 1;
    } else {
      job->run(*job);
    }
    me.executed.add();
    ++count;
  }
  me.followed = nullptr;
  if (discarded > 0) {
    const auto lock = s.enter();
    s.discarded += discarded;
  }
  if (!is_timed || count == 0) return;
  const Duration each = (now() - began) / count;
  const Duration expected = each * static_cast<std::int64_t>(me.take_max);
  if (expected < batch_time / 2) {
    me.take_max = std::min(me.take_max * 2, internal::JobBatch::size_max);
  } else if (expected > batch_time) {
    me.take_max = static_cast<std::size_t>(std::max<std::int64_t>(batch_time.count_ns() / each.count_ns(), 1));
  }
}

// The clock's thread.
void ThreadPool::keep_time() noexcept {
  State& s = *state_;
  auto lock = s.enter();
  while (!s.is_finished) {
    const Instant at = now();
    while (!s.delayed.empty() && s.delayed.begin()->first <= at) {
      Job& due = *s.delayed.begin()->second;
      s.delayed.erase(s.delayed.begin());
      s.push(due, Priority::Normal);
    }
    if (Worker* const called = s.call_searcher()) called->parker.unpark();
    if (s.is_scaling && !s.is_stopping) scale(lock, at);
    if (s.is_finished) break;
    Instant until = s.delayed.empty() ? Instant::never() : s.delayed.begin()->first;
    if (s.is_scaling && !s.is_stopping) until = std::min(until, s.scale_at);
    if (until.is_never()) {
      s.clock.wait(lock);
    } else {
      s.clock.wait_until(lock, steady(until));
    }
  }
}

void ThreadPool::scale(std::unique_lock<std::mutex>& lock, Instant at) noexcept {
  State& s = *state_;
  if (s.scale_at.is_never()) {
    s.utilisation.begin(at);
    s.scale_at = at + s.options.scale_interval;
  }
  if (at < s.scale_at) return;
  const int change = s.utilisation.end(at, s.lanes.size() > 0);
  if (change > 0) {
    Worker& comes =
        **std::find_if(s.workers.begin(), s.workers.end(), [](const auto& w) { return w->thread == nullptr; });
    comes.leaves = false;
    s.utilisation.note(at, ++s.threads, s.asleep_count);
    lock.unlock();
    bool is_there = true;
    try {
      start_thread(comes);
    } catch (...) {
      is_there = false;  // The system cannot make more threads now, so the jobs wait for the existing threads.
    }
    lock = s.enter();
    if (!is_there) s.utilisation.note(now(), --s.threads, s.asleep_count);
    if (!is_there && s.is_idle()) s.note_idle();
  } else if (change < 0 && s.asleep != nullptr) {
    Worker& goes = s.wake_one();
    goes.leaves = true;
    s.utilisation.note(at, --s.threads, s.asleep_count);
    lock.unlock();
    goes.parker.unpark();
    goes.thread.reset();
    lock = s.enter();
  }
  s.is_scaling = s.threads > s.options.threads || s.lanes.size() > 0;
  s.scale_at = s.is_scaling ? at + s.options.scale_interval : Instant::never();
}

const std::string& ThreadPool::name() const noexcept { return state_->options.name; }
std::size_t ThreadPool::queue_max() const noexcept { return state_->options.queue_max; }
int ThreadPool::threads() const noexcept {
  const auto lock = state_->enter();
  return state_->threads;
}
std::size_t ThreadPool::queued() const noexcept {
  const auto lock = state_->enter();
  return state_->queued();
}
int ThreadPool::running() const noexcept {
  const auto lock = state_->enter();
  return static_cast<int>(
      std::count_if(state_->workers.begin(), state_->workers.end(), [](const auto& w) { return w->is_busy; }));
}
std::uint64_t ThreadPool::executed() const noexcept {
  std::uint64_t sum = ran_in_caller();
  for (const auto& worker : state_->workers) sum += worker->executed.get();
  return sum;
}
std::uint64_t ThreadPool::ran_in_caller() const noexcept { return state_->in_caller.load(std::memory_order_relaxed); }
std::uint64_t ThreadPool::refused() const noexcept {
  const auto lock = state_->enter();
  return state_->refused;
}
std::uint64_t ThreadPool::discarded() const noexcept {
  const auto lock = state_->enter();
  return state_->discarded;
}
double ThreadPool::busy_seconds() const noexcept {
  const auto lock = state_->enter();
  return state_->utilisation.busy_seconds(now());
}

}  // namespace keel
