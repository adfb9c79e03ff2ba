#include "keel/exec/thread_pool.h"

#include "keel/base/check.h"

namespace keel {

ThreadPool::ThreadPool(const ThreadPoolOptions& options) : options_(options) {
  KEEL_CHECK(options.threads > 0, "a thread pool has at least one thread");
  for (int i = 0; i < options_.threads; ++i) {
    const std::string thread_name = (options_.name + "-" + std::to_string(i)).substr(0, 15);
    threads_.push_back(Host::current().start_thread(thread_name.c_str(), [this] { work(); }));
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::push(Job& job) noexcept {
  job.next = nullptr;
  *last_ = &job;
  last_ = &job.next;
  ++queued_;
}

void ThreadPool::post(Job& job) noexcept {
  {
    std::lock_guard lock(mutex_);
    // While it drains, a running job may still bring work home; afterwards nobody would run it.
    KEEL_CHECK(!stopping_ || running_ > 0, "a thread pool is stopped after everything that posts to it");
    push(job);
  }
  wake_.notify_one();
}

bool ThreadPool::try_post(Job& job) noexcept {
  {
    std::lock_guard lock(mutex_);
    if (stopping_ || queued_ >= options_.queue_max) {
      ++refused_;
      return false;
    }
    push(job);
  }
  wake_.notify_one();
  return true;
}

void ThreadPool::stop() noexcept {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread->join();
  threads_.clear();
}

void ThreadPool::work() noexcept {
  Executor* before = Executor::set_current(this);
  std::unique_lock lock(mutex_);
  while (true) {
    // A running job may post once more, so a stopping pool's threads stay until the last one has returned.
    wake_.wait(lock, [this] { return first_ != nullptr || (stopping_ && running_ == 0); });
    if (first_ == nullptr) break;
    Job* job = first_;
    first_ = job->next;
    if (first_ == nullptr) last_ = &first_;
    --queued_;
    ++running_;
    lock.unlock();
    job->run(*job);
    lock.lock();
    --running_;
    ++executed_;
    if (stopping_ && running_ == 0) wake_.notify_all();
  }
  lock.unlock();
  Executor::set_current(before);
}

std::size_t ThreadPool::queued() const noexcept {
  std::lock_guard lock(mutex_);
  return queued_;
}
int ThreadPool::running() const noexcept {
  std::lock_guard lock(mutex_);
  return running_;
}
std::uint64_t ThreadPool::executed() const noexcept {
  std::lock_guard lock(mutex_);
  return executed_;
}
std::uint64_t ThreadPool::refused() const noexcept {
  std::lock_guard lock(mutex_);
  return refused_;
}

}  // namespace keel
