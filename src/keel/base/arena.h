// keel/base/arena.h — an arena: memory that is freed as a whole, such as the memory of one request.
//
//   const Arena::Mark before = arena.mark();   // scratch memory in the middle of a request
//   sort_into(arena.array<Row>(count));
//   arena.rewind(before);                      // what was allocated since is gone, the rest stays
//
// allocate() bumps a pointer; objects are not freed individually. rewind() frees everything, but keeps the first block.
// Blocks come from the thread's pool (base/pool.h), so in steady state the heap is not touched. An arena runs no
// destructors: use it only for trivially destructible objects. For containers of the standard library, see
// arena_resource.h.
//
// Lifetime: allocated memory is valid until rewind(), a rewind() to an older mark, or destruction.
// Threads:  one at a time.
// Cost:     a compare and an add; a block from the pool when the current block is full.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "keel/base/check.h"

namespace keel {

class Arena {
  struct Block;

 public:
  static constexpr std::size_t alignment_max = 16;

  // The position up to which an arena had allocated when mark() was called.
  class Mark {
    friend class Arena;
    Block* block_ = nullptr;
    std::uintptr_t next_ = 0;
    std::size_t before_ = 0;
  };
  struct Statistics {
    std::size_t used;        // Allocated bytes, including alignment.
    std::size_t reserved;    // The total size of the blocks that the arena holds, in bytes.
    std::size_t high_water;  // The largest number of bytes in use at any time, over all rewinds.
    std::size_t chunks;      // The number of blocks that the arena holds.
  };

  Arena() = default;
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  ~Arena() { release(); }

  // `bytes` of memory aligned to `alignment` (a power of two, at most alignment_max). Never returns null; throws
  // std::bad_alloc if memory runs out.
  void* allocate(std::size_t bytes, std::size_t alignment = 8) {
    KEEL_DCHECK(alignment <= alignment_max && (alignment & (alignment - 1)) == 0,
                "the alignment must be a power of two, at most 16");
    // The aligned position cannot be beyond end_, because end_ is aligned to alignment_max. For a size of 0, the
    // subtraction wraps around, so the slow path is taken.
    const std::uintptr_t at = (next_ + alignment - 1) & ~(alignment - 1);
    if (bytes - 1 >= end_ - at) [[unlikely]]
      return allocate_slow(bytes, alignment);
    next_ = at + bytes;
    return reinterpret_cast<void*>(at);
  }
  template <class T>
  std::span<T> array(std::size_t count) {
    static_assert(
        std::is_trivially_destructible_v<T>,
        "an arena runs no destructors: put an object that needs one into a std::pmr container of an ArenaResource");
    static_assert(alignof(T) <= alignment_max,
                  "the elements of an array in an arena must not need an alignment above 16 bytes");
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, sizeof(T), &bytes)) bytes = SIZE_MAX;  // allocate() throws.
    return {static_cast<T*>(allocate(bytes, alignof(T))), count};
  }
  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    auto* to = static_cast<char*>(allocate(text.size(), 1));
    std::memcpy(to, text.data(), text.size());
    return {to, text.size()};
  }
  // Grows the last allocation: in place if there is room, otherwise by copying it.
  void* extend(void* last, std::size_t old_bytes, std::size_t new_bytes);

  // A position for rewind(), valid until the arena is rewound to an older mark or completely.
  Mark mark() const noexcept {
    Mark mark;
    mark.block_ = block_;
    mark.next_ = next_;
    mark.before_ = before_;
    return mark;
  }
  void rewind() noexcept;  // Frees everything, but keeps one block for the next user.
  // Frees everything allocated since the mark, and returns the blocks added since then to the pool.
  void rewind(Mark mark) noexcept;
  void release() noexcept;  // Frees everything and returns every block.
  std::size_t bytes_held() const noexcept { return held_; }
  Statistics statistics() const noexcept;  // Cost: a step for each block.

 private:
  struct Block {
    Block* previous;
    std::size_t bytes;
  };
  static constexpr std::size_t block_bytes = 4096;
  void* allocate_slow(std::size_t bytes, std::size_t alignment);
  std::size_t used() const noexcept;
  void note_use() noexcept;
  void drop_block() noexcept;

  std::uintptr_t next_ = 0;
  std::uintptr_t end_ = 0;
  Block* block_ = nullptr;
  std::size_t held_ = 0;
  std::size_t before_ = 0;  // Bytes used in the blocks before the current one.
  std::size_t most_ = 0;    // The largest number of bytes in use at any time before the last rewind.
};

}  // namespace keel
