// keel/exec/internal/parker.h — one thread that sleeps until another wakes it: a futex (futex(2)).
//
// An unpark() that comes before park() is kept: the next park() returns immediately. After park(), the thread sees what
// was done before each unpark() that this park() consumes. park() may be called by only one thread.

#pragma once

#include <atomic>
#include <cstdint>

namespace keel::internal {

void futex_sleep_while(const void* at, std::uint32_t value) noexcept;
void futex_wake_one(const void* at) noexcept;

struct Futexes {
  template <class T>
  class Atomic : public std::atomic<T> {
    static_assert(sizeof(T) == sizeof(std::uint32_t));

   public:
    using std::atomic<T>::atomic;
    // Sleeps until a wake_one() if `value` is the newest value; also returns for a signal, or spuriously.
    void sleep_while(T value) noexcept { futex_sleep_while(this, value); }
    void wake_one() noexcept { futex_wake_one(this); }
  };
};

// Only a test that runs the operations in every order passes another template argument.
template <class Atomics = Futexes>
class BasicParker {
 public:
  void park() noexcept {
    std::uint32_t now = neither;
    if (state_.compare_exchange_strong(now, parked, std::memory_order_relaxed, std::memory_order_relaxed)) {
      while (state_.load(std::memory_order_relaxed) == parked) state_.sleep_while(parked);
    }
    // This is an exchange instead of a store, because an unpark() may have come in the meantime; the exchange consumes
    // that unpark(). The exchange also makes the writes before that unpark() visible.
    state_.exchange(neither, std::memory_order_acquire);
  }
  void unpark() noexcept {
    if (state_.exchange(woken, std::memory_order_release) == parked) state_.wake_one();
  }

 private:
  static constexpr std::uint32_t neither = 0, parked = 1, woken = 2;
  typename Atomics::template Atomic<std::uint32_t> state_{neither};  // `parked`: the thread has parked, or is about to.
};

using Parker = BasicParker<>;

// Call it in a loop that waits for another processor.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace keel::internal
