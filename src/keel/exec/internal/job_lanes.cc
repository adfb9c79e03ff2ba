#include "keel/exec/internal/job_lanes.h"

#include <algorithm>
#include <bit>

namespace keel::internal {
namespace {

constexpr std::size_t small_ring = 64;
constexpr std::size_t ring_max = 4096;

}  // namespace

JobFifo::JobFifo(std::size_t ring) : ring_(std::make_unique<Job*[]>(ring)), mask_(ring - 1) {}

void JobFifo::push(Job& job) noexcept {
  if (first_ == nullptr && tail_ - head_ <= mask_) [[likely]] {
    ring_[tail_++ & mask_] = &job;
    return;
  }
  job.next = nullptr;
  *last_ = &job;
  last_ = &job.next;
}

Job* JobFifo::pop() noexcept {
  if (empty()) return nullptr;
  Job* const job = ring_[head_++ & mask_];
  if (first_ != nullptr) [[unlikely]] {
    ring_[tail_++ & mask_] = first_;
    first_ = first_->next;
    if (first_ == nullptr) last_ = &first_;
  }
  return job;
}

JobLanes::JobLanes(std::size_t ring)
    : lanes_{Lane{JobFifo(small_ring)}, Lane{JobFifo(std::bit_ceil(std::clamp(ring, small_ring, ring_max)))},
             Lane{JobFifo(small_ring)}} {}

void JobLanes::push(Job& job, Priority priority) noexcept {
  lanes_[static_cast<std::size_t>(priority)].jobs.push(job);
  ++size_;
}

Job* JobLanes::pop() noexcept {
  if (size_ == 0) return nullptr;
  auto& [high, normal, low] = lanes_;
  if (high.jobs.empty() && low.jobs.empty()) [[likely]] {
    --size_;
    normal.passed = 0;
    return normal.jobs.pop();
  }
  for (Lane* const lane : {&low, &normal}) {
    if (lane->passed >= passes_max) return take(*lane);
  }
  for (Lane& lane : lanes_) {
    if (!lane.jobs.empty()) return take(lane);
  }
  return nullptr;
}

Job* JobLanes::take(Lane& from) noexcept {
  for (Lane& lane : lanes_) {
    if (!lane.jobs.empty()) ++lane.passed;
  }
  from.passed = 0;
  --size_;
  return from.jobs.pop();
}

}  // namespace keel::internal
