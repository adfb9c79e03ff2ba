/* Loaded by LD_PRELOAD into the program under test: fails the calls that inject.h describes, in the file that the
 * variable FAULTS names. Without that variable, or before it is mapped, every call goes through.
 *
 * Everything is a plain system call, or glibc's own allocator by its other name: there is no dlsym, which allocates. */

#define _GNU_SOURCE

#include "inject.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct fault_plan* shared;

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
  if (call == FAULT_MALLOC && syscall(SYS_gettid) == getpid()) return 0;
  const int64_t before = __atomic_fetch_add(&fault->seen, 1, __ATOMIC_ACQ_REL);
  if (before < fault->let_pass || before - fault->let_pass >= fault->strikes) return 0;
  __atomic_fetch_add(&fault->struck, 1, __ATOMIC_ACQ_REL);
  errno = (int)fault->error;
  return 1;
}

int fsync(int file) { return strikes(FAULT_SYNC) ? -1 : (int)syscall(SYS_fsync, file); }
int fdatasync(int file) { return strikes(FAULT_SYNC) ? -1 : (int)syscall(SYS_fdatasync, file); }

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at) {
  return strikes(FAULT_WRITE) ? -1 : syscall(SYS_pwrite64, file, bytes, size, at);
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) { return pwrite64(file, bytes, size, at); }
int ftruncate64(int file, off64_t size) { return strikes(FAULT_WRITE) ? -1 : (int)syscall(SYS_ftruncate, file, size); }
int ftruncate(int file, off_t size) { return ftruncate64(file, size); }

int accept4(int listener, struct sockaddr* address, socklen_t* size, int flags) {
  return strikes(FAULT_ACCEPT) ? -1 : (int)syscall(SYS_accept4, listener, address, size, flags);
}

ssize_t send(int socket, const void* bytes, size_t size, int flags) {
  if (strikes(FAULT_SEND)) {
    if (errno != 0) return -1;
    size = size < 1 ? size : 1;
  }
  return syscall(SYS_sendto, socket, bytes, size, flags, NULL, 0);
}
ssize_t sendmsg(int socket, const struct msghdr* message, int flags) {
  if (strikes(FAULT_SEND)) {
    if (errno != 0) return -1;
    return syscall(SYS_sendto, socket, message->msg_iov[0].iov_base, (size_t)1, flags, NULL, 0);
  }
  return syscall(SYS_sendmsg, socket, message, flags);
}

static int64_t offset_ns(void) {
  if (shared == NULL) return 0;
  __atomic_fetch_add(&shared->wall_reads, 1, __ATOMIC_RELAXED);
  return __atomic_load_n(&shared->wall_offset_ns, __ATOMIC_RELAXED);
}

int clock_gettime(clockid_t clock, struct timespec* at) {
  const int result = (int)syscall(SYS_clock_gettime, clock, at);
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
