#include "keel/db/sqlite/memory.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "keel/base/pool.h"

namespace keel::db::sqlite {
namespace {

// Each block begins with its usable size. Blocks above pooled_max come from malloc: the pages of the cache are slightly
// larger than 4 KiB and live long, and the pool would round them up to a power of two, which would double the size of
// the cache.
constexpr std::size_t head = 8;
constexpr std::size_t pooled_max = 2048;

void* allocate(int wanted) noexcept {
  const std::size_t bytes = static_cast<std::size_t>(wanted) + head;
  const bool pooled = bytes <= pooled_max;
  void* block = nullptr;
  try {
    block = pooled ? pool_allocate(bytes) : std::malloc(bytes);
  } catch (const std::bad_alloc&) {
  }
  if (block == nullptr) return nullptr;  // SQLite turns the lack of memory into an error.
  const std::uint64_t usable = (pooled ? pool_block_size(bytes) : bytes) - head;
  std::memcpy(block, &usable, sizeof usable);
  return static_cast<char*>(block) + head;
}

std::size_t size_of(void* memory) noexcept {
  std::uint64_t usable = 0;
  std::memcpy(&usable, static_cast<char*>(memory) - head, sizeof usable);
  return usable;
}

void release(void* memory) noexcept {
  if (memory == nullptr) return;
  const std::size_t bytes = size_of(memory) + head;
  void* block = static_cast<char*>(memory) - head;
  if (bytes <= pooled_max) {
    pool_free(block, bytes);
  } else {
    std::free(block);
  }
}

void* reallocate(void* memory, int wanted) noexcept {
  const std::size_t usable = size_of(memory);
  if (static_cast<std::size_t>(wanted) <= usable && usable + head <= pooled_max) return memory;
  void* copy = allocate(wanted);
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, memory, std::min(usable, static_cast<std::size_t>(wanted)));
  release(memory);
  return copy;
}

int size_for_sqlite(void* memory) { return static_cast<int>(size_of(memory)); }
int round_up(int wanted) { return (wanted + 7) & ~7; }
int initialise(void*) { return SQLITE_OK; }
void shut_down(void*) {}

bool configure() noexcept {
  static const sqlite3_mem_methods methods = {&allocate, &release,    &reallocate, &size_for_sqlite,
                                              &round_up, &initialise, &shut_down,  nullptr};
  return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK &&
         sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK;
}

}  // namespace

void use_pool_memory() noexcept { [[maybe_unused]] static const bool configured = configure(); }

}  // namespace keel::db::sqlite
