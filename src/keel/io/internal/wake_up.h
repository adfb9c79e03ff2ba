// Records whether an engine is being woken. One wake-up is enough for all jobs that are queued before the engine's
// owner checks its queue. If a worker has queued a wake-up for the end of its own iteration, other threads do not rely
// on that wake-up: they wake the owner themselves.
//
//   queue.push(job);                                              // first, on the thread that wakes
//   if (wake_up.now()) write(eventfd, …);                         // any thread
//   if (wake_up.later()) queue_message();                         // a worker, in a possibly long iteration
//   wake_up.leaves();  submit_messages();                         // at the end of that iteration
//   wake_up.came();  queue.take_all();                            // the owner, after each wake-up
//
// Threads: any, except came(), which only the owner calls.
// Cost:    one atomic operation for each call, but two for a call of later(). The object occupies a cache line.

#pragma once

#include "keel/base/atomics.h"

namespace keel::io {

template <class Atomics = StandardAtomics>
class WakeUp {
 public:
  // True: the caller has to wake the owner immediately.
  bool now() noexcept { return state_.exchange(sent, std::memory_order_acq_rel) != sent; }

  // True: the caller wakes the owner later, together with the caller's next submission to the kernel. Until leaves() is
  // called, other threads do not rely on that wake-up.
  bool later() noexcept {
    // The value is written even if unchanged, so that a thread woken by an earlier wake-up sees everything that the
    // caller queued before this call.
    unsigned state = state_.fetch_add(0u, std::memory_order_acq_rel);
    if (state == none) {
      state_.compare_exchange_strong(state, waits, std::memory_order_acq_rel, std::memory_order_acquire);
    }
    return state != sent;
  }
  // Call it directly before submitting to the kernel the wake-up for which later() returned true.
  void leaves() noexcept { state_.exchange(sent, std::memory_order_acq_rel); }

  // Call it when a wake-up has arrived, before the owner checks its queue.
  void came() noexcept { state_.exchange(none, std::memory_order_acq_rel); }

 private:
  static constexpr unsigned none = 0;
  static constexpr unsigned waits = 1;
  static constexpr unsigned sent = 2;
  alignas(cache_line) typename Atomics::template Atomic<unsigned> state_{none};
};

}  // namespace keel::io
