// keel/base/testing/allocation_count.h — counts this thread's heap allocations, for tests that expect none, and can
// make allocations fail, for tests of code that runs out of memory.
//
// In a program that uses this header and links keel::base_testing, malloc, calloc and realloc are replaced (operator
// new calls them too). A sanitizer replaces malloc, calloc and realloc itself; under a sanitizer, allocations() stays 0
// and no allocation is made to fail.

#pragma once

#include <cstddef>

#include "keel/base/sanitizers.h"

namespace keel::internal {

// The counter is behind a function call, because a compiler that saw the counter would assume that malloc does not
// change it.
std::size_t allocations() noexcept;

extern constinit thread_local bool allocations_fail;
// While a WithoutMemory exists, the allocations of its thread fail.
class WithoutMemory {
 public:
  WithoutMemory() noexcept { allocations_fail = true; }
  ~WithoutMemory() { allocations_fail = false; }
  WithoutMemory(const WithoutMemory&) = delete;
  WithoutMemory& operator=(const WithoutMemory&) = delete;
};

}  // namespace keel::internal
