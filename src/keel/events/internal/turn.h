// One thread at a time does what several ask for, and none waits: who asks while another has the turn leaves it to that
// one, which looks once more before it goes.

#pragma once

#include <atomic>
#include <cstdint>

#include "keel/base/atomics.h"

namespace keel::events::internal {

// The argument is given by a test of every order of its operations alone.
template <class Atomics = StandardAtomics>
class BasicTurn {
 public:
  // True: the caller has the turn, works, and gives it back until that is true. False: who has it works once more, and
  // then sees what the caller did before it asked.
  bool ask() noexcept { return asked_.fetch_add(1, std::memory_order_acq_rel) == 0; }
  // False: somebody has asked meanwhile, and the turn stays.
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
