#include "keel/app/internal/bystanders.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "keel/base/function.h"
#include "keel/base/host.h"
#include "keel/base/stack.h"

namespace keel::app::internal {
namespace {

// Threads beyond this number stop too but cannot report that they did, so the wait for them times out.
constexpr int threads_max = 4096;
constinit std::atomic<pid_t> stopped[threads_max] = {};
constinit std::atomic<int> stopped_count = 0;

pid_t thread_id() noexcept { return static_cast<pid_t>(syscall(SYS_gettid)); }

void stop(int) {
  const int place = stopped_count.fetch_add(1);
  if (place < threads_max) stopped[place].store(thread_id());
  for (;;) ::pause();
}

bool has_stopped(pid_t thread) noexcept {
  const int count = std::min(stopped_count.load(), threads_max);
  return std::any_of(stopped, stopped + count, [thread](const auto& other) { return other.load() == thread; });
}

// Since Linux 5.12, the kernel threads of io_uring belong to the process, and take no signals; their names are
// iou-wrk-PID and iou-sqp-PID.
bool is_of_uring(int folder, const char* thread) noexcept {
  char path[32] = {};
  std::strncpy(path, thread, 16);
  std::strcat(path, "/comm");
  const int fd = ::openat(folder, path, O_RDONLY | O_CLOEXEC);
  char name[16] = {};
  const ssize_t size = fd < 0 ? 0 : ::read(fd, name, sizeof name);
  if (fd >= 0) ::close(fd);
  return size > 4 && std::string_view(name, 4) == "iou-";
}

// readdir() is not used, because it allocates memory.
void each_thread(FunctionRef<void(int folder, const char* name)> f) noexcept {
  const int folder = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  alignas(dirent64) char entries[2048];
  for (;;) {
    const long size = folder < 0 ? 0 : syscall(SYS_getdents64, folder, entries, sizeof entries);
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(entries + at);
      if (entry->d_name[0] != '.') f(folder, entry->d_name);
      at += entry->d_reclen;
    }
  }
  if (folder >= 0) ::close(folder);
}

}  // namespace

int stop_bystanders(pid_t spared, Duration patience) noexcept {
  struct sigaction action = {};
  action.sa_handler = stop;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(stack_signal, &action, nullptr);
  const pid_t self = thread_id();
  const Instant until = Host::system().now() + patience;
  for (;;) {
    int running = 0;
    each_thread([&](int folder, const char* name) {
      pid_t thread = 0;
      for (const char* digit = name; *digit != '\0'; ++digit) thread = 10 * thread + (*digit - '0');
      if (thread == self || thread == spared || has_stopped(thread) || is_of_uring(folder, name)) return;
      // A thread whose signal is still pending does not get a second signal.
      if (syscall(SYS_tgkill, ::getpid(), thread, stack_signal) == 0) ++running;
    });
    if (running == 0 || Host::system().now() >= until) return running;
    Host::system().sleep(1_ms);
  }
}

}  // namespace keel::app::internal
