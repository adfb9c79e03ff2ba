// keel/io/internal/uring_buffers.h — the buffers into which io_uring receives: a ring of those that the kernel may fill
// (io_uring_register_buf_ring(3)), and names for what has come in them.
//
// A buffer is the kernel's from fill() until a completion names it, then the engine's until recycle(). What is held or
// waits behind a pause is lent; beyond `lent_max` of them it is copied, and the copy's name stands for it, so that
// connections nobody reads from do not make the worker deaf to all others.
//
// The kernel has no more buffers than it lately used: it takes them in the order in which it gets them, so how many
// pages are touched depends on how many it has.
//
// Threads: the engine's.

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
  // Room for a large message, so that it comes as one completion. A small one touches the first page only.
  static constexpr std::uint32_t default_bytes = 16 * 1024;
  static constexpr unsigned lent_max = count / 2;
  static constexpr std::uint32_t none = Receive::none;

  // Of `bytes` each.
  explicit UringBuffers(std::uint32_t bytes = default_bytes) noexcept : bytes_(bytes), stride_(bytes + 64) {}
  UringBuffers(const UringBuffers&) = delete;
  // After the ring has ended.
  ~UringBuffers();

  // As group 0 of `ring`, with the first of them. An error is the system's.
  Result<> set_up(io_uring& ring);

  std::uint32_t bytes() const noexcept { return bytes_; }
  // What has come under that name.
  char* at(std::uint32_t name) noexcept { return name < count ? memory_ + name * stride_ : known_[name].copy; }

  // --- What the kernel may fill.

  // It has used one.
  void note_used() noexcept { --in_ring_; }
  bool is_empty() const noexcept { return in_ring_ == 0; }
  // Gives it what it is to have, those that were used last first.
  void fill() noexcept {
    int added = 0;
    for (; in_ring_ < wanted_ && (spares_ != 0 || used_ < count); ++in_ring_, ++added) {
      const unsigned buffer = spares_ != 0 ? spare_[--spares_] : used_++;
      io_uring_buf_ring_add(ring_, at(buffer), bytes_, static_cast<unsigned short>(buffer),
                            io_uring_buf_ring_mask(count), added);
    }
    if (added != 0) io_uring_buf_ring_advance(ring_, added);
  }
  // It had none when it needed one: twice as many from the next fill() on.
  void want_more() noexcept { wanted_ = std::min(wanted_ * 2, count); }
  // Once a turn: after a window in which the ring was never half empty, half of it is enough.
  void end_turn() noexcept {
    low_ = std::min(low_, in_ring_);
    if (++turns_ < window) return;
    if (low_ > wanted_ / 2) wanted_ = std::max(wanted_ / 2, few);
    low_ = wanted_;
    turns_ = 0;
  }
  unsigned wanted() const noexcept { return wanted_; }

  // --- What has come.

  // For fill(). A copy is freed.
  void recycle(std::uint32_t name) noexcept {
    if (name >= count) [[unlikely]]
      return free_copy(name);
    spare_[spares_++] = static_cast<std::uint16_t>(name);
  }
  // The name under which its first `size` bytes stay until take_back(): its own, or that of a copy.
  std::uint32_t lend(std::uint32_t name, std::uint32_t size) noexcept {
    if (name >= count) return name;  // Waited as a copy, is held as one.
    if (lent_ >= lent_max) [[unlikely]]
      return copy(name, size);
    ++lent_;
    return name;
  }
  // It is neither held nor waits any more, and not yet recycled.
  void end_loan(std::uint32_t name) noexcept {
    if (name < count) --lent_;
  }
  void take_back(std::uint32_t name) noexcept {
    end_loan(name);
    recycle(name);
  }
  unsigned lent() const noexcept { return lent_; }

  // --- What waits, lent, in chains by name.

  void end_chain(std::uint32_t name, std::uint32_t size) noexcept {
    known_[name].next = none;
    known_[name].size = size;
  }
  void link(std::uint32_t name, std::uint32_t next) noexcept { known_[name].next = next; }
  std::uint32_t next_of(std::uint32_t name) const noexcept { return known_[name].next; }
  std::uint32_t size_of(std::uint32_t name) const noexcept { return known_[name].size; }

 private:
  static constexpr unsigned few = 128;      // How many the kernel has at least; more when it runs out.
  static constexpr unsigned window = 1024;  // So many turns after which it has fewer again, when these would have done.

  struct Known {
    std::uint32_t next;
    std::uint32_t size;
    char* copy;  // Of names from `count` on.
  };

  [[gnu::noinline]] std::uint32_t copy(std::uint32_t name, std::uint32_t size) noexcept;
  [[gnu::noinline]] void free_copy(std::uint32_t name) noexcept;

  const std::uint32_t bytes_;
  // Buffers begin at different cache sets: with a stride of 16384 the first lines of all of them would share one.
  const std::size_t stride_;
  io_uring_buf_ring* ring_ = nullptr;
  char* memory_ = nullptr;
  unsigned in_ring_ = 0;   // Buffers that the kernel may fill.
  unsigned wanted_ = few;  // How many of them there are to be.
  unsigned low_ = few;     // The fewest there were at the end of a turn of this window.
  unsigned turns_ = 0;     // Of this window.
  unsigned used_ = 0;      // Those from here on were never touched.
  unsigned spares_ = 0;    // Used, and not in the ring; the one used last at the end.
  std::uint16_t spare_[count];
  unsigned lent_ = 0;
  std::vector<Known> known_;        // By name: the buffers, and then the copies.
  std::uint32_t free_name_ = none;  // Of copies that are no more, a chain.
};

}  // namespace keel::io
