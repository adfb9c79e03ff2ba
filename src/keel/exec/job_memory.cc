#include "keel/exec/job_memory.h"

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "keel/base/sanitizers.h"

namespace keel {
namespace {

constexpr std::size_t line = 64;
constexpr int class_count = 2;  // The two size classes are 64 and 128 bytes.
constexpr std::size_t magazine_blocks = 64;

constexpr int class_of(std::size_t bytes) noexcept { return bytes <= line ? 0 : 1; }
constexpr std::size_t size_of(int i) noexcept { return line << i; }
static_assert(size_of(class_count - 1) == job_block_max);

// A free block. The first block of a magazine also links the magazines in the depot.
struct Block {
  Block* next;
  Block* next_magazine;
  std::size_t count;  // The number of blocks in a magazine.
};

struct Magazine {
  Block* first = nullptr;
  std::size_t count = 0;
};

// The depot: magazines of blocks that threads do not need.
struct Depot {
  std::mutex mutex;
  Block* magazines = nullptr;
};
constinit Depot depots[class_count];

void give(Depot& depot, Magazine& magazine) noexcept {
  Block* const first = std::exchange(magazine.first, nullptr);
  first->count = std::exchange(magazine.count, 0);
  std::lock_guard lock(depot.mutex);
  first->next_magazine = std::exchange(depot.magazines, first);
}

// Rack has no destructor, because with one, every access would first check whether the destructor is registered.
struct Rack {
  Magazine loaded, spare;
};
struct Racks {
  Rack of[class_count];
  bool end_with_thread;
};
thread_local constinit Racks racks{};

struct AtEnd {
  ~AtEnd() {
    for (int i = 0; i < class_count; ++i) {
      for (Magazine* magazine : {&racks.of[i].loaded, &racks.of[i].spare}) {
        if (magazine->first != nullptr) give(depots[i], *magazine);
      }
    }
  }
};
[[gnu::noinline]] void end_with_thread() noexcept {
  static thread_local AtEnd at_end;
  racks.end_with_thread = true;
}

// Divides one allocation into blocks.
void cut(int i, Magazine& magazine) {
  const std::size_t size = size_of(i);
  void* const memory = std::malloc(size * magazine_blocks + line - 1);
  if (memory == nullptr) throw std::bad_alloc();
  auto* at = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory) + line - 1) & ~(line - 1));
  for (std::size_t n = 0; n < magazine_blocks; ++n, at += size) {
    magazine.first = new (at) Block{magazine.first, nullptr, 0};
  }
  magazine.count = magazine_blocks;
}

[[gnu::noinline]] void load(int i, Rack& rack) {
  if (!racks.end_with_thread) end_with_thread();
  if (rack.spare.first != nullptr) {
    std::swap(rack.loaded, rack.spare);
    return;
  }
  {
    std::lock_guard lock(depots[i].mutex);
    if (Block* const first = depots[i].magazines) {
      depots[i].magazines = first->next_magazine;
      rack.loaded = {first, first->count};
      return;
    }
  }
  cut(i, rack.loaded);
}

[[gnu::noinline]] void unload(int i, Rack& rack) noexcept {
  if (!racks.end_with_thread) end_with_thread();
  if (rack.spare.first != nullptr) give(depots[i], rack.spare);
  std::swap(rack.loaded, rack.spare);
}

}  // namespace

void* job_allocate(std::size_t bytes) {
  if (KEEL_ADDRESS_SANITIZER || bytes > job_block_max) [[unlikely]] {
    void* const block = std::malloc(bytes);
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
  const int i = class_of(bytes);
  Rack& rack = racks.of[i];
  if (rack.loaded.first == nullptr) [[unlikely]]
    load(i, rack);
  Block* const block = rack.loaded.first;
  rack.loaded.first = block->next;
  --rack.loaded.count;
  return block;
}

void job_free(void* block, std::size_t bytes) noexcept {
  if (KEEL_ADDRESS_SANITIZER || bytes > job_block_max) [[unlikely]]
    return std::free(block);
  const int i = class_of(bytes);
  Rack& rack = racks.of[i];
  if (rack.loaded.count == magazine_blocks || !racks.end_with_thread) [[unlikely]]
    unload(i, rack);
  rack.loaded.first = new (block) Block{rack.loaded.first, nullptr, 0};
  ++rack.loaded.count;
}

}  // namespace keel
