// keel/base/testing/allocation_count.h — counts this thread's heap allocations, for tests that expect none, and can
// make them fail, for tests of running out of memory.
//
// A program that calls one of these and links keel::base_testing has malloc, calloc and realloc replaced (operator new
// ends there too). Under a sanitizer, which replaces them itself, allocations() stays 0 and nothing is rejected.

#pragma once

#include <cstddef>

#include "keel/base/sanitizers.h"

namespace keel::internal {

// This is a function call because a compiler that saw the counter would assume that malloc does not change it.
std::size_t allocations() noexcept;

extern constinit thread_local bool allocations_fail;
// While such an object exists, this thread's allocations fail.
class WithoutMemory {
 public:
  WithoutMemory() noexcept { allocations_fail = true; }
  ~WithoutMemory() { allocations_fail = false; }
  WithoutMemory(const WithoutMemory&) = delete;
  WithoutMemory& operator=(const WithoutMemory&) = delete;
};

}  // namespace keel::internal
