// keel/base/pool.h — per-thread free lists for the blocks that every request needs.
//
// pool_allocate(bytes) returns a block of at least `bytes` (size classes are 8 B more than the multiples of 16 B up to
// 1,032 B, then the powers of two to 64 KiB; larger requests go to malloc). pool_free(block, bytes) gives the block
// back to the pool; `bytes` must be the number that was passed to pool_allocate(). Coroutine frames, arena blocks and
// buffers come from this pool, which is why the request path does not use the heap in steady state. Blocks are reused
// last-in-first-out, and at most `retained_bytes_max` per class and thread are kept.
//
// Errors:  out of memory throws std::bad_alloc, as operator new does; a request then ends with 503.
// Threads: each thread has its own lists; a block may be freed on a thread other than the one that allocated it.
// Cost:    two loads and a store. Under AddressSanitizer every call goes to malloc, so that misuse is found.

#pragma once

#include <cstddef>

#include "keel/base/sanitizers.h"

namespace keel {

// The smallest and the largest block of the pool, in bytes.
inline constexpr std::size_t pool_block_min = 24;
inline constexpr std::size_t pool_block_max = 64 * 1024;

namespace internal {

// Objects that live long and exist in large numbers, such as a connection and the frame of its task, are small. For
// small objects the size classes are close together, and match those of malloc (with its header of 8 B), so that no
// memory is wasted.
inline constexpr std::size_t pool_step = 16;
inline constexpr std::size_t pool_fine_max = 1032;
inline constexpr int pool_fine_count = (pool_fine_max - pool_block_min) / pool_step + 1;
// The smallest size class that is a power of two is twice this size.
inline constexpr std::size_t pool_coarse_min = 1024;
inline constexpr int pool_class_count =
    pool_fine_count + __builtin_ctzl(pool_block_max) - __builtin_ctzl(pool_coarse_min);

constexpr int pool_class_of(std::size_t bytes) noexcept {
  if (bytes <= pool_block_min) return 0;
  if (bytes <= pool_fine_max) return static_cast<int>((bytes - pool_block_min + pool_step - 1) / pool_step);
  return pool_fine_count + __builtin_clzl(pool_coarse_min) - __builtin_clzl(bytes - 1);
}
constexpr std::size_t pool_size_of(int i) noexcept {
  if (i < pool_fine_count) return pool_block_min + pool_step * static_cast<std::size_t>(i);
  return pool_coarse_min << (i - pool_fine_count + 1);
}

// PoolLists has no destructor, because otherwise every access would first check whether the destructor is registered.
struct PoolLists {
  struct Free {
    Free* next;
  };
  struct Class {
    Free* head;
    // The number of further blocks that the list may keep; zero until the thread's first block is returned.
    std::size_t room;
  };
  Class classes[pool_class_count];
};
constinit inline thread_local PoolLists pool_lists{};

void* pool_from_heap(std::size_t bytes);
void pool_free_without_room(void* block, std::size_t bytes) noexcept;

}  // namespace internal

// The usable size of a block that pool_allocate(bytes) returns.
constexpr std::size_t pool_block_size(std::size_t bytes) noexcept {
  return bytes > pool_block_max ? bytes : internal::pool_size_of(internal::pool_class_of(bytes));
}

inline void* pool_allocate(std::size_t bytes) {
  if (KEEL_ADDRESS_SANITIZER || bytes > pool_block_max) [[unlikely]]
    return internal::pool_from_heap(bytes);
  internal::PoolLists::Class& blocks = internal::pool_lists.classes[internal::pool_class_of(bytes)];
  internal::PoolLists::Free* const block = blocks.head;
  if (block == nullptr) [[unlikely]]
    return internal::pool_from_heap(bytes);
  blocks.head = block->next;
  ++blocks.room;
  return block;
}

inline void pool_free(void* block, std::size_t bytes) noexcept {
  if (KEEL_ADDRESS_SANITIZER || bytes > pool_block_max) [[unlikely]]
    return internal::pool_free_without_room(block, bytes);
  internal::PoolLists::Class& blocks = internal::pool_lists.classes[internal::pool_class_of(bytes)];
  if (blocks.room == 0) [[unlikely]]
    return internal::pool_free_without_room(block, bytes);
  --blocks.room;
  auto* const free = static_cast<internal::PoolLists::Free*>(block);
  free->next = blocks.head;
  blocks.head = free;
}

// Frees all blocks that this thread keeps. Only tests need this function, because a thread frees its blocks when it
// ends.
void pool_trim() noexcept;

}  // namespace keel
