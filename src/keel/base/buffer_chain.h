// keel/base/buffer_chain.h — bytes in a chain of blocks: appended at the end, consumed at the front, never moved.
//
//   BufferChain output;                              // what is to be sent
//   output.append(head);                             // copied
//   output.append(std::move(body));                  // a Buffer is taken over as it is
//   iovec parts[16];
//   const ssize_t sent = ::writev(fd, parts, static_cast<int>(output.gather(parts)));
//   output.consume(static_cast<std::size_t>(sent));
//
//   const std::size_t count = input.reserve(parts, 64 * 1024);   // room, for a read into several places
//   input.commit(static_cast<std::size_t>(::readv(fd, parts, static_cast<int>(count))));
//   while (input.copy_to(header) == sizeof header && …) input.consume(…);
//
// A Buffer (base/buffer.h) is one run of bytes, and moves them when it grows and when its first bytes are consumed. Use
// a Buffer for bytes that are written once and sent as a whole, and a chain for a queue.
//
// Ownership: owns its blocks; move-only. Bytes stay where they are until they are consumed, even while more are
//            appended, so a write of the parts that gather() returned may continue during an append.
// Errors:    append() and reserve() throw std::bad_alloc, and leave the chain unchanged.
// Threads:   one at a time; the destructor may run on any thread.
// Cost:      the first block has at least 256 B; each new block is at least twice as large as the block before it, up
//            to 16 KiB. Blocks, and the records that link them, come from the thread's pool (pool.h), so the heap is
//            not used in steady state. An empty chain has no blocks.

#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include <sys/uio.h>

#include "keel/base/buffer.h"

namespace keel {

class BufferChain {
 public:
  static constexpr std::size_t block_bytes_max = 16 * 1024;

  BufferChain() = default;
  BufferChain(BufferChain&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)),
        open_(std::exchange(other.open_, nullptr)),
        last_(std::exchange(other.last_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  BufferChain& operator=(BufferChain&& other) noexcept {
    if (this != &other) {
      clear();
      first_ = std::exchange(other.first_, nullptr);
      open_ = std::exchange(other.open_, nullptr);
      last_ = std::exchange(other.last_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  ~BufferChain() { clear(); }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  void append(std::string_view bytes);
  void append(Buffer&& bytes);

  // The first contiguous bytes; empty only when the chain is empty. The view is valid until the bytes are consumed.
  std::string_view front() const noexcept;
  // Fills `parts` with the positions of the bytes, from the first byte on; returns the number of parts used. The parts
  // cover all bytes of the chain unless `parts` has too few elements.
  std::size_t gather(std::span<iovec> parts) const noexcept;
  // Copies the first bytes, as many as the chain holds and `into` has room for; returns their number.
  std::size_t copy_to(std::span<char> into) const noexcept;

  // Room for `bytes` bytes after the end, in at most parts.size() pieces; returns the number of pieces. The room may be
  // less than `bytes` if `parts` has too few elements. The room is valid until commit() or any other change of the
  // chain; bytes that are not committed are not in the chain.
  std::size_t reserve(std::span<iovec> parts, std::size_t bytes);
  // Adds the first `bytes` bytes of the reserved room, which the caller has written, to the chain.
  void commit(std::size_t bytes);

  // Drops the first `bytes` bytes, at most size().
  void consume(std::size_t bytes);
  // copy_to() and consume() in one call.
  std::size_t read(std::span<char> into) noexcept;
  void clear() noexcept;

 private:
  struct Block;
  void make_room(std::size_t bytes);
  void link(Block* blocks, Block* last) noexcept;
  static void free_all(Block* blocks) noexcept;

  // In order. The next byte is written into the block open_; the blocks after open_ are empty.
  Block* first_ = nullptr;
  Block* open_ = nullptr;
  Block* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace keel
