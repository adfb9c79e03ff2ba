// Makes sure that only one thread at a time does work that several threads request. No thread waits: if a request comes
// while a thread is doing the work, that thread does the work once more.

#pragma once

#include <atomic>
#include <cstdint>

#include "keel/base/atomics.h"

namespace keel::events::internal {

// Only a test that runs the operations in every order passes a different `Atomics`.
template <class Atomics = StandardAtomics>
class BasicTurn {
 public:
  // True: the caller has the turn. A caller that has the turn does the work and calls give_back(), and repeats both
  // steps until give_back() returns true. False: another thread has the turn. The thread that has the turn then does
  // the work once more, and sees everything that the caller did before this call.
  bool ask() noexcept { return asked_.fetch_add(1, std::memory_order_acq_rel) == 0; }
  // Returns false if another thread has asked for the turn in the meantime; the caller then keeps the turn.
  bool give_back() noexcept {
    std::uint64_t asked = 1;
    if (asked_.compare_exchange_strong(asked, 0, std::memory_order_acq_rel, std::memory_order_relaxed)) return true;
    asked_.exchange(1, std::memory_order_acq_rel);
    return false;
  }

 private:
  typename Atomics::template Atomic<std::uint64_t> asked_{0};  // 0: nobody has the turn.
};

using Turn = BasicTurn<>;

}  // namespace keel::events::internal
