#include "keel/exec/internal/parker.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace keel::internal {

void futex_sleep_while(const void* at, std::uint32_t value) noexcept {
  syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void futex_wake_one(const void* at) noexcept { syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

}  // namespace keel::internal
