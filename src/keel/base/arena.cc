#include "keel/base/arena.h"

#include <algorithm>
#include <utility>

#include "keel/base/pool.h"

namespace keel {

Arena::Arena(Arena&& other) noexcept
    : next_(std::exchange(other.next_, 0)),
      end_(std::exchange(other.end_, 0)),
      block_(std::exchange(other.block_, nullptr)),
      held_(std::exchange(other.held_, 0)) {}

void* Arena::allocate_slow(std::size_t bytes, std::size_t alignment) {
  const std::size_t wanted = std::max(block_bytes, bytes + sizeof(Block) + alignment);
  const std::size_t size = pool_block_size(wanted);
  auto* block = static_cast<Block*>(pool_allocate(size));
  block->previous = block_;
  block->bytes = size;
  block_ = block;
  held_ += size;
  next_ = reinterpret_cast<std::uintptr_t>(block + 1);
  end_ = reinterpret_cast<std::uintptr_t>(block) + size;
  const std::uintptr_t at = (next_ + alignment - 1) & ~(alignment - 1);
  next_ = at + bytes;
  return reinterpret_cast<void*>(at);
}

void* Arena::extend(void* last, std::size_t old_bytes, std::size_t new_bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(last);
  if (at + old_bytes == next_ && at + new_bytes <= end_) {
    next_ = at + new_bytes;
    return last;
  }
  void* moved = allocate(new_bytes, 16);
  if (old_bytes != 0) std::memcpy(moved, last, old_bytes);
  return moved;
}

void Arena::rewind() noexcept {
  if (block_ == nullptr) return;
  while (block_->previous != nullptr || block_->bytes > block_bytes) {
    Block* gone = std::exchange(block_, block_->previous);
    held_ -= gone->bytes;
    pool_free(gone, gone->bytes);
    if (block_ == nullptr) {
      next_ = end_ = 0;
      return;
    }
  }
  next_ = reinterpret_cast<std::uintptr_t>(block_ + 1);
  end_ = reinterpret_cast<std::uintptr_t>(block_) + block_->bytes;
}

void Arena::release() noexcept {
  while (block_ != nullptr) {
    Block* gone = std::exchange(block_, block_->previous);
    pool_free(gone, gone->bytes);
  }
  next_ = end_ = 0;
  held_ = 0;
}

}  // namespace keel
