// keel/exec/internal/parker.h — one thread that sleeps until another wakes it: a futex (futex(2)).
//
// An unpark() that comes first is kept: the next park() returns at once. park() belongs to one thread.

#pragma once

#include <atomic>
#include <cstdint>

namespace keel::internal {

class Parker {
 public:
  void park() noexcept;
  void unpark() noexcept;

 private:
  std::atomic<std::uint32_t> state_{0};  // 0 neither, 1 parked or about to be, 2 woken.
};

// For a loop that waits for another processor.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace keel::internal
