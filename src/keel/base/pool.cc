#include "keel/base/pool.h"

#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

#include "keel/base/sanitizers.h"

namespace keel {
namespace {

constexpr int class_count = std::countr_zero(pool_block_max) - std::countr_zero(pool_block_min) + 1;
constexpr std::size_t retained_bytes_max = 4 * 1024 * 1024;

struct Free {
  Free* next;
};

struct Lists {
  Free* head[class_count] = {};
  std::size_t count[class_count] = {};

  ~Lists() { trim(); }
  void trim() noexcept {
    for (int i = 0; i < class_count; ++i) {
      while (head[i] != nullptr) std::free(std::exchange(head[i], head[i]->next));
      count[i] = 0;
    }
  }
};

thread_local constinit Lists lists;

int class_of(std::size_t bytes) noexcept {
  const std::size_t rounded = std::bit_ceil(bytes < pool_block_min ? pool_block_min : bytes);
  return std::countr_zero(rounded) - std::countr_zero(pool_block_min);
}

void* from_heap(std::size_t bytes) {
  void* block = std::malloc(bytes);
  if (block == nullptr) [[unlikely]]
    throw std::bad_alloc();
  return block;
}

}  // namespace

std::size_t pool_block_size(std::size_t bytes) noexcept {
  return bytes > pool_block_max ? bytes : pool_block_min << class_of(bytes);
}

void* pool_allocate(std::size_t bytes) {
  if (KEEL_ADDRESS_SANITIZER || bytes > pool_block_max) return from_heap(pool_block_size(bytes));
  const int i = class_of(bytes);
  Free* block = lists.head[i];
  if (block == nullptr) [[unlikely]]
    return from_heap(pool_block_min << i);
  lists.head[i] = block->next;
  --lists.count[i];
  return block;
}

void pool_free(void* block, std::size_t bytes) noexcept {
  if (KEEL_ADDRESS_SANITIZER || bytes > pool_block_max) {
    std::free(block);
    return;
  }
  const int i = class_of(bytes);
  if ((lists.count[i] + 1) * (pool_block_min << i) > retained_bytes_max) [[unlikely]] {
    std::free(block);
    return;
  }
  auto* free = static_cast<Free*>(block);
  free->next = lists.head[i];
  lists.head[i] = free;
  ++lists.count[i];
}

void pool_trim() noexcept { lists.trim(); }

}  // namespace keel
