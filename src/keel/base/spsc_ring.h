// keel/base/spsc_ring.h — a bounded queue from one thread to another, wait-free on both sides.
//
//   SpscRing<Sample> samples(1024);
//   if (!samples.try_push(sample)) ++lost;                 // the producer: it is full
//   while (auto sample = samples.try_pop()) use(*sample);  // the consumer: until it is empty
//
// Order is kept. Each side may handle many elements with a single store, and the consumer can read elements in place:
//
//   const std::span<Sample> waiting = samples.front();
//   write(waiting);
//   samples.pop(waiting.size());
//
// Result:   no call waits. A push to a full ring and a pop from an empty ring have no effect; the return value reports
//           this.
// Lifetime: remaining elements are destroyed with the ring; both threads must have stopped using the ring by then.
// Threads:  the producer's calls on one thread at a time, and the consumer's calls on one thread at a time; size() on
//           any thread.
// Cost:     no allocation after construction. A push and a pop are one store each. Each side caches the other's
//           position. A side reads the other's real position only when the cached position shows no room or no element,
//           because the read moves a cache line between processors.
// Source:   Lamport, "Specifying Concurrent Program Modules" (1983); for the cached positions, Lee, Bu and
//           Chandranmenon, "A Lock-Free, Cache-Efficient Shared Ring Buffer for Multi-Core Architectures" (2009).

#pragma once

#include <bit>
#include <cstddef>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "keel/base/atomics.h"
#include "keel/base/check.h"

namespace keel {

template <class T, class Atomics = StandardAtomics>
class SpscRing {
  static_assert(
      std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>,
      "the elements of a queue must move without throwing: an element that is half moved could be neither kept "
      "nor delivered");

 public:
  static constexpr std::size_t capacity_max = std::size_t{1} << 40;

  // Room for `capacity` elements, rounded up to a power of two.
  explicit SpscRing(std::size_t capacity)
      : mask_(rounded(capacity) - 1),
        slots_(static_cast<T*>(::operator new((mask_ + 1) * sizeof(T), std::align_val_t(slots_alignment)))) {}
  ~SpscRing() {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    for (std::size_t at = tail_.load(std::memory_order_relaxed); at != head; ++at) slots_[at & mask_].~T();
    ::operator delete(slots_, std::align_val_t(slots_alignment));
  }
  SpscRing(const SpscRing&) = delete;
  SpscRing& operator=(const SpscRing&) = delete;

  // ---- The producer.

  // Returns false, and leaves `element` unchanged, when the ring is full.
  bool try_push(T&& element) noexcept { return try_emplace(std::move(element)); }
  bool try_push(const T& element) noexcept(std::is_nothrow_copy_constructible_v<T>) { return try_emplace(element); }
  // Constructs the element in place; if its constructor throws, the ring is unchanged.
  template <class... Arguments>
  bool try_emplace(Arguments&&... arguments) noexcept(std::is_nothrow_constructible_v<T, Arguments...>) {
    const std::size_t head = head_.load(std::memory_order_relaxed);  // Relaxed: only this thread writes head_.
    if (room_after(head, 1) == 0) return false;
    ::new (static_cast<void*>(slots_ + (head & mask_))) T(std::forward<Arguments>(arguments)...);
    head_.store(head + 1, std::memory_order_release);  // A thread that sees the new head sees the element.
    return true;
  }
  // Moves as many of the first `elements` as fit into the ring, and returns their number.
  std::size_t push_some(std::span<T> elements) noexcept {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    const std::size_t room = room_after(head, elements.size());
    const std::size_t count = room < elements.size() ? room : elements.size();
    for (std::size_t i = 0; i < count; ++i) {
      ::new (static_cast<void*>(slots_ + ((head + i) & mask_))) T(std::move(elements[i]));
    }
    if (count != 0) head_.store(head + count, std::memory_order_release);  // One store publishes all elements.
    return count;
  }
  // Consecutive free places, into which the caller can write elements; empty when the ring is full. publish() pushes
  // the elements in the first `count` of these places. Use room() and publish() for elements that are plain bytes.
  std::span<T> room() noexcept
    requires(std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>)
  {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    const std::size_t free = room_after(head, capacity());
    const std::size_t to_end = capacity() - (head & mask_);
    return {slots_ + (head & mask_), free < to_end ? free : to_end};
  }
  void publish(std::size_t count) noexcept
    requires(std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>)
  {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    KEEL_CHECK(count <= capacity() - (head - tail_seen_),
               "publish() cannot add more elements than the ring had room for");
    head_.store(head + count, std::memory_order_release);  // A thread that sees the new head sees the written elements.
  }

