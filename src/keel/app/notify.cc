#include "keel/app/notify.h"

#include <fmt/core.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

namespace keel::app {
namespace {

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// Replaces line breaks, because a line break would begin another assignment.
std::string one_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\r' || c == '\0'; }, ' ');
  return line;
}

Result<Duration> watchdog_from_environment() {
  const char* const usec = ::getenv("WATCHDOG_USEC");
  if (usec == nullptr) return Duration();
  if (const char* const pid = ::getenv("WATCHDOG_PID"); pid != nullptr) {
    const auto whose = number(pid);
    if (!whose) return Error::text(Code::InvalidArgument, fmt::format("WATCHDOG_PID: \"{}\" is not a process id", pid));
    if (*whose != ::getpid()) return Duration();
  }
  const auto value = number(usec);
  if (!value || *value <= 0) {
    return Error::text(Code::InvalidArgument,
                       fmt::format("WATCHDOG_USEC: \"{}\" is not a number of microseconds above 0", usec));
  }
  return Duration::microseconds(*value);
}

}  // namespace

Result<Notify> Notify::from_environment() {
  Notify notify;
  const char* const text = ::getenv("NOTIFY_SOCKET");
  if (text == nullptr) return notify;
  std::string address(text);
  if (address.size() < 2 || (address[0] != '/' && address[0] != '@') ||
      address.size() >= sizeof(sockaddr_un::sun_path)) {
    return Error::text(Code::InvalidArgument,
                       fmt::format("NOTIFY_SOCKET: \"{}\" is neither a path nor @name of a Unix socket", text));
  }
  if (address[0] == '@') address[0] = '\0';
  KEEL_TRY(notify.watchdog_, watchdog_from_environment());
  notify.socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (notify.socket_ < 0) return Error::from_errno("socket", errno);
  // A service manager that does not read its messages must not block the service.
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(notify.socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  notify.address_ = std::move(address);
  return notify;
}

Notify::Notify(Notify&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      address_(std::move(other.address_)),
      watchdog_(std::exchange(other.watchdog_, Duration())) {}

Notify& Notify::operator=(Notify&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(address_, other.address_);
  std::swap(watchdog_, other.watchdog_);
  return *this;
}

Notify::~Notify() {
  if (socket_ >= 0) ::close(socket_);
}

Result<> Notify::status(std::string_view status) { return send("STATUS=" + one_line(status)); }

Result<> Notify::ready(std::string_view status) { return send("READY=1\nSTATUS=" + one_line(status)); }

Result<> Notify::reloading() {
  // The supervisor compares this time with the time of its own request to reload.
  timespec at{};
  ::clock_gettime(CLOCK_MONOTONIC, &at);
  return send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", std::int64_t{at.tv_sec} * 1'000'000 + at.tv_nsec / 1000));
}

Result<> Notify::stopping(std::string_view status) { return send("STOPPING=1\nSTATUS=" + one_line(status)); }

Result<> Notify::main_pid(pid_t pid) { return send(fmt::format("MAINPID={}", pid)); }

Result<> Notify::extend(Duration timeout) {
  return send(fmt::format("EXTEND_TIMEOUT_USEC={}", std::max<std::int64_t>(timeout.count_us(), 1)));
}

Result<> Notify::beat() { return send("WATCHDOG=1"); }

Result<> Notify::send(std::string_view message) {
  if (!is_on()) return {};
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  // The size of the address includes the zero byte at the end of a path; an abstract name has no zero byte at its end.
  const std::size_t size = offsetof(sockaddr_un, sun_path) + address_.size() + (address_[0] == '/' ? 1 : 0);
  ssize_t sent = 0;
  do {
    sent = ::sendto(socket_, message.data(), message.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to),
                    static_cast<socklen_t>(size));
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return Error::from_errno("sendto", errno).because("notifying the service manager");
  return {};
}

}  // namespace keel::app
