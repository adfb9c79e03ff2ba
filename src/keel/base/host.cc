#include "keel/base/host.h"

#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <latch>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/pool.h"
#include "keel/base/signal_stack.h"
#include "keel/base/stack.h"

namespace keel {
namespace {

// While this object lives, signals are blocked on the thread that made it and on the threads that it starts.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

class SystemThread final : public Thread {
 public:
  SystemThread(const char* name, Function<void()> body) {
    // The constructor returns only after the thread has allocated everything it needs. Memory may be short later, and
    // glibc ends the process if there is no memory to register the destructor of the pool's lists.
    std::latch has_begun(1);
    // Only the main thread takes signals. Threads other than the main thread begin with all signals blocked. The new
    // thread then unblocks the signals that its own faults raise, and the signal that requests its stack.
    std::optional<SignalsBlocked> blocked(std::in_place);
    auto run = [body = std::move(body), &has_begun]() mutable {
      const SignalStack signal_stack;
      pool_trim();
      sigset_t own;
      sigemptyset(&own);
      for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, stack_signal}) sigaddset(&own, signal);
      pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
      has_begun.count_down();
      body();
    };
    try {
      thread_ = std::thread(std::move(run));
      // The library's message does not say that a thread could not be started.
    } catch (const std::system_error& error) {
      throw std::system_error(
          error.code(),
          "cannot start a thread: out of memory, or the limit on tasks is reached (TasksMax=, ulimit -u)");
    }
    blocked.reset();
    has_begun.wait();
    char shown[16] = {};  // The system rejects thread names of more than 15 characters.
    std::strncpy(shown, name, sizeof shown - 1);
    pthread_setname_np(thread_.native_handle(), shown);
  }
  ~SystemThread() override { join(); }
  void join() override {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

std::int64_t read_clock(clockid_t clock) noexcept {
  timespec at{};
  clock_gettime(clock, &at);
  return std::int64_t{at.tv_sec} * 1'000'000'000 + at.tv_nsec;
}

class SystemHost final : public Host {
 public:
  Instant now() noexcept override { return Instant::from_ns(read_clock(CLOCK_MONOTONIC)); }
  std::int64_t wall_ns() noexcept override { return read_clock(CLOCK_REALTIME); }
  std::uint64_t random() noexcept override {
    std::uint64_t value = 0;
    while (getrandom(&value, sizeof value, 0) != sizeof value) {
    }
    return value;
  }
  void secret(std::span<std::byte> out) noexcept override {
    while (!out.empty()) {
      const ssize_t got = getrandom(out.data(), out.size(), 0);
      KEEL_CHECK(got > 0 || errno == EINTR, "the kernel must provide random bits");
      if (got > 0) out = out.subspan(static_cast<std::size_t>(got));
    }
  }
  void start_timer(Timer&, Instant) noexcept override { KEEL_CHECK(false, "timers can be started only on a worker"); }
  void stop_timer(Timer& timer) noexcept override {
    KEEL_CHECK(!timer.is_running(), "a running timer must be stopped on its own worker");
  }
  void sleep(Duration duration) noexcept override {
    timespec left{duration.count_ns() / 1'000'000'000, duration.count_ns() % 1'000'000'000};
    while (nanosleep(&left, &left) != 0) {
    }
  }
  std::unique_ptr<Thread> start_thread(const char* name, Function<void()> body) override {
    return std::make_unique<SystemThread>(name, std::move(body));
  }
};

constinit thread_local Host* current_host = nullptr;

}  // namespace

void Host::sleep(Duration) {
  throw_bug("sleep() is called on a worker: await sleep_for() instead", std::source_location::current());
}

std::int64_t Host::next_wall_ns() noexcept {
  const std::int64_t now = wall_ns();
  std::int64_t last = __atomic_load_n(&last_wall_ns_, __ATOMIC_RELAXED);
  while (true) {
    std::int64_t next = std::max(now, last + 1);
    if (__atomic_compare_exchange_n(&last_wall_ns_, &last, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return next;
  }
}

void Host::secret_from_random(std::span<std::byte> out) noexcept {
  while (!out.empty()) {
    const std::uint64_t word = random();
    const std::size_t size = std::min(out.size(), sizeof word);
    std::memcpy(out.data(), &word, size);
    out = out.subspan(size);
  }
}

Host& Host::system() noexcept {
  static SystemHost host;
  return host;
}
Host& Host::current() noexcept { return current_host != nullptr ? *current_host : system(); }
Host* Host::set_current(Host* host) noexcept {
  Host* before = current_host;
  current_host = host;
  return before;
}

}  // namespace keel
