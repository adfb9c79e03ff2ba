// keel/base/mpsc_queue.h — a mailbox: any thread adds elements, and the owner takes all available elements.
//
//   MpscQueue<Job> mailbox;                                  // struct Job { Job* next; … };
//   if (mailbox.push(job)) wake(owner);                      // it was empty: the owner may be asleep
//   for (Job* job = mailbox.take_all(); job != nullptr;) {   // the owner: oldest first
//     Job* const next = job->next;                           // running may end the job
//     run(*job);
//     job = next;
//   }
//
// Elements are linked by their own `next`, so a push never allocates, fails or waits. Elements come out in the order in
// which their pushes took effect; elements pushed by one thread come out in the order of its calls.
//
// Lifetime: until an element is taken, it must not move and may be in only one queue, which uses its `next`. Destroying
//           a queue does not notify the elements in it.
// Threads:  push(), push_all() and empty() on any thread; take_all() only on the owner's thread.
// Cost:     a push is a compare-and-exchange, which is repeated whenever another thread was faster. take_all() costs
//           one exchange; if there are several elements, it also writes to each element, to reverse their order. On an
//           empty queue, take_all() costs only a load. A queue takes one cache line, 64 bytes. A queue with a separate
//           list for each producer would push without the atomic exchange, but would lose the order between producers.
// Source:   Treiber, IBM Research Report RJ 5118 (1986). Unlike Treiber's stack, this queue removes all elements
//           together and never the newest alone. Therefore a reused address (ABA) is harmless.

#pragma once

#include "keel/base/atomics.h"

namespace keel {

template <class T, class Atomics = StandardAtomics>
class MpscQueue {
 public:
  MpscQueue() = default;
  MpscQueue(const MpscQueue&) = delete;
  MpscQueue& operator=(const MpscQueue&) = delete;

  // Returns whether the queue was empty: when several threads push into an empty queue, exactly one push returns true
  // until the elements are taken.
  bool push(T& element) noexcept { return link(element, element); }
  // Pushes several elements, linked by `next` from `first` to `last`; they are taken one after another in that order.
  // Returns whether the queue was empty.
  bool push_all(T& first, T& last) noexcept {
    T* newest = nullptr;
    for (T* at = &first;;) {
      T* const next = at->next;
      at->next = newest;
      newest = at;
      if (at == &last) break;
      at = next;
    }
    return link(*newest, first);
  }

  // Takes all elements, linked by `next`, oldest first; null when there are none.
  T* take_all() noexcept {
    // Most calls find an empty queue; this load then avoids the exchange, which would take the cache line from the
    // pushing threads.
    if (newest_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    // The acquire makes each element visible in the state in which its thread pushed it.
    T* at = newest_.exchange(nullptr, std::memory_order_acquire);
    T* oldest = nullptr;
    while (at != nullptr) {
      T* const next = at->next;
      // A single element is not written to, because its cache line belongs to another processor.
      if (next != oldest) at->next = oldest;
      oldest = at;
      at = next;
    }
    return oldest;
  }

  // Relaxed: no element is read through this value.
  bool empty() const noexcept { return newest_.load(std::memory_order_relaxed) == nullptr; }

 private:
  // Pushes several elements, which are linked by `next` from `newest` to `oldest`.
  bool link(T& newest, T& oldest) noexcept {
    static_assert(
        requires(T& element, T* other) {
          element.next = other;
          other = element.next;
        }, "the elements of an MpscQueue must have a pointer `next` to their own type");
    T* before = newest_.load(
        std::memory_order_relaxed);  // This pointer is only compared and stored; nothing is read through it.
    do {
      oldest.next = before;
      // Release: the thread that takes the element sees the element and its link, and also the elements that were
      // pushed earlier, because this exchange belongs to the release sequence of the earlier pushes.
    } while (!newest_.compare_exchange_weak(before, &newest, std::memory_order_release, std::memory_order_relaxed));
    return before == nullptr;
  }

  alignas(cache_line) typename Atomics::template Atomic<T*> newest_{nullptr};  // Every push writes this cache line.
};

}  // namespace keel
