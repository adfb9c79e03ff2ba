// keel/base/mpmc_queue.h — a bounded queue that any number of threads push into and pop from.
//
//   MpmcQueue<Task> tasks(1024);
//   if (!tasks.try_push(std::move(task))) return fail(Code::ResourceExhausted, "too many tasks wait");
//   if (auto task = tasks.try_pop()) run(*task);
//
// Elements come out in the order in which their pushes began; elements pushed by one thread come out in the order of
// its calls.
//
// Result:   no call waits; the return value reports a full or an empty queue. A push that has begun but not ended hides
//           the elements after it: until it ends, try_pop() may report an empty queue although a later push has
//           returned. try_push() may report a full queue while the pop that makes room has not ended.
// Lifetime: remaining elements are destroyed with the queue; all threads must have stopped using the queue by then.
// Threads:  any.
// Cost:     no allocation after construction. A push or a pop is one store and one compare-and-exchange, which is
//           repeated whenever another thread was faster. Each slot takes 8 bytes in addition to the element. Where
//           there is one producer and one consumer, SpscRing (base/spsc_ring.h) is cheaper.
// Source:   D. Vyukov, "Bounded MPMC queue" (1024cores.net, 2010).

#pragma once

#include <bit>
#include <cstddef>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "keel/base/atomics.h"
#include "keel/base/check.h"

namespace keel {

template <class T, class Atomics = StandardAtomics>
class MpmcQueue {
  static_assert(std::is_nothrow_move_constructible_v<T>,
                "the elements of a queue must move without throwing: a slot that was claimed cannot be given back");

 public:
  static constexpr std::size_t capacity_max = std::size_t{1} << 40;

  // Room for `capacity` elements, rounded up to a power of two, but at least 2.
  explicit MpmcQueue(std::size_t capacity) : mask_(rounded(capacity) - 1), cells_(new Cell[mask_ + 1]) {
    // Relaxed: no other thread uses the queue yet.
    for (std::size_t i = 0; i <= mask_; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
  }
  ~MpmcQueue() {
    while (try_pop()) {
    }
    delete[] cells_;
  }
  MpmcQueue(const MpmcQueue&) = delete;
  MpmcQueue& operator=(const MpmcQueue&) = delete;

  // Returns false, and leaves `element` unchanged, when the queue is full.
  bool try_push(T&& element) noexcept {
    // The loaded position may be stale; the exchange below detects a stale position.
    std::size_t at = push_at_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[at & mask_];
      // Acquire: the thread that popped this cell's previous element has finished reading that element.
      const auto ahead = static_cast<std::ptrdiff_t>(cell.turn.load(std::memory_order_acquire) - at);
      if (ahead < 0) return false;  // The element of the previous round is still in the cell.
      if (ahead > 0) {
        at = push_at_.load(std::memory_order_relaxed);  // Another thread has filled the cell.
      } else if (push_at_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed, std::memory_order_relaxed)) {
        // Relaxed: the exchange only decides which thread owns the cell; `turn` publishes the content of the cell.
        ::new (static_cast<void*>(&cell.element)) T(std::move(element));
        cell.turn.store(at + 1, std::memory_order_release);  // A thread that sees this turn number sees the element.
        return true;
      }
    }
  }
  bool try_push(const T& element) {
    T copy(element);
    return try_push(std::move(copy));
  }

  // The oldest element; nullopt when the queue is empty.
  std::optional<T> try_pop() noexcept {
    std::size_t at = pop_at_.load(std::memory_order_relaxed);  // The loaded position may be stale, as in try_push().
    for (;;) {
      Cell& cell = cells_[at & mask_];
      // Acquire: the thread that pushed into this cell has finished writing the element.
      const auto ahead = static_cast<std::ptrdiff_t>(cell.turn.load(std::memory_order_acquire) - (at + 1));
      if (ahead < 0) return std::nullopt;  // The element of this round has not been pushed yet.
      if (ahead > 0) {
        at = pop_at_.load(std::memory_order_relaxed);  // Another thread has emptied the cell.
      } else if (pop_at_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed, std::memory_order_relaxed)) {
        std::optional<T> element(std::move(cell.element));
        cell.element.~T();
        // The release orders the read of this element before the write of the next round's element.
        cell.turn.store(at + mask_ + 1, std::memory_order_release);
        return element;
      }
    }
  }

  // The approximate number of elements, for metrics: a push or a pop is counted as soon as it has begun.
  std::size_t size() const noexcept {
    // Relaxed, because no element is read through the two loaded numbers. The numbers may come from different moments,
    // so a negative difference counts as 0.
    const std::size_t popped = pop_at_.load(std::memory_order_relaxed);
    const auto size = static_cast<std::ptrdiff_t>(push_at_.load(std::memory_order_relaxed) - popped);
    if (size < 0) return 0;
    return static_cast<std::size_t>(size) < capacity() ? static_cast<std::size_t>(size) : capacity();
  }
  std::size_t capacity() const noexcept { return mask_ + 1; }

 private:
  template <class Value>
  using Atomic = typename Atomics::template Atomic<Value>;

  struct Cell {
    Cell() noexcept {}
    ~Cell() {}
    // The value in cell i and round r: i + r * capacity while the cell is free, and i + r * capacity + 1 while it holds
    // an element.
    Atomic<std::size_t> turn{0};
    union {
      T element;
    };
  };

  static std::size_t rounded(std::size_t capacity) {
    KEEL_CHECK(capacity > 0 && capacity <= capacity_max, "the capacity of a queue must be from 1 to 2^40");
    // With a single cell, "full" and "free in the next round" would be the same number.
    return std::bit_ceil(capacity < 2 ? 2 : capacity);
  }

  // All threads read mask_, and no thread writes it.
  const std::size_t mask_;
  Cell* const cells_;
  // The number of pushes and pops that have begun.
  alignas(cache_line) Atomic<std::size_t> push_at_{0};
  alignas(cache_line) Atomic<std::size_t> pop_at_{0};
};

}  // namespace keel
