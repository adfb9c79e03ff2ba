// keel/base/testing/allocation_count.h — counts this thread's heap allocations, for tests that promise none, and
// rejects them, for tests of what happens then.
//
// A program that calls one of these and links keel::base_testing has malloc, calloc and realloc replaced (operator new
// ends there too). Under a sanitizer, which replaces them itself, allocations() stays 0 and nothing is rejected.

#pragma once

#include <cstddef>

#include "keel/base/sanitizers.h"

namespace keel::internal {

// A call: a compiler that saw the counter would take it for unchanged by malloc, whose meaning it knows.
std::size_t allocations() noexcept;

extern constinit thread_local bool allocations_fail;
// While one lives this thread gets no memory.
class WithoutMemory {
 public:
  WithoutMemory() noexcept { allocations_fail = true; }
  ~WithoutMemory() { allocations_fail = false; }
  WithoutMemory(const WithoutMemory&) = delete;
  WithoutMemory& operator=(const WithoutMemory&) = delete;
};

}  // namespace keel::internal
