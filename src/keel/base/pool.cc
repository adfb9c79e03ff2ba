#include "keel/base/pool.h"

#include <pthread.h>

#include <cstdlib>
#include <new>
#include <utility>

namespace keel {
namespace internal {
namespace {

constexpr std::size_t retained_bytes_max = 4 * 1024 * 1024;

static_assert(pool_class_of(pool_fine_max) == pool_fine_count - 1 &&
              pool_size_of(pool_fine_count - 1) == pool_fine_max);
static_assert(pool_class_of(pool_fine_max + 1) == pool_fine_count &&
              pool_size_of(pool_fine_count) == 2 * pool_coarse_min);
static_assert(pool_class_of(pool_block_max) == pool_class_count - 1 &&
              pool_size_of(pool_class_count - 1) == pool_block_max);

void free_all() noexcept {
  for (auto& [head, room] : pool_lists.classes) {
    while (head != nullptr) std::free(std::exchange(head, head->next));
    room = 0;
  }
}

void give_room() noexcept {
  for (int i = 0; i < pool_class_count; ++i) pool_lists.classes[i].room = retained_bytes_max / pool_size_of(i);
}

enum class Retains : unsigned char { NotYet, Yes, NoLonger };
thread_local constinit Retains retains = Retains::NotYet;

void end_of_thread(void*) noexcept {
  free_all();
  retains = Retains::NoLonger;
}

// Makes this thread keep freed blocks from now on, until it ends. The thread keeps no blocks if its end cannot be
// detected. The end is detected with a thread-specific key and not with the destructor of a thread_local, because
// registering that destructor allocates memory, and glibc aborts if there is none.
bool begin_to_retain() noexcept {
  struct Key {
    pthread_key_t key{};
    bool is_made = pthread_key_create(&key, end_of_thread) == 0;
  };
  static const Key end;
  if (!end.is_made || pthread_setspecific(end.key, &pool_lists) != 0) return false;
  retains = Retains::Yes;
  give_room();
  return true;
}

}  // namespace

void* pool_from_heap(std::size_t bytes) {
  // The block gets the full size of its class, so that pool_free() may keep it for any later request of that class.
  void* block = std::malloc(pool_block_size(bytes));
  if (block == nullptr) [[unlikely]]
    throw std::bad_alloc();
  return block;
}

void pool_free_without_room(void* block, std::size_t bytes) noexcept {
  const bool is_ours = !KEEL_ADDRESS_SANITIZER && bytes <= pool_block_max;
  if (!is_ours || retains != Retains::NotYet || !begin_to_retain()) return std::free(block);
  pool_free(block, bytes);
}

}  // namespace internal

void pool_trim() noexcept {
  internal::free_all();
  if (internal::retains == internal::Retains::Yes) internal::give_room();
}

}  // namespace keel
