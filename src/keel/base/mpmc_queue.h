// keel/base/mpmc_queue.h — a bounded queue that any number of threads push into and pop from.
//
//   MpmcQueue<Task> tasks(1024);
//   if (!tasks.try_push(std::move(task))) return fail(Code::ResourceExhausted, "too many tasks wait");
//   if (auto task = tasks.try_pop()) run(*task);
//
// Elements come out in the order in which their pushes began; those of one thread in the order of its calls.
//
// Result:   full and empty are return values: no call waits. A push that has begun but not ended hides the elements
//           after it: until it ends, try_pop() may report an empty queue although a later push has returned. In the
//           same way, try_push() may report a full queue while the pop that makes room has not ended.
// Lifetime: remaining elements are destroyed with the queue; all threads have stopped using it by then.
// Threads:  any.
// Cost:     no allocation after construction. A push or a pop is one compare-and-exchange, repeated each time that
//           another thread was faster, and one store. Each place takes 8 bytes in addition to the element. Where there
//           is one producer and one consumer, SpscRing (base/spsc_ring.h) is cheaper.
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
                "the elements of a queue move without throwing: a slot that was claimed cannot be given back");

 public:
  static constexpr std::size_t capacity_max = std::size_t{1} << 40;

  // Room for `capacity` elements, rounded up to a power of two; two at least.
  explicit MpmcQueue(std::size_t capacity) : mask_(rounded(capacity) - 1), cells_(new Cell[mask_ + 1]) {
    // No other thread uses the queue yet.
    for (std::size_t i = 0; i <= mask_; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
  }
  ~MpmcQueue() {
    while (try_pop()) {
    }
    delete[] cells_;
  }
  MpmcQueue(const MpmcQueue&) = delete;
  MpmcQueue& operator=(const MpmcQueue&) = delete;

  // False when full; `element` is untouched then.
  bool try_push(T&& element) noexcept {
    // This value may be stale; the exchange below detects that.
    std::size_t at = push_at_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[at & mask_];
      // Acquire: the thread that popped from this cell has read it.
      const auto ahead = static_cast<std::ptrdiff_t>(cell.turn.load(std::memory_order_acquire) - at);
      if (ahead < 0) return false;  // The element of the previous round is still in the cell.
      if (ahead > 0) {
        at = push_at_.load(std::memory_order_relaxed);  // Another thread has filled it.
      } else if (push_at_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed, std::memory_order_relaxed)) {
        // Relaxed: the exchange only decides which thread owns the cell; its content is passed on by `turn`.
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

  // The oldest element; nothing when empty.
  std::optional<T> try_pop() noexcept {
    std::size_t at = pop_at_.load(std::memory_order_relaxed);  // As in try_push.
    for (;;) {
      Cell& cell = cells_[at & mask_];
      // Acquire: the thread that pushed into this cell has written it.
      const auto ahead = static_cast<std::ptrdiff_t>(cell.turn.load(std::memory_order_acquire) - (at + 1));
      if (ahead < 0) return std::nullopt;  // No element was ever pushed into this slot.
      if (ahead > 0) {
        at = pop_at_.load(std::memory_order_relaxed);  // Another thread has emptied it.
      } else if (pop_at_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed, std::memory_order_relaxed)) {
        std::optional<T> element(std::move(cell.element));
        cell.element.~T();
        // The release orders this read before the write of the next round.
        cell.turn.store(at + mask_ + 1, std::memory_order_release);
        return element;
      }
    }
  }

  // The approximate number of elements, including begun pushes and pops; for metrics.
  std::size_t size() const noexcept {
    // No element is read through these values, and they may come from different moments: a negative size counts as 0.
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
    // The value of cell i in round r: i + r * capacity when it is free, one more when it holds its element.
    Atomic<std::size_t> turn{0};
    union {
      T element;
    };
  };

  static std::size_t rounded(std::size_t capacity) {
    KEEL_CHECK(capacity > 0 && capacity <= capacity_max, "a queue has room for one element, and for 2^40 at most");
    // With a single cell, "full" and "free in the next round" would be the same number.
    return std::bit_ceil(capacity < 2 ? 2 : capacity);
  }

  // All threads read it, and none writes it.
  const std::size_t mask_;
  Cell* const cells_;
  // The number of pushes and pops that have begun.
  alignas(cache_line) Atomic<std::size_t> push_at_{0};
  alignas(cache_line) Atomic<std::size_t> pop_at_{0};
};

}  // namespace keel
