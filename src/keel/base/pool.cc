#include "keel/base/pool.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

#include "keel/base/sanitizers.h"

namespace keel {
namespace {

// What lives long and comes in numbers, a connection and the frame of its task, is small: there the steps are fine.
constexpr std::size_t fine_max = 1024;
constexpr int fine_count = fine_max / pool_block_min;
constexpr int class_count = fine_count + std::countr_zero(pool_block_max) - std::countr_zero(fine_max);
constexpr std::size_t retained_bytes_max = 4 * 1024 * 1024;

constexpr int class_of(std::size_t bytes) noexcept {
  if (bytes <= fine_max) return static_cast<int>((bytes - (bytes != 0)) / pool_block_min);
  return fine_count + std::bit_width(bytes - 1) - std::bit_width(fine_max);
}
constexpr std::size_t size_of(int i) noexcept {
  if (i < fine_count) return pool_block_min * static_cast<std::size_t>(i + 1);
  return fine_max << (i - fine_count + 1);
}
static_assert(class_of(fine_max + 1) == fine_count && size_of(fine_count) == 2 * fine_max);
static_assert(class_of(pool_block_max) == class_count - 1 && size_of(class_count - 1) == pool_block_max);

struct Free {
  Free* next;
};

// Without a destructor, which every access would have to ask about.
struct Lists {
  struct Class {
    Free* head;
    std::size_t count;
  };
  Class classes[class_count];
  bool end_with_thread;
};

thread_local constinit Lists lists{};

void trim() noexcept {
  for (auto& [head, count] : lists.classes) {
    while (head != nullptr) std::free(std::exchange(head, head->next));
    count = 0;
  }
}

struct AtEnd {
  ~AtEnd() { trim(); }
};
[[gnu::noinline]] void end_with_thread() noexcept {
  static thread_local AtEnd at_end;
  lists.end_with_thread = true;
}

constexpr auto counts_max = [] {
  std::array<std::size_t, class_count> most{};
  for (int i = 0; i < class_count; ++i) most[static_cast<std::size_t>(i)] = retained_bytes_max / size_of(i);
  return most;
}();

[[gnu::noinline]] void* from_heap(std::size_t bytes) {
  void* block = std::malloc(bytes);
  if (block == nullptr) [[unlikely]]
    throw std::bad_alloc();
  return block;
}

}  // namespace

std::size_t pool_block_size(std::size_t bytes) noexcept {
  return bytes > pool_block_max ? bytes : size_of(class_of(bytes));
}

void* pool_allocate(std::size_t bytes) {
  if (KEEL_ADDRESS_SANITIZER || bytes > pool_block_max) [[unlikely]]
    return from_heap(pool_block_size(bytes));
  const int i = class_of(bytes);
  Lists::Class& blocks = lists.classes[i];
  Free* block = blocks.head;
  if (block == nullptr) [[unlikely]]
    return from_heap(size_of(i));
  blocks.head = block->next;
  --blocks.count;
  return block;
}

void pool_free(void* block, std::size_t bytes) noexcept {
  if (KEEL_ADDRESS_SANITIZER || bytes > pool_block_max) [[unlikely]]
    return std::free(block);
  const int i = class_of(bytes);
  Lists::Class& blocks = lists.classes[i];
  if (blocks.count >= counts_max[static_cast<std::size_t>(i)]) [[unlikely]]
    return std::free(block);
  auto* free = static_cast<Free*>(block);
  free->next = blocks.head;
  blocks.head = free;
  ++blocks.count;
  if (!lists.end_with_thread) [[unlikely]]
    end_with_thread();
}

void pool_trim() noexcept {
  end_with_thread();
  trim();
}

}  // namespace keel
