// keel/base/buffer.h — a growable run of bytes from the thread's pool.
//
// Buffers are used for response bodies, for message heads that arrive in pieces, and for output that is assembled
// before it is sent. For a queue of bytes, use a BufferChain (base/buffer_chain.h).
//
// Ownership: owns its block; move-only. Views of the buffer's bytes are invalid after the buffer grows.
// Errors:    growing throws std::bad_alloc, and the bytes already written are kept. To commit more bytes than there is
//            room for, or to drop more bytes than the buffer holds, is a bug: builds without NDEBUG abort.
// Threads:   one at a time; the destructor may run on any thread.
// Cost:      appending is a compare and a copy; the buffer doubles when it grows; no heap allocation in steady state up
//            to 64 KiB.

#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/copy.h"

namespace keel {

class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      release();
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, 0);
    }
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) give_back();
  }

  char* data() noexcept { return data_; }
  const char* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  bool empty() const noexcept { return size_ == 0; }
  std::string_view view() const noexcept { return {data_, size_}; }

  void append(std::string_view text) {
    if (text.empty()) return;
    copy_short(reserve(text.size()), text.data(), text.size());
    size_ += text.size();
  }
  void push_back(char c) {
    *reserve(1) = c;
    ++size_;
  }
  // Returns room for `bytes` more bytes after the end; after writing there, call commit() with the number of bytes
  // written.
  char* reserve(std::size_t bytes) {
    if (capacity_ - size_ < bytes) [[unlikely]]
      grow(bytes);
    return data_ + size_;
  }
  void commit(std::size_t bytes) noexcept { resize(size_ + bytes); }
  void resize(std::size_t size) noexcept {
    KEEL_DCHECK(size <= capacity_, "a buffer cannot be larger than its capacity");
    size_ = size;
  }
  // Drops the first `bytes` bytes; the remaining bytes move to the front.
  void consume(std::size_t bytes) noexcept {
    KEEL_DCHECK(bytes <= size_, "consume() cannot remove more bytes than the buffer holds");
    size_ -= bytes;
    if (size_ != 0) std::memmove(data_, data_ + bytes, size_);
  }
  void clear() noexcept { size_ = 0; }  // Removes all bytes, but keeps the block.
  void release() noexcept {             // Returns the block to the pool.
    if (data_ == nullptr) return;
    give_back();
    data_ = nullptr;
    size_ = capacity_ = 0;
  }

 private:
  void give_back() noexcept;  // Returns the block to the pool, without changing the members.
  void grow(std::size_t more);
  void grow_further(std::size_t more);
  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace keel
