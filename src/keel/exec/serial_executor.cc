#include "keel/exec/serial_executor.h"

#include <limits>

#include "keel/base/check.h"

namespace keel {
namespace {

constexpr int jobs_per_turn = 64;
constexpr std::size_t no_bound = std::numeric_limits<std::size_t>::max();

}  // namespace

SerialExecutor::SerialExecutor(Executor& below, const SerialExecutorOptions& options) noexcept
    : below_(below), options_(options) {}

SerialExecutor::~SerialExecutor() {
  KEEL_CHECK(current() != this, "a serial executor does not end inside one of its own jobs");
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return !has_turn_; });
}

bool SerialExecutor::push(Job& first, Job& last, std::size_t queue_max) noexcept {
  std::size_t count = 1;
  for (const Job* job = &first; job != &last; job = job->next) ++count;
  {
    std::lock_guard lock(mutex_);
    if (count > queue_max || queued_ > queue_max - count) return false;
    last.next = nullptr;
    *last_ = &first;
    last_ = &last.next;
    queued_ += count;
    // From here on its turn keeps it alive.
    if (has_turn_) return true;
    has_turn_ = true;
  }
  below_.post(turn_);
  return true;
}

void SerialExecutor::post(Job& job) noexcept { push(job, job, no_bound); }
void SerialExecutor::post_all(Job& first, Job& last) noexcept { push(first, last, no_bound); }
bool SerialExecutor::offer(Job& job) noexcept { return push(job, job, options_.queue_max); }
bool SerialExecutor::offer_all(Job& first, Job& last, std::size_t) noexcept {
  return push(first, last, options_.queue_max);
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
  if (first_ == nullptr) {
    has_turn_ = false;
    // Under the lock: whoever waits for this may end it once the lock is free.
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
