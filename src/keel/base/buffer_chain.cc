#include "keel/base/buffer_chain.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "keel/base/bug.h"
#include "keel/base/pool.h"

namespace keel {

struct BufferChain::Block {
  // Makes a block with an empty buffer that has room for `bytes`.
  static Block* make(std::size_t bytes) {
    Buffer buffer;
    buffer.reserve(bytes);
    return make(std::move(buffer));
  }
  static Block* make(Buffer&& buffer) {
    return new (pool_allocate(sizeof(Block))) Block{std::move(buffer), 0, nullptr};
  }
  static void free(Block* block) noexcept {
    block->~Block();
    pool_free(block, sizeof(Block));
  }

  std::string_view view() const noexcept { return buffer.view().substr(consumed); }
  std::size_t room() const noexcept { return buffer.capacity() - buffer.size(); }

  Buffer buffer;  // This buffer is never filled beyond its capacity, because growing would move its bytes.
  std::size_t consumed;
  Block* next;
};

void BufferChain::free_all(Block* blocks) noexcept {
  while (blocks != nullptr) Block::free(std::exchange(blocks, blocks->next));
}

void BufferChain::link(Block* blocks, Block* last) noexcept {
  (last_ != nullptr ? last_->next : first_) = blocks;
  if (open_ == nullptr) open_ = blocks;
  last_ = last;
}

// Makes room for `bytes` bytes in open_ and the blocks after it. If this function throws, the chain is unchanged.
void BufferChain::make_room(std::size_t bytes) {
  std::size_t room = 0;
  for (const Block* block = open_; block != nullptr; block = block->next) room += block->room();
  std::size_t next_bytes = last_ != nullptr ? 2 * last_->buffer.capacity() : 0;
  Block* blocks = nullptr;
  Block* last = nullptr;
  try {
    while (room < bytes) {
      next_bytes = std::min(std::max(next_bytes, bytes - room), block_bytes_max);
      Block* const made = Block::make(next_bytes);
      (last != nullptr ? last->next : blocks) = made;
      last = made;
      room += made->room();
    }
  } catch (...) {
    free_all(blocks);
    throw;
  }
  if (blocks != nullptr) link(blocks, last);
}

void BufferChain::append(std::string_view bytes) {
  if (bytes.empty()) return;
  make_room(bytes.size());
  size_ += bytes.size();
  while (true) {
    const std::string_view part = bytes.substr(0, open_->room());
    open_->buffer.append(part);
    bytes.remove_prefix(part.size());
    if (bytes.empty()) return;
    open_ = open_->next;
  }
}

void BufferChain::append(Buffer&& bytes) {
  if (bytes.empty()) return;
  Block* const block = Block::make(std::move(bytes));
  if (open_ != nullptr) {
    free_all(std::exchange(open_->next, nullptr));
    last_ = open_;
  }
  link(block, block);
  open_ = block;
  size_ += block->buffer.size();
}

std::string_view BufferChain::front() const noexcept {
  for (const Block* block = first_; block != nullptr; block = block->next) {
    if (!block->view().empty()) return block->view();
  }
  return {};
}

std::size_t BufferChain::gather(std::span<iovec> parts) const noexcept {
  std::size_t count = 0;
  for (const Block* block = first_; block != nullptr && count < parts.size(); block = block->next) {
    const std::string_view bytes = block->view();
    if (!bytes.empty()) parts[count++] = {const_cast<char*>(bytes.data()), bytes.size()};
  }
  return count;
}

std::size_t BufferChain::copy_to(std::span<char> into) const noexcept {
  std::size_t copied = 0;
  for (const Block* block = first_; block != nullptr && copied < into.size(); block = block->next) {
    const std::string_view part = block->view().substr(0, into.size() - copied);
    if (!part.empty()) std::memcpy(into.data() + copied, part.data(), part.size());
    copied += part.size();
  }
  return copied;
}

std::size_t BufferChain::reserve(std::span<iovec> parts, std::size_t bytes) {
  make_room(bytes);
  std::size_t count = 0;
  for (Block* block = open_; block != nullptr && count < parts.size() && bytes != 0; block = block->next) {
    const std::size_t room = std::min(block->room(), bytes);
    if (room == 0) continue;
    parts[count++] = {block->buffer.data() + block->buffer.size(), room};
    bytes -= room;
  }
  return count;
}

void BufferChain::commit(std::size_t bytes) {
  while (bytes != 0) {
    KEEL_EXPECT(open_ != nullptr, "commit() cannot add more bytes than the BufferChain has room for");
    const std::size_t part = std::min(open_->room(), bytes);
    open_->buffer.commit(part);
    size_ += part;
    bytes -= part;
    if (bytes != 0) open_ = open_->next;
  }
}

void BufferChain::consume(std::size_t bytes) {
  KEEL_EXPECT(bytes <= size_, "consume() cannot remove more bytes than the BufferChain holds");
  size_ -= bytes;
  if (size_ == 0) return clear();
  while (bytes != 0) {
    const std::size_t here = first_->view().size();
    if (bytes < here) {
      first_->consumed += bytes;
      return;
    }
    bytes -= here;
    Block::free(std::exchange(first_, first_->next));
  }
}

std::size_t BufferChain::read(std::span<char> into) noexcept {
  const std::size_t copied = copy_to(into);
  consume(copied);
  return copied;
}

void BufferChain::clear() noexcept {
  free_all(std::exchange(first_, nullptr));
  open_ = last_ = nullptr;
  size_ = 0;
}

}  // namespace keel
