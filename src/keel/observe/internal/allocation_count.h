// keel/observe/internal/allocation_count.h — counts this thread's heap allocations, for tests that promise none, and
// refuses them, for tests of what happens then.
//
// Include it in one source file of a program: it replaces malloc, calloc and realloc (operator new ends there too).
// Under a sanitizer, which replaces them itself, allocations() stays 0 and nothing is refused.

#pragma once

#include <cstddef>

#include "keel/base/sanitizers.h"

namespace keel::internal {
constinit inline thread_local std::size_t allocation_count = 0;
inline std::size_t allocations() noexcept { return allocation_count; }

constinit inline thread_local bool allocations_fail = false;
// While one lives this thread gets no memory.
class WithoutMemory {
 public:
  WithoutMemory() noexcept { allocations_fail = true; }
  ~WithoutMemory() { allocations_fail = false; }
  WithoutMemory(const WithoutMemory&) = delete;
  WithoutMemory& operator=(const WithoutMemory&) = delete;
};
}  // namespace keel::internal

#if !KEEL_SANITIZED
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);

[[gnu::noinline]] void* malloc(std::size_t bytes) noexcept {
  ++keel::internal::allocation_count;
  return keel::internal::allocations_fail ? nullptr : __libc_malloc(bytes);
}
[[gnu::noinline]] void* calloc(std::size_t count, std::size_t bytes) noexcept {
  ++keel::internal::allocation_count;
  return keel::internal::allocations_fail ? nullptr : __libc_calloc(count, bytes);
}
[[gnu::noinline]] void* realloc(void* block, std::size_t bytes) noexcept {
  ++keel::internal::allocation_count;
  return keel::internal::allocations_fail ? nullptr : __libc_realloc(block, bytes);
}
}
#endif
