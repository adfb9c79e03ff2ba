// keel/base/arena.h — memory that ends all at once: the memory of a request.
//
// allocate() bumps a pointer; nothing is freed alone. rewind() forgets everything and keeps the first block. Blocks
// come from the thread's pool (base/pool.h), so in steady state the heap is not touched. Destructors are not run:
// only trivially destructible things belong here.
//
// Lifetime: what was allocated is valid until rewind() or destruction.
// Threads:  one at a time.  Cost: a compare and an add; a pool block when the current one is full.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace keel {

class Arena {
 public:
  Arena() = default;
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  ~Arena() { release(); }

  // `bytes` of memory aligned to `alignment` (a power of two, at most 16). Never null: throws std::bad_alloc.
  void* allocate(std::size_t bytes, std::size_t alignment = 8) {
    const std::uintptr_t at = (next_ + alignment - 1) & ~(alignment - 1);
    if (at + bytes > end_ || next_ == 0) [[unlikely]]
      return allocate_slow(bytes, alignment);
    next_ = at + bytes;
    return reinterpret_cast<void*>(at);
  }
  template <class T>
  std::span<T> array(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 16);
    return {static_cast<T*>(allocate(count * sizeof(T), alignof(T))), count};
  }
  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    auto* to = static_cast<char*>(allocate(text.size(), 1));
    std::memcpy(to, text.data(), text.size());
    return {to, text.size()};
  }
  // Grows the block that was allocated last, in place when it fits, else by copying.
  void* extend(void* last, std::size_t old_bytes, std::size_t new_bytes);

  void rewind() noexcept;   // Forgets all; keeps one block for the next user.
  void release() noexcept;  // Forgets all; gives every block back.
  std::size_t bytes_held() const noexcept { return held_; }

 private:
  struct Block {
    Block* previous;
    std::size_t bytes;
  };
  static constexpr std::size_t block_bytes = 4096;
  void* allocate_slow(std::size_t bytes, std::size_t alignment);

  std::uintptr_t next_ = 0;
  std::uintptr_t end_ = 0;
  Block* block_ = nullptr;
  std::size_t held_ = 0;
};

}  // namespace keel
