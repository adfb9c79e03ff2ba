// keel/base/atomics.h — the atomics of the lock-free containers of base/, so that a test can put a model in its place.
//
// SpscRing, MpscQueue and MpmcQueue take their atomics as the last template argument, which only tests set. This file
// has the real ones; base/testing/interleaving.h has those of a checker that explores every schedule.

#pragma once

#include <atomic>
#include <cstddef>

namespace keel {

// The atomics of the standard library: the default.
struct StandardAtomics {
  template <class T>
  using Atomic = std::atomic<T>;
};

// Threads that write within this many bytes of each other slow each other down, although they share no data.
inline constexpr std::size_t cache_line = 64;

}  // namespace keel
