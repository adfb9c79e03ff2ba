#include "keel/app/signals.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include "keel/base/check.h"
#include "keel/base/host.h"

namespace keel::app {
namespace {

Signal to_signal(int number) {
  if (number == SIGTERM) return Signal::Terminate;
  if (number == SIGINT) return Signal::Interrupt;
  if (number == SIGHUP) return Signal::Reload;
  KEEL_CHECK(number == SIGQUIT, "the thread must receive only signals that it waits for");
  return Signal::Report;
}

// The time, by the monotonic clock, at which the first SIGTERM or SIGINT was received; 0: none was received yet.
std::atomic<std::int64_t> first_at_ns = 0;
static_assert(std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler reads this value, so reading it must not take a lock");

// Uses clock_gettime, which a signal handler may call.
std::int64_t clock_ns() noexcept {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// Runs inside a signal handler: calls only clock_gettime, write and _exit.
void end_unless_same(int number) {
  const std::int64_t first = first_at_ns.load(std::memory_order_relaxed);
  if (first != 0 && clock_ns() - first < SignalWaiter::same_request.count_ns()) return;
  constexpr char text[] = "second signal while draining: exiting immediately\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, sizeof text - 1);
  ::_exit(128 + number);
}

}  // namespace

SignalWaiter::SignalWaiter() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGHUP);
  sigaddset(&signals_, SIGQUIT);
  pthread_sigmask(SIG_BLOCK, &signals_, &mask_before_);
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_before_);
  sigaction(SIGTERM, nullptr, &terminate_before_);
  sigaction(SIGINT, nullptr, &interrupt_before_);
  first_at_ns = 0;
}

SignalWaiter::~SignalWaiter() {
  sigaction(SIGTERM, &terminate_before_, nullptr);
  sigaction(SIGINT, &interrupt_before_, nullptr);
  sigaction(SIGPIPE, &pipe_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

Signal SignalWaiter::taken(int number) noexcept {
  const Signal signal = to_signal(number);
  std::int64_t none = 0;
  if (signal == Signal::Terminate || signal == Signal::Interrupt) first_at_ns.compare_exchange_strong(none, clock_ns());
  return signal;
}

Signal SignalWaiter::wait() noexcept {
  while (true) {
    const int number = sigwaitinfo(&signals_, nullptr);
    if (number > 0) return taken(number);
    KEEL_CHECK(errno == EINTR, "waiting for signals can fail only because of an interruption");
  }
}

std::optional<Signal> SignalWaiter::wait_for(Duration timeout) noexcept {
  const Instant end = Host::current().now() + timeout;
  while (true) {
    const std::int64_t left = std::max<std::int64_t>((end - Host::current().now()).count_ns(), 0);
    const timespec span = {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    const int number = sigtimedwait(&signals_, nullptr, &span);
    if (number > 0) return taken(number);
    if (errno == EAGAIN) return {};
    KEEL_CHECK(errno == EINTR, "waiting for signals can fail only because of an interruption");
  }
}

void SignalWaiter::end_on_next() noexcept {
  if (ending_.exchange(true)) return;
  struct sigaction action = {};
  action.sa_handler = end_unless_same;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);
}

void SignalWaiter::request_stop() noexcept {
  if (!ending_) ::kill(::getpid(), SIGTERM);
}

}  // namespace keel::app