  // ---- The consumer.

  // The oldest element; nullopt when the ring is empty.
  std::optional<T> try_pop() noexcept {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);  // Relaxed: only this thread writes tail_.
    if (waiting_after(tail, 1) == 0) return std::nullopt;
    T& slot = slots_[tail & mask_];
    std::optional<T> element(std::move(slot));
    slot.~T();
    // Release: the slot is read before the producer writes to it again.
    tail_.store(tail + 1, std::memory_order_release);
    return element;
  }
  // Moves the oldest elements into `into`, as many as the ring holds and `into` has room for; returns their number.
  std::size_t pop_some(std::span<T> into) noexcept {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    const std::size_t waiting = waiting_after(tail, into.size());
    const std::size_t count = waiting < into.size() ? waiting : into.size();
    for (std::size_t i = 0; i < count; ++i) {
      T& slot = slots_[(tail + i) & mask_];
      into[i] = std::move(slot);
      slot.~T();
    }
    if (count != 0) tail_.store(tail + count, std::memory_order_release);  // One store releases all slots.
    return count;
  }
  // The oldest elements, as far as they are consecutive in memory; empty when the ring is empty. The returned elements
  // stay in the ring until pop(count) removes the first `count` of them.
  std::span<T> front() noexcept {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    const std::size_t waiting = waiting_after(tail, capacity());
    const std::size_t to_end = capacity() - (tail & mask_);
    return {slots_ + (tail & mask_), waiting < to_end ? waiting : to_end};
  }
  void pop(std::size_t count) noexcept {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    KEEL_CHECK(count <= head_seen_ - tail, "pop() cannot remove more elements than front() returned");
    for (std::size_t i = 0; i < count; ++i) slots_[(tail + i) & mask_].~T();
    // Release: the elements are read before the producer overwrites them.
    tail_.store(tail + count, std::memory_order_release);
  }

  // ---- Any thread.

  // The size at some moment during the call; for metrics.
  std::size_t size() const noexcept {
    // The head is read after the tail, so that it is never behind the tail.
    const std::size_t tail = tail_.load(std::memory_order_acquire);
    const std::size_t size = head_.load(std::memory_order_relaxed) - tail;
    return size < capacity() ? size : capacity();
  }
  std::size_t capacity() const noexcept { return mask_ + 1; }

 private:
  static constexpr std::size_t slots_alignment = alignof(T) > cache_line ? alignof(T) : cache_line;
  using Index = typename Atomics::template Atomic<std::size_t>;  // An index only grows; its low bits select the slot.

  static std::size_t rounded(std::size_t capacity) {
    KEEL_CHECK(capacity > 0 && capacity <= capacity_max, "the capacity of a ring must be from 1 to 2^40");
    return std::bit_ceil(capacity);
  }
  std::size_t room_after(std::size_t head, std::size_t wanted) noexcept {
    if (capacity() - (head - tail_seen_) < wanted) {
      // Acquire: the consumer has finished reading the free places.
      tail_seen_ = tail_.load(std::memory_order_acquire);
    }
    return capacity() - (head - tail_seen_);
  }
  std::size_t waiting_after(std::size_t tail, std::size_t wanted) noexcept {
    // Acquire: the producer has finished writing the waiting elements.
    if (head_seen_ - tail < wanted) head_seen_ = head_.load(std::memory_order_acquire);
    return head_seen_ - tail;
  }

  const std::size_t mask_;
  T* const slots_;
  // Only the producer writes head_.
  alignas(cache_line) Index head_{0};
  std::size_t tail_seen_ = 0;
  // Only the consumer writes tail_.
  alignas(cache_line) Index tail_{0};
  std::size_t head_seen_ = 0;
};

}  // namespace keel
