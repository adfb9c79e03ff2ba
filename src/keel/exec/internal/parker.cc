#include "keel/exec/internal/parker.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace keel::internal {
namespace {

constexpr std::uint32_t neither = 0, parked = 1, woken = 2;
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

}  // namespace

void Parker::park() noexcept {
  std::uint32_t now = neither;
  if (state_.compare_exchange_strong(now, parked, std::memory_order_acquire)) {
    // Also returns for a signal, or for nothing.
    while (state_.load(std::memory_order_acquire) == parked) {
      syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, parked, nullptr, nullptr, 0);
    }
  }
  state_.store(neither, std::memory_order_relaxed);
}

void Parker::unpark() noexcept {
  if (state_.exchange(woken, std::memory_order_release) != parked) return;
  syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace keel::internal
