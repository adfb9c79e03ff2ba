#include "keel/exec/internal/pool_state.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace keel {
namespace {

constexpr Duration spin_least = 1_us;
// About the time that a thread takes to fall asleep, wake up and get a processor again.
constexpr Duration spin_most = 50_us;
constexpr unsigned looks_per_clock = 4;
constexpr unsigned gather_looks = 4;  // All pauses together take less than a microsecond.
constexpr unsigned gather_pauses = 4;
constexpr std::size_t gathered = 16;
constexpr int lock_tries = 100;
constexpr std::size_t jobs_per_searcher = 16;

}  // namespace

ThreadPool::State::State(ThreadPoolOptions&& from)
    : options(std::move(from)),
      threads_max(std::max(options.threads, options.threads_max)),
      // On a single processor, a thread that spins would prevent the thread for which it waits from running.
      has_processors(std::thread::hardware_concurrency() > 1),
      lanes(options.queue_max),
      utilisation({.threads_min = options.threads,
                   .threads_max = threads_max,
                   .grow_above = options.grow_above,
                   .shrink_below = options.shrink_below},
                  Host::system().now()) {
  for (int i = 0; i < threads_max; ++i) {
    workers.push_back(std::make_unique<Worker>(i));
    workers.back()->spin_for = spin_most;
  }
}

ThreadPool::State::Lock ThreadPool::State::enter() const noexcept {
  Lock lock(mutex, std::try_to_lock);
  for (int i = 0; i < lock_tries && !lock.owns_lock(); ++i) {
    internal::spin_pause();
    (void)lock.try_lock();
  }
  if (!lock.owns_lock()) lock.lock();
  return lock;
}

bool ThreadPool::State::has_room(std::size_t count) const noexcept {
  const std::size_t most = options.queue_max;
  // If the queue is far below its limit, the jobs in the batches need not be counted exactly.
  if (lanes.size() + workers.size() * internal::JobBatch::size_max + count <= most) return true;
  return count <= most && queued() <= most - count;
}

std::size_t ThreadPool::State::queued() const noexcept {
  std::size_t sum = lanes.size();
  for (const auto& worker : workers) sum += worker->batch.left();
  return sum;
}

void ThreadPool::State::push(Job& job, Priority priority) noexcept {
  if (options.measured && followed == nullptr) {
    if (follow_in > 0) {
      --follow_in;
    } else {
      followed = &job;
      followed_at = Host::system().now();
      follow_in = follow_every - 1;
    }
  }
  lanes.push(job, priority);
  waiting.store(lanes.size(), std::memory_order_relaxed);
  if (threads_max > options.threads && asleep == nullptr && !is_scaling) {
    is_scaling = true;
    clock.notify_one();
  }
}

void ThreadPool::State::push_all(Job& first, Job& last, Priority priority) noexcept {
  for (Job* job = &first; job != nullptr;) {
    Job* const next = job == &last ? nullptr : job->next;
    push(*job, priority);
    job = next;
  }
}

bool ThreadPool::State::fill(Worker& me) noexcept {
  std::size_t count = lanes.size();
  if (count == 0) return false;
  count = asleep != nullptr
              ? 1
              : std::clamp<std::size_t>(count / static_cast<std::size_t>(std::max(threads, 1)), 1, me.take_max);
  for (std::size_t i = 0; i < count; ++i) {
    Job& job = *lanes.pop();
    if (&job == followed) {
      me.followed = std::exchange(followed, nullptr);
      me.followed_at = followed_at;
    }
    me.batch.put(i, job);
  }
  waiting.store(lanes.size(), std::memory_order_relaxed);
  me.is_busy = true;
  me.taken = count;
  me.batch.publish(count);
  return true;
}

bool ThreadPool::State::steal(Worker& me) noexcept {
  for (const auto& other : workers) {
    if (!other->is_busy || other.get() == &me) continue;
    Job* const job = other->batch.steal();
    if (job == nullptr) continue;
    me.batch.put(0, *job);
    me.is_busy = true;
    me.taken = 1;
    me.batch.publish(1);
    return true;
  }
  return false;
}

void ThreadPool::State::sleep(Worker& me) noexcept {
  me.below = std::exchange(asleep, &me);
  ++asleep_count;
  utilisation.note(Host::system().now(), threads, asleep_count);
}

ThreadPool::Worker& ThreadPool::State::wake_one() noexcept {
  Worker& worker = *asleep;
  asleep = worker.below;
  --asleep_count;
  utilisation.note(Host::system().now(), threads, asleep_count);
  return worker;
}

ThreadPool::Worker* ThreadPool::State::call_searcher() noexcept {
  if (asleep == nullptr || lanes.size() <= jobs_per_searcher * static_cast<std::size_t>(searching)) return nullptr;
  Worker& worker = wake_one();
  worker.is_called = true;
  ++searching;
  return &worker;
}

void ThreadPool::State::note_idle() noexcept {
  if (is_stopping) {
    finish();
  } else {
    idle.notify_all();
  }
}

void ThreadPool::State::finish() noexcept {
  is_finished = true;
  while (asleep != nullptr) wake_one().parker.unpark();
  idle.notify_all();
  clock.notify_all();
}

void ThreadPool::State::spin(Worker& me) const noexcept {
  const Instant until = Host::system().now() + me.spin_for;
  do {
    for (unsigned look = 0; look < looks_per_clock; ++look) {
      if (waiting.load(std::memory_order_relaxed) != 0) {
        me.spin_for = spin_most;
        return;
      }
      internal::spin_pause();
    }
  } while (Host::system().now() < until);
}

// If a sleep was short, because work arrived soon after its beginning, the thread spins longer before its next sleep.
// Without this rule, a thread that once went to sleep too early would do so every time, and would delay the threads
// that wait for it.
void ThreadPool::State::park(Worker& me) const noexcept {
  const Instant began = Host::system().now();
  me.parker.park();
  const bool was_short = Host::system().now() - began < spin_most;
  me.spin_for = was_short ? spin_most : std::max(me.spin_for / 2, spin_least);
}

// Each time that another thread takes the lock, the cache lines of the queue move to another processor and back, which
// costs the posting thread as much time as several jobs.
void ThreadPool::State::gather() const noexcept {
  for (unsigned i = 0; i < gather_looks && waiting.load(std::memory_order_relaxed) < gathered; ++i) {
    for (unsigned pause = 0; pause < gather_pauses; ++pause) internal::spin_pause();
  }
}

}  // namespace keel
