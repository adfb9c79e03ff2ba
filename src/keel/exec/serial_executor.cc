#include "keel/exec/serial_executor.h"

#include <atomic>
#include <limits>
#include <new>
#include <utility>

#include "keel/base/check.h"
#include "keel/exec/job_memory.h"

namespace keel {
namespace {

constexpr int jobs_per_turn = 64;
constexpr std::size_t no_bound = std::numeric_limits<std::size_t>::max();

}  // namespace

// A delayed job: first waits in the executor below until it is due, and is then posted to the SerialExecutor. The
// executor below keeps the delayed job until it has run that job, even if the SerialExecutor no longer exists.
struct SerialExecutor::Delayed final : Job, Link {
  Delayed(SerialExecutor& s, Job& j) noexcept : Job(&run_below), serial(s), job(j) {}

  static void run_below(Job& job) noexcept {
    auto& self = static_cast<Delayed&>(job);
    if (self.is_claimed.exchange(true, std::memory_order_acq_rel)) return self.free();
    self.is_discarded = discards();
    self.run = &run_here;
    self.serial.arrive(self);
  }
  static void run_here(Job& job) noexcept {
    auto& self = static_cast<Delayed&>(job);
    Job& due = self.job;
    const bool is_discarded = self.is_discarded;
    self.free();
    if (is_discarded) {
      discard(due);
    } else {
      due.run(due);
    }
  }
  void free() noexcept {
    this->~Delayed();
    job_free(this, sizeof(Delayed));
  }

  SerialExecutor& serial;
  Job& job;
  std::atomic<bool> is_claimed{false};  // The job is claimed when its time has come, or when the serial executor ends.
  bool is_discarded = false;
};

SerialExecutor::SerialExecutor(Executor& below, const SerialExecutorOptions& options) noexcept
    : below_(below), options_(options) {}

SerialExecutor::~SerialExecutor() {
  KEEL_CHECK(current() != this, "a serial executor must not be destroyed inside one of its own jobs");
  discard_delayed();
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return !has_turn_; });
}

bool SerialExecutor::push(Job& first, Job& last, std::size_t queue_max) noexcept {
  std::size_t count = 1;
  for (const Job* job = &first; job != &last; job = job->next) ++count;
  {
    std::lock_guard lock(mutex_);
    if (count > queue_max || queued_ > queue_max - count) return false;
    append(first, last, count);
    // From this point on, the posted turn_ keeps this executor alive.
    if (std::exchange(has_turn_, true)) return true;
  }
  below_.post(turn_);
  return true;
}

void SerialExecutor::append(Job& first, Job& last, std::size_t count) noexcept {
  last.next = nullptr;
  *last_ = &first;
  last_ = &last.next;
  queued_ += count;
}

void SerialExecutor::post(Job& job) noexcept { push(job, job, no_bound); }
void SerialExecutor::post_all(Job& first, Job& last) noexcept { push(first, last, no_bound); }
bool SerialExecutor::offer(Job& job) noexcept { return push(job, job, options_.queue_max); }
bool SerialExecutor::offer_all(Job& first, Job& last, std::size_t) noexcept {
  return push(first, last, options_.queue_max);
}

bool SerialExecutor::offer_after(Job& job, Duration delay) noexcept {
  Delayed* delayed = nullptr;
  try {
    delayed = new (job_allocate(sizeof(Delayed))) Delayed(*this, job);
  } catch (const std::bad_alloc&) {
    return false;
  }
  {
    std::lock_guard lock(mutex_);
    if (is_ending_ || delayed_count_ >= options_.queue_max) {
      delayed->free();
      return false;
    }
    delayed_.push_back(*delayed);
    ++delayed_count_;
  }
  if (below_.offer_after(*delayed, delay)) return true;
  std::lock_guard lock(mutex_);
  delayed->unlink();
  --delayed_count_;
  delayed->free();
  return false;
}

// Called when `delayed` is due, or when the executor below discards it.
void SerialExecutor::arrive(Delayed& delayed) noexcept {
  {
    std::lock_guard lock(mutex_);
    delayed.unlink();
    --delayed_count_;
    append(delayed, delayed, 1);
    if (std::exchange(has_turn_, true)) return;
  }
  below_.post(turn_);
}

void SerialExecutor::discard_delayed() noexcept {
  std::unique_lock lock(mutex_);
  is_ending_ = true;
  Job* first = nullptr;
  Job** last = &first;
  List<Link> arriving;
  while (Link* const link = delayed_.pop_front()) {
    auto& delayed = static_cast<Delayed&>(*link);
    Job& job = delayed.job;
    if (delayed.is_claimed.exchange(true, std::memory_order_acq_rel)) {
      arriving.push_back(*link);
      continue;
    }
    // `delayed` may already be destroyed, but its job still exists.
    job.next = nullptr;
    *last = &job;
    last = &job.next;
  }
  delayed_.splice_back(arriving);
  idle_.wait(lock, [this] { return !has_turn_ && delayed_.empty(); });
  if (first == nullptr) return;
  has_turn_ = true;
  lock.unlock();
  Executor* const before = set_current(this);
  while (first != nullptr) discard(*std::exchange(first, first->next));
  set_current(before);
  lock.lock();
  end_turn(lock);
}

void SerialExecutor::take_turn() noexcept {
  Executor* const before = set_current(this);
  std::unique_lock lock(mutex_);
  for (int i = 0; i < jobs_per_turn && first_ != nullptr; ++i) {
    Job* const job = first_;
    first_ = job->next;
    if (first_ == nullptr) last_ = &first_;
    --queued_;
    lock.unlock();
    job->run(*job);
    lock.lock();
  }
  set_current(before);
  end_turn(lock);
}

void SerialExecutor::end_turn(std::unique_lock<std::mutex>& lock) noexcept {
  if (first_ == nullptr) {
    has_turn_ = false;
    // Notifies under the lock, because the thread that waits for this notification may destroy the executor once the
    // lock is free.
    idle_.notify_all();
    return;
  }
  lock.unlock();
  below_.post(turn_);
}

std::size_t SerialExecutor::queued() const noexcept {
  std::lock_guard lock(mutex_);
  return queued_;
}

}  // namespace keel
