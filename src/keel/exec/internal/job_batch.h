// keel/exec/internal/job_batch.h — the jobs that one thread has taken but not begun; other threads may take jobs from
// the batch.
//
// Jobs leave in order, whichever thread takes them. One atomic word holds the number of the current fill, the number of
// jobs in that fill, and how many of these jobs have left. The owner changes the word by addition. Other threads change
// the word by compare-and-exchange, which fails if the fill has ended in the meantime.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "keel/base/atomics.h"
#include "keel/exec/executor.h"

namespace keel::internal {

// Only a test that runs the operations in every order passes other template arguments.
template <class Atomics = StandardAtomics, std::size_t size = 64>
class BasicJobBatch {
 public:
  static constexpr std::size_t size_max = size;

  // The owner fills the batch when no job is left: put() for each job, then publish().
  void put(std::size_t i, Job& job) noexcept { jobs_[i].store(&job, std::memory_order_relaxed); }
  void publish(std::size_t count) noexcept {
    const std::uint64_t fill = (claim_.load(std::memory_order_relaxed) >> 32) + 1;
    claim_.store(fill << 32 | count << 16, std::memory_order_release);
  }

  // The owner's next job; null when no job is left.
  Job* take() noexcept {
    const std::uint64_t claim = claim_.fetch_add(1, std::memory_order_relaxed);
    const std::size_t i = next_of(claim);
    const std::size_t count = count_of(claim);
    if (i >= count) return nullptr;
    // Another processor has written the jobs, so the cache line of a later job is fetched while this job runs.
    if (i + 2 < count) __builtin_prefetch(jobs_[i + 2].load(std::memory_order_relaxed), 1);
    return jobs_[i].load(std::memory_order_relaxed);
  }
  // Takes a job on a thread other than the owner's; null when no job is left.
  Job* steal() noexcept {
    std::uint64_t claim = claim_.load(std::memory_order_acquire);
    while (next_of(claim) < count_of(claim)) {
      Job* const job = jobs_[next_of(claim)].load(std::memory_order_relaxed);
      if (claim_.compare_exchange_weak(claim, claim + 1, std::memory_order_acquire, std::memory_order_acquire)) {
        return job;
      }
    }
    return nullptr;
  }
  std::size_t left() const noexcept {
    const std::uint64_t claim = claim_.load(std::memory_order_acquire);
    return next_of(claim) < count_of(claim) ? count_of(claim) - next_of(claim) : 0;
  }

 private:
  static std::size_t next_of(std::uint64_t claim) noexcept { return claim & 0xffff; }
  static std::size_t count_of(std::uint64_t claim) noexcept { return claim >> 16 & 0xffff; }

  template <class T>
  using Atomic = typename Atomics::template Atomic<T>;
  // The bits from high to low: the number of the fill (32 bits), the count of jobs (16), and the index of the next job
  // (16).
  Atomic<std::uint64_t> claim_{0};
  std::array<Atomic<Job*>, size_max> jobs_{};
};

using JobBatch = BasicJobBatch<>;

}  // namespace keel::internal
