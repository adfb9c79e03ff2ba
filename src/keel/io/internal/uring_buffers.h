// keel/io/internal/uring_buffers.h — the buffers into which io_uring receives: a ring of the buffers that the kernel
// may fill (io_uring_register_buf_ring(3)), and names for the received bytes.
//
// A buffer belongs to the kernel from fill() until a completion names the buffer, and then to the engine until
// recycle(). Buffers that are held, or that wait during a pause, are called lent. When `lent_max` buffers are lent,
// further bytes are copied, and the copy gets a name of its own, so that connections without a reader do not use up the
// buffers of all other connections.
//
// The kernel gets no more buffers than it recently used: it fills buffers in the order in which it gets them, so the
// more buffers it has, the more pages are touched.
//
// Threads: the engine's thread.

#pragma once

#include <liburing.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "keel/base/result.h"
#include "keel/io/op.h"

namespace keel::io {

class UringBuffers {
 public:
  static constexpr unsigned count = 1024;  // A power of two: the size of the ring.
  // Large enough that a large message arrives as one completion. A small message touches only the first page of a
  // buffer.
  static constexpr std::uint32_t default_bytes = 16 * 1024;
  static constexpr unsigned lent_max = count / 2;
  static constexpr std::uint32_t none = Receive::none;

  // Makes buffers of `bytes` bytes each.
  explicit UringBuffers(std::uint32_t bytes = default_bytes) noexcept : bytes_(bytes), stride_(bytes + 64) {}
  UringBuffers(const UringBuffers&) = delete;
  // The ring must be destroyed before the buffers.
  ~UringBuffers();

  // Registers the buffers as group 0 of `ring`, and gives the first buffers to the kernel. Returns the system's error.
  Result<> set_up(io_uring& ring);

  std::uint32_t bytes() const noexcept { return bytes_; }
  // The bytes that `name` stands for, in a buffer or in a copy.
  char* at(std::uint32_t name) noexcept { return name < count ? memory_ + name * stride_ : known_[name].copy; }

  // --- Buffers that the kernel may fill.

  // Call it when the kernel has used a buffer.
  void note_used() noexcept { --in_ring_; }
  bool is_empty() const noexcept { return in_ring_ == 0; }
  // Gives buffers to the kernel until it has as many as it should have; the most recently used buffers come first.
  void fill() noexcept {
    int added = 0;
    for (; in_ring_ < wanted_ && (spares_ != 0 || used_ < count); ++in_ring_, ++added) {
      const unsigned buffer = spares_ != 0 ? spare_[--spares_] : used_++;
      io_uring_buf_ring_add(ring_, at(buffer), bytes_, static_cast<unsigned short>(buffer),
                            io_uring_buf_ring_mask(count), added);
    }
    if (added != 0) io_uring_buf_ring_advance(ring_, added);
  }
  // Call it when the kernel needed a buffer and had none: doubles the number of buffers that the next fill() gives to
  // the kernel.
  void want_more() noexcept { wanted_ = std::min(wanted_ * 2, count); }
  // Call it once in each iteration. After a window of iterations in which the ring was never half empty, end_turn()
  // halves the number of buffers that the kernel should have.
  void end_turn() noexcept {
    low_ = std::min(low_, in_ring_);
    if (++turns_ < window) return;
    if (low_ > wanted_ / 2) wanted_ = std::max(wanted_ / 2, few);
    low_ = wanted_;
    turns_ = 0;
  }
  unsigned wanted() const noexcept { return wanted_; }

  // --- Received bytes.

  // Makes a buffer available to fill() again; frees a copy.
  void recycle(std::uint32_t name) noexcept {
    if (name >= count) [[unlikely]]
      return free_copy(name);
    spare_[spares_++] = static_cast<std::uint16_t>(name);
  }
  // Keeps the first `size` bytes of `name` until take_back(), and returns the name under which they are kept: `name`
  // itself, or the name of a copy.
  std::uint32_t lend(std::uint32_t name, std::uint32_t size) noexcept {
    if (name >= count) return name;  // The name is that of a copy, which was made when the bytes had to wait.
    if (lent_ >= lent_max) [[unlikely]]
      return copy(name, size);
    ++lent_;
    return name;
  }
  // Call it when the lent buffer is no longer held, and no longer waits. The call does not recycle the buffer.
  void end_loan(std::uint32_t name) noexcept {
    if (name < count) --lent_;
  }
  void take_back(std::uint32_t name) noexcept {
    end_loan(name);
    recycle(name);
  }
  unsigned lent() const noexcept { return lent_; }

  // --- Chains of lent buffers whose bytes wait to be taken. A buffer is named by its number.

  void end_chain(std::uint32_t name, std::uint32_t size) noexcept {
    known_[name].next = none;
    known_[name].size = size;
  }
  void link(std::uint32_t name, std::uint32_t next) noexcept { known_[name].next = next; }
  std::uint32_t next_of(std::uint32_t name) const noexcept { return known_[name].next; }
  std::uint32_t size_of(std::uint32_t name) const noexcept { return known_[name].size; }

 private:
  // The minimum number of buffers that the kernel gets; it gets more when it runs out of buffers.
  static constexpr unsigned few = 128;
  // The number of iterations after which the kernel gets fewer buffers, if fewer would have been enough.
  static constexpr unsigned window = 1024;

  struct Known {
    std::uint32_t next;
    std::uint32_t size;
    char* copy;  // The bytes of a copy; names of copies begin at `count`.
  };

  [[gnu::noinline]] std::uint32_t copy(std::uint32_t name, std::uint32_t size) noexcept;
  [[gnu::noinline]] void free_copy(std::uint32_t name) noexcept;

  const std::uint32_t bytes_;
  // The buffers' first lines are in different cache sets: with a stride of 16384 all of them would share one set.
  const std::size_t stride_;
  io_uring_buf_ring* ring_ = nullptr;
  char* memory_ = nullptr;
  unsigned in_ring_ = 0;   // Buffers that the kernel may fill.
  unsigned wanted_ = few;  // The number of buffers that the kernel should have.
  unsigned low_ = few;     // The minimum of in_ring_ in this window.
  unsigned turns_ = 0;     // The number of iterations in this window so far.
  unsigned used_ = 0;      // Buffers from this index on were never touched.
  // The number of used buffers that are not in the ring; the most recently used one is at the end.
  unsigned spares_ = 0;
  std::uint16_t spare_[count];
  unsigned lent_ = 0;
  std::vector<Known> known_;        // The index is the name: the buffers come first, and then the copies.
  std::uint32_t free_name_ = none;  // The chain of names of freed copies.
};

}  // namespace keel::io
