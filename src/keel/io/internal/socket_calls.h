// recv(2) and send(2) without the code that the C library adds for thread cancellation (pthread_cancel(3)), which Keel
// does not use: that code costs 100 instructions for a pair of calls in a process with threads. With sanitizers the
// normal calls are used, so that the sanitizers can observe them.

#pragma once

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>

#include "keel/base/sanitizers.h"

namespace keel::io {

inline ssize_t call_recv(int fd, void* into, std::size_t bytes, int flags) noexcept {
#if KEEL_SANITIZED || !defined(SYS_recvfrom)
  return ::recv(fd, into, bytes, flags);
#else
  return syscall(SYS_recvfrom, fd, into, bytes, flags, nullptr, nullptr);
#endif
}

inline ssize_t call_send(int fd, const void* from, std::size_t bytes, int flags) noexcept {
#if KEEL_SANITIZED || !defined(SYS_sendto)
  return ::send(fd, from, bytes, flags);
#else
  return syscall(SYS_sendto, fd, from, bytes, flags, nullptr, 0L);
#endif
}

}  // namespace keel::io
