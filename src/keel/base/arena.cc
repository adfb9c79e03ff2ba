#include "keel/base/arena.h"

#include <algorithm>
#include <new>
#include <utility>

#include "keel/base/pool.h"

namespace keel {

Arena::Arena(Arena&& other) noexcept
    : next_(std::exchange(other.next_, 0)),
      end_(std::exchange(other.end_, 0)),
      block_(std::exchange(other.block_, nullptr)),
      held_(std::exchange(other.held_, 0)),
      before_(std::exchange(other.before_, 0)),
      most_(std::exchange(other.most_, 0)) {}

void* Arena::allocate_slow(std::size_t bytes, std::size_t alignment) {
  static_assert(sizeof(Block) % alignment_max == 0 && pool_block_size(block_bytes) % alignment_max == 0);
  if (bytes == 0) return allocate(1, alignment);
  if (bytes > PTRDIFF_MAX - block_bytes) throw std::bad_alloc();
  const std::size_t wanted = sizeof(Block) + (bytes + alignment_max - 1) / alignment_max * alignment_max;
  const std::size_t size = pool_block_size(std::max(block_bytes, wanted));
  auto* block = static_cast<Block*>(pool_allocate(size));
  before_ = used();
  block->previous = block_;
  block->bytes = size;
  block_ = block;
  held_ += size;
  const auto at = reinterpret_cast<std::uintptr_t>(block + 1);
  next_ = at + bytes;
  end_ = reinterpret_cast<std::uintptr_t>(block) + size;
  return reinterpret_cast<void*>(at);
}

void* Arena::extend(void* last, std::size_t old_bytes, std::size_t new_bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(last);
  if (at + old_bytes == next_ && new_bytes <= end_ - at) {
    note_use();
    next_ = at + new_bytes;
    return last;
  }
  void* moved = allocate(new_bytes, 16);
  if (old_bytes != 0) std::memcpy(moved, last, old_bytes);
  return moved;
}

void Arena::drop_block() noexcept {
  Block* gone = std::exchange(block_, block_->previous);
  held_ -= gone->bytes;
  pool_free(gone, gone->bytes);
}

void Arena::rewind() noexcept {
  if (block_ == nullptr) return;
  note_use();
  before_ = 0;
  while (block_->previous != nullptr || block_->bytes > block_bytes) {
    drop_block();
    if (block_ == nullptr) {
      next_ = end_ = 0;
      return;
    }
  }
  next_ = reinterpret_cast<std::uintptr_t>(block_ + 1);
  end_ = reinterpret_cast<std::uintptr_t>(block_) + block_->bytes;
}

void Arena::rewind(Mark mark) noexcept {
  if (mark.block_ == nullptr) return rewind();
  note_use();
  std::uintptr_t last = next_;
  while (block_ != nullptr && block_ != mark.block_) {
    drop_block();
    if (block_ != nullptr) last = end_ = reinterpret_cast<std::uintptr_t>(block_) + block_->bytes;
  }
  KEEL_CHECK(block_ != nullptr && mark.next_ <= last,
             "an arena can rewind only to one of its own marks, and not to a mark that an earlier rewind() removed");
  next_ = mark.next_;
  before_ = mark.before_;
}

void Arena::release() noexcept {
  note_use();
  while (block_ != nullptr) drop_block();
  next_ = end_ = before_ = 0;
}

std::size_t Arena::used() const noexcept {
  return block_ == nullptr ? 0 : before_ + (next_ - reinterpret_cast<std::uintptr_t>(block_ + 1));
}

void Arena::note_use() noexcept { most_ = std::max(most_, used()); }

Arena::Statistics Arena::statistics() const noexcept {
  std::size_t chunks = 0;
  for (const Block* block = block_; block != nullptr; block = block->previous) ++chunks;
  return {used(), held_, std::max(most_, used()), chunks};
}

}  // namespace keel
