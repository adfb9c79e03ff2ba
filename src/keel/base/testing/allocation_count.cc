#include "keel/base/testing/allocation_count.h"

namespace keel::internal {

constinit thread_local bool allocations_fail = false;

namespace {
constinit thread_local std::size_t allocation_count = 0;
}  // namespace

std::size_t allocations() noexcept { return allocation_count; }

}  // namespace keel::internal

#if !KEEL_SANITIZED
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);

void* malloc(std::size_t bytes) noexcept {
  ++keel::internal::allocation_count;
  return keel::internal::allocations_fail ? nullptr : __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  ++keel::internal::allocation_count;
  return keel::internal::allocations_fail ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* block, std::size_t bytes) noexcept {
  ++keel::internal::allocation_count;
  return keel::internal::allocations_fail ? nullptr : __libc_realloc(block, bytes);
}
}
#endif
