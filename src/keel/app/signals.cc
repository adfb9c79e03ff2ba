#include "keel/app/signals.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "keel/base/check.h"
#include "keel/base/host.h"

namespace keel::app {
namespace {

Signal to_signal(int number) {
  if (number == SIGTERM) return Signal::Terminate;
  if (number == SIGINT) return Signal::Interrupt;
  if (number == SIGHUP) return Signal::Reload;
  KEEL_CHECK(number == SIGQUIT, "only the four signals waited for arrive");
  return Signal::Report;
}

// Runs inside a signal handler: write and _exit only.
void end_now(int number) {
  constexpr char text[] = "second signal while draining: ending at once\n";
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
}

SignalWaiter::~SignalWaiter() {
  sigaction(SIGTERM, &terminate_before_, nullptr);
  sigaction(SIGINT, &interrupt_before_, nullptr);
  sigaction(SIGPIPE, &pipe_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

Signal SignalWaiter::wait() noexcept {
  while (true) {
    const int number = sigwaitinfo(&signals_, nullptr);
    if (number > 0) return to_signal(number);
    KEEL_CHECK(errno == EINTR, "waiting for signals can only be interrupted");
  }
}

std::optional<Signal> SignalWaiter::wait_for(Duration timeout) noexcept {
  const Instant end = Host::current().now() + timeout;
  while (true) {
    const std::int64_t left = std::max<std::int64_t>((end - Host::current().now()).count_ns(), 0);
    const timespec span = {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    const int number = sigtimedwait(&signals_, nullptr, &span);
    if (number > 0) return to_signal(number);
    if (errno == EAGAIN) return {};
    KEEL_CHECK(errno == EINTR, "waiting for signals can only be interrupted");
  }
}

void SignalWaiter::end_on_next() noexcept {
  if (ending_.exchange(true)) return;
  struct sigaction action = {};
  action.sa_handler = end_now;
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
