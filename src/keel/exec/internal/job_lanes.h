// keel/exec/internal/job_lanes.h — waiting jobs: first in, first out, for each priority.
//
// Jobs of priority High come first, then Normal, then Low. However, if 16 jobs in a row were taken from other lanes
// while a lane had a waiting job, the next job is taken from that lane, so that no lane starves: the lane's oldest job
// is the 17th job taken, or the 18th if two lanes reach this point together.
//
// Never allocates after construction: each lane keeps its next jobs as pointers in a ring, so that taking a job does
// not touch the jobs after it, and links the jobs that do not fit into the ring.
//
// Threads: one at a time.

#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "keel/exec/executor.h"

namespace keel::internal {

class JobFifo {
 public:
  // The ring has space for `ring` jobs, stored as pointers; `ring` must be a power of two.
  explicit JobFifo(std::size_t ring);
  JobFifo(const JobFifo&) = delete;
  JobFifo& operator=(const JobFifo&) = delete;

  void push(Job& job) noexcept;
  // Null when no job waits.
  Job* pop() noexcept;
  bool empty() const noexcept { return head_ == tail_; }

 private:
  std::unique_ptr<Job*[]> ring_;
  const std::size_t mask_;
  std::size_t head_ = 0;  // Number of jobs taken from the ring.
  std::size_t tail_ = 0;  // Number of jobs put into the ring.
  Job* first_ = nullptr;  // The first job that did not fit into the ring.
  Job** last_ = &first_;
};

class JobLanes {
 public:
  static constexpr int passes_max = 16;

  // `ring` is the size of the Normal lane's ring, rounded up to a power of two.
  explicit JobLanes(std::size_t ring);

  void push(Job& job, Priority priority) noexcept;
  Job* pop() noexcept;
  std::size_t size() const noexcept { return size_; }

 private:
  struct Lane {
    JobFifo jobs;
    int passed = 0;  // The number of jobs of other lanes that were taken while this lane's oldest job was waiting.
  };
  Job* take(Lane& from) noexcept;

  std::array<Lane, priority_count> lanes_;
  std::size_t size_ = 0;
};

}  // namespace keel::internal
