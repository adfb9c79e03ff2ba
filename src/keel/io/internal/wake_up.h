// Whether an engine is being woken: one wake-up is enough for all that is queued until its owner looks, and nobody
// relies on one that is still waiting for the end of another worker's turn.
//
//   queue.push(job);                                              // first, by whoever wakes
//   if (wake_up.now()) write(eventfd, …);                         // any thread
//   if (wake_up.later()) queue_message();                         // a worker, whose turn may last
//   wake_up.leaves();  submit_messages();                         // as it ends
//   wake_up.came();  queue.take_all();                            // the owner, after each that arrives
//
// Threads: any, but came(): the owner's.
// Cost:    one atomic operation each, later() two. A cache line.

#pragma once

#include "keel/base/atomics.h"

namespace keel::io {

template <class Atomics = StandardAtomics>
class WakeUp {
 public:
  // True: the caller wakes the owner, immediately.
  bool now() noexcept { return state_.exchange(sent, std::memory_order_acq_rel) != sent; }

  // True: the caller does so later, with what it hands to the kernel then; until leaves() nobody else relies on it.
  bool later() noexcept {
    // Written, though unchanged: a thread that an earlier wake-up makes look sees what the caller has queued before.
    unsigned state = state_.fetch_add(0u, std::memory_order_acq_rel);
    if (state == none) {
      state_.compare_exchange_strong(state, waits, std::memory_order_acq_rel, std::memory_order_acquire);
    }
    return state != sent;
  }
  // What later() was true for is handed to the kernel next.
  void leaves() noexcept { state_.exchange(sent, std::memory_order_acq_rel); }

  // A wake-up has arrived; the owner looks afterwards.
  void came() noexcept { state_.exchange(none, std::memory_order_acq_rel); }

 private:
  static constexpr unsigned none = 0;
  static constexpr unsigned waits = 1;
  static constexpr unsigned sent = 2;
  alignas(cache_line) typename Atomics::template Atomic<unsigned> state_{none};
};

}  // namespace keel::io
