// keel/base/pool.h — per-thread free lists for the blocks that every request needs.
//
// pool_allocate(bytes) gives a block of at least `bytes` (size classes are the multiples of 32 B up to 1 KiB, then the
// powers of two to 64 KiB; larger requests go to malloc); pool_free(block, bytes) returns it with the same number.
// Coroutine frames, arena blocks and buffers come from here, which is why the request path does not reach the heap in
// steady state. Blocks are reused last-in-first-out, and at most `retained_bytes_max` per class and thread are kept.
//
// Errors:  out of memory throws std::bad_alloc, as operator new does; a request then ends with 503.
// Threads: each thread has its own lists; a block may be freed on another thread than it came from.
// Cost:    two loads and a store. Under AddressSanitizer every call goes to malloc, so that misuse is found.

#pragma once

#include <cstddef>

namespace keel {

inline constexpr std::size_t pool_block_min = 32;
inline constexpr std::size_t pool_block_max = 64 * 1024;

void* pool_allocate(std::size_t bytes);
void pool_free(void* block, std::size_t bytes) noexcept;
// The usable size of a block that pool_allocate(bytes) gives.
std::size_t pool_block_size(std::size_t bytes) noexcept;
// Returns everything this thread keeps to the heap (tests; a thread's lists are freed when it ends).
void pool_trim() noexcept;

}  // namespace keel
