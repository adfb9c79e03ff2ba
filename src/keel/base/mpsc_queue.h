// keel/base/mpsc_queue.h — a mailbox: any thread adds elements, and its owner takes all available ones.
//
//   MpscQueue<Job> mailbox;                                  // struct Job { Job* next; … };
//   if (mailbox.push(job)) wake(owner);                      // it was empty: the owner may be asleep
//   for (Job* job = mailbox.take_all(); job != nullptr;) {   // the owner: oldest first
//     Job* const next = job->next;                           // running may end the job
//     run(*job);
//     job = next;
//   }
//
// Elements are linked by their own `next`, so a push never allocates, fails or waits. They come out in the order in
// which their pushes took effect; those of one thread in the order of its calls.
//
// Lifetime: until an element is taken, it must not move and may be in only one queue, which uses its `next`. Elements
//           of a destroyed queue are not notified.
// Threads:  push(), push_all() and empty() on any; take_all() only on the owner's.
// Cost:     a push is a compare-and-exchange, repeated each time that another thread was faster. Taking all elements is
//           one exchange, and a write to each element to reverse their order, unless there is only one; an empty queue
//           costs a load. A queue takes one cache line, 64 bytes. A queue with a separate list for each producer would
//           push without the atomic exchange, but would lose the order between producers.
// Source:   R. K. Treiber, "Systems Programming: Coping with Parallelism" (1986). Unlike his stack, this queue removes
//           all elements together and never the top alone, so that a reused address (ABA) is harmless.

#pragma once

#include "keel/base/atomics.h"

namespace keel {

template <class T, class Atomics = StandardAtomics>
class MpscQueue {
 public:
  MpscQueue() = default;
  MpscQueue(const MpscQueue&) = delete;
  MpscQueue& operator=(const MpscQueue&) = delete;

  // Returns whether the queue was empty: of several threads that push into an empty queue, exactly one gets true until
  // elements are taken.
  bool push(T& element) noexcept { return link(element, element); }
  // The same for several elements, linked by `next` from `first` to `last`: they are taken one after another, in that
  // order.
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
    // Most checks find nothing; in that case the cache line stays with the pushing threads.
    if (newest_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    // The acquire makes each element visible as its pusher left it.
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

  // No element is read through this value.
  bool empty() const noexcept { return newest_.load(std::memory_order_relaxed) == nullptr; }

 private:
  // `newest` is linked to `oldest` by `next`.
  bool link(T& newest, T& oldest) noexcept {
    static_assert(
        requires(T& element, T* other) {
          element.next = other;
          other = element.next;
        }, "the elements of an MpscQueue have a pointer `next` to their own type");
    T* before = newest_.load(
        std::memory_order_relaxed);  // This pointer is only compared and stored; nothing is read through it.
    do {
      oldest.next = before;
      // Release: the thread that takes it sees the element and its link. Elements pushed earlier stay visible, because
      // an exchange of a released value releases it again.
    } while (!newest_.compare_exchange_weak(before, &newest, std::memory_order_release, std::memory_order_relaxed));
    return before == nullptr;
  }

  alignas(cache_line) typename Atomics::template Atomic<T*> newest_{nullptr};  // Every push writes this cache line.
};

}  // namespace keel
