// recv(2) and send(2) without the code that the C library adds for thread cancellation (pthread_cancel(3)), which Keel
// does not use: it costs 100 instructions for a pair of calls in a process with threads. On x86-64 the kernel is called
// in place, which saves 30 more. With sanitizers the normal calls are used, so that they can observe them.

#pragma once

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "keel/base/sanitizers.h"

namespace keel::io {

#ifdef __x86_64__
// The system call `number` with four arguments, its fifth and sixth being 0; as syscall(2).
inline ssize_t call_kernel(long number, int fd, const void* bytes, std::size_t size, int flags) noexcept {
  ssize_t result = number;
  register long fourth asm("r10") = flags;
  register long fifth asm("r8") = 0;
  register long sixth asm("r9") = 0;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(long{fd}), "S"(bytes), "d"(size), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
  if (result >= 0) [[likely]]
    return result;
  errno = static_cast<int>(-result);
  return -1;
}
#else
inline ssize_t call_kernel(long number, int fd, const void* bytes, std::size_t size, int flags) noexcept {
  return syscall(number, fd, bytes, size, flags, nullptr, 0L);
}
#endif

inline ssize_t call_recv(int fd, void* into, std::size_t bytes, int flags) noexcept {
#if KEEL_SANITIZED || !defined(SYS_recvfrom)
  return ::recv(fd, into, bytes, flags);
#else
  return call_kernel(SYS_recvfrom, fd, into, bytes, flags);
#endif
}

inline ssize_t call_send(int fd, const void* from, std::size_t bytes, int flags) noexcept {
#if KEEL_SANITIZED || !defined(SYS_sendto)
  return ::send(fd, from, bytes, flags);
#else
  return call_kernel(SYS_sendto, fd, from, bytes, flags);
#endif
}

}  // namespace keel::io
