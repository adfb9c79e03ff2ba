// keel/base/atomics.h — the atomics of the lock-free containers of base/, which tests can replace by a model.
//
// SpscRing, MpscQueue and MpmcQueue take their atomics as the last template argument, which only tests set. This file
// has the real atomics; base/testing/interleaving.h has the atomics of a checker that explores every schedule.

#pragma once

#include <atomic>
#include <cstddef>

namespace keel {

// The atomics of the standard library: the default.
struct StandardAtomics {
  template <class T>
  using Atomic = std::atomic<T>;
};

// If two threads write to addresses closer to each other than this many bytes, each thread slows the other down,
// although they share no data.
inline constexpr std::size_t cache_line = 64;

}  // namespace keel
