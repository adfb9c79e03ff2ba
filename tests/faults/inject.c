/* Loaded by LD_PRELOAD into the program under test: fails the calls that inject.h describes, in the file that the
 * variable FAULTS names. Without that variable, or before it is mapped, every call goes through.
 *
 * Everything is a plain system call, or glibc's own allocator by its other name: there is no dlsym, which allocates.
 * syscall(2) is among what is replaced. */

#define _GNU_SOURCE

#include "inject.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct fault_plan* shared;

static long kernel(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#else
#error "how does this processor call the kernel?"
#endif
}

static long raw_call(long number, ...) {
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (int i = 0; i < 6; ++i) arguments[i] = va_arg(list, long);
  va_end(list);
  const long result =
      kernel(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
  if (result >= 0 || result < -4095) return result;
  errno = (int)-result;
  return -1;
}

__attribute__((constructor)) static void map_faults(void) {
  const char* path = getenv("FAULTS");
  if (path == NULL) return;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) abort();
  void* memory = mmap(NULL, sizeof(struct fault_plan), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) abort();
  shared = memory;
}

/* Whether this call fails; errno is then set. */
static int strikes(enum fault_call call) {
  if (shared == NULL) return 0;
  struct fault* fault = &shared->calls[call];
  if (!__atomic_load_n(&fault->armed, __ATOMIC_ACQUIRE)) return 0;
  /* The main thread starts, waits for signals and stops: what it allocates belongs to no request. */
  if (call == FAULT_MALLOC && raw_call(SYS_gettid) == getpid()) return 0;
  const int64_t before = __atomic_fetch_add(&fault->seen, 1, __ATOMIC_ACQ_REL);
  if (before < fault->let_pass || before - fault->let_pass >= fault->strikes) return 0;
  __atomic_fetch_add(&fault->struck, 1, __ATOMIC_ACQ_REL);
  errno = (int)fault->error;
  return 1;
}

int fsync(int file) { return strikes(FAULT_SYNC) ? -1 : (int)raw_call(SYS_fsync, file); }
int fdatasync(int file) { return strikes(FAULT_SYNC) ? -1 : (int)raw_call(SYS_fdatasync, file); }

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at) {
  return strikes(FAULT_WRITE) ? -1 : raw_call(SYS_pwrite64, file, bytes, size, at);
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) { return pwrite64(file, bytes, size, at); }
int ftruncate64(int file, off64_t size) { return strikes(FAULT_WRITE) ? -1 : (int)raw_call(SYS_ftruncate, file, size); }
int ftruncate(int file, off_t size) { return ftruncate64(file, size); }

int accept4(int listener, struct sockaddr* address, socklen_t* size, int flags) {
  return strikes(FAULT_ACCEPT) ? -1 : (int)raw_call(SYS_accept4, listener, address, size, flags);
}

ssize_t send(int socket, const void* bytes, size_t size, int flags) {
  if (strikes(FAULT_SEND)) {
    if (errno != 0) return -1;
    size = size < 1 ? size : 1;
  }
  return raw_call(SYS_sendto, socket, bytes, size, flags, NULL, 0);
}
/* The engine for epoll sends by this. */
long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (int i = 0; i < 6; ++i) arguments[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_sendto && strikes(FAULT_SEND)) {
    if (errno != 0) return -1;
    if (arguments[2] > 1) arguments[2] = 1;
  }
  return raw_call(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
ssize_t sendmsg(int socket, const struct msghdr* message, int flags) {
  if (strikes(FAULT_SEND)) {
    if (errno != 0) return -1;
    return raw_call(SYS_sendto, socket, message->msg_iov[0].iov_base, (size_t)1, flags, NULL, 0);
  }
  return raw_call(SYS_sendmsg, socket, message, flags);
}

static int64_t offset_ns(void) {
  if (shared == NULL) return 0;
  __atomic_fetch_add(&shared->wall_reads, 1, __ATOMIC_RELAXED);
  return __atomic_load_n(&shared->wall_offset_ns, __ATOMIC_RELAXED);
}

int clock_gettime(clockid_t clock, struct timespec* at) {
  const int result = (int)raw_call(SYS_clock_gettime, clock, at);
  if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
  const int64_t ns = at->tv_sec * INT64_C(1000000000) + at->tv_nsec + offset_ns();
  at->tv_sec = ns / 1000000000;
  at->tv_nsec = ns % 1000000000;
  return 0;
}
int gettimeofday(struct timeval* restrict at, void* restrict zone) {
  (void)zone;
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  at->tv_sec = precise.tv_sec;
  at->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t bytes) { return strikes(FAULT_MALLOC) ? NULL : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) { return strikes(FAULT_MALLOC) ? NULL : __libc_calloc(count, bytes); }
void* realloc(void* block, size_t bytes) { return strikes(FAULT_MALLOC) ? NULL : __libc_realloc(block, bytes); }
void* aligned_alloc(size_t alignment, size_t bytes) {
  return strikes(FAULT_MALLOC) ? NULL : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** block, size_t alignment, size_t bytes) {
  if (strikes(FAULT_MALLOC)) return ENOMEM;
  *block = __libc_memalign(alignment, bytes);
  return *block != NULL ? 0 : ENOMEM;
}
