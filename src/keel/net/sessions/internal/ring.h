// The unacknowledged messages of one side, including messages that are not sent yet. The messages are numbered without
// gaps, and are limited in number and in bytes.
//
// Threads: one at a time; the ring may be moved to another thread.
// Cost:    each message is copied into a block of the pool; an empty ring holds no memory after release().

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/check.h"

namespace keel::sessions::internal {

// The bytes that a message takes from a window in addition to its payload.
inline constexpr std::size_t message_cost = 64;

class Ring {
 public:
  struct Message {
    std::uint16_t type = 0;
    std::uint64_t key = 0;
    Buffer payload;
    std::size_t cost() const noexcept { return payload.size() + message_cost; }
  };

  // The number of the oldest message; last() + 1 when the ring is empty.
  std::uint64_t first() const noexcept { return first_; }
  std::uint64_t last() const noexcept { return first_ + size_ - 1; }
  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept { return bytes_; }  // The sum of all costs.
  bool empty() const noexcept { return size_ == 0; }

  Message& operator[](std::uint64_t number) noexcept { return place(number); }
  const Message& operator[](std::uint64_t number) const noexcept { return place(number); }

  // Appends a message. After std::bad_alloc, the ring is unchanged.
  void push(std::uint16_t type, std::uint64_t key, Buffer&& payload);
  // Replaces the payload of the message with the number `number`.
  void replace(std::uint64_t number, Buffer&& payload) noexcept;
  void pop_front() noexcept;
  // Removes the messages up to and including `number`.
  void trim(std::uint64_t number) noexcept {
    while (size_ != 0 && first_ <= number) pop_front();
  }
  // Renumbers the messages, so that the oldest one has the number 1.
  void renumber();
  // Frees the memory of the ring if it is empty.
  void release() noexcept {
    if (size_ == 0) std::vector<Message>().swap(slots_);
  }

 private:
  Message& place(std::uint64_t number) noexcept { return slots_[number & (slots_.size() - 1)]; }
  const Message& place(std::uint64_t number) const noexcept { return slots_[number & (slots_.size() - 1)]; }
  void arrange(std::size_t slots, std::uint64_t first);

  std::vector<Message> slots_;  // The size of slots_ is a power of two, or zero.
  std::uint64_t first_ = 1;
  std::size_t size_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace keel::sessions::internal
