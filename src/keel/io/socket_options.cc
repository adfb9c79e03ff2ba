#include "keel/io/socket_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>

#include "keel/io/internal/sockets.h"

namespace keel::io {
namespace {

Result<> set(int fd, int level, int option, const char* what, int value) {
  if (setsockopt(fd, level, option, &value, sizeof value) == 0) return {};
  if (errno == EOPNOTSUPP || errno == ENOPROTOOPT) return Error::from_errno(what, errno).as(Code::Unsupported);
  return fail_errno(what, errno);
}

std::optional<int> get(int fd, int level, int option) noexcept {
  int value = 0;
  socklen_t size = sizeof value;
  if (getsockopt(fd, level, option, &value, &size) != 0) return std::nullopt;
  return value;
}

Result<> set_keep_alive(int fd, const KeepAlive& keep_alive) {
  if (keep_alive.idle == Duration()) return set(fd, SOL_SOCKET, SO_KEEPALIVE, "setsockopt SO_KEEPALIVE", 0);
  const int idle = static_cast<int>(keep_alive.idle.count_ms() / 1000);
  const int interval = static_cast<int>(keep_alive.interval.count_ms() / 1000);
  KEEL_TRY_VOID(set(fd, IPPROTO_TCP, TCP_KEEPIDLE, "setsockopt TCP_KEEPIDLE", idle));
  KEEL_TRY_VOID(set(fd, IPPROTO_TCP, TCP_KEEPINTVL, "setsockopt TCP_KEEPINTVL", interval));
  KEEL_TRY_VOID(set(fd, IPPROTO_TCP, TCP_KEEPCNT, "setsockopt TCP_KEEPCNT", keep_alive.count));
  return set(fd, SOL_SOCKET, SO_KEEPALIVE, "setsockopt SO_KEEPALIVE", 1);
}

Result<> set_reset_on_close(int fd, bool reset) {
  const linger value{.l_onoff = reset ? 1 : 0, .l_linger = 0};
  if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &value, sizeof value) != 0) {
    return fail_errno("setsockopt SO_LINGER", errno);
  }
  return {};
}

}  // namespace

Result<> check(const SocketOptions& options, bool is_unix) {
  if (is_unix && (options.no_delay || options.keep_alive || options.user_timeout || options.reset_on_close)) {
    return fail(Code::Unsupported, "socket options: no_delay, keep_alive, user_timeout and reset_on_close are of TCP");
  }
  if (options.keep_alive && options.keep_alive->idle != Duration()) {
    const KeepAlive& keep_alive = *options.keep_alive;
    for (const Duration time : {keep_alive.idle, keep_alive.interval}) {
      if (time < 1_s || time > 32'767_s) {
        return fail(Code::InvalidArgument, "socket options: times of keep_alive are 1 to 32,767 s");
      }
    }
    if (keep_alive.count < 1 || keep_alive.count > 127) {
      return fail(Code::InvalidArgument, "socket options: keep_alive.count is 1 to 127");
    }
  }
  if (options.user_timeout && (*options.user_timeout < Duration() || options.user_timeout->count_ms() > INT_MAX)) {
    return fail(Code::InvalidArgument, "socket options: user_timeout is 0 to 2,147,483,647 ms");
  }
  if (options.send_buffer_bytes.value_or(1) < 1 || options.receive_buffer_bytes.value_or(1) < 1) {
    return fail(Code::InvalidArgument, "socket options: a buffer has at least one byte");
  }
  return {};
}

Result<> system_set_options(int fd, const SocketOptions& options) {
  KEEL_TRY_VOID(check(options, system_local_address(fd).is_unix()));
  if (options.no_delay) {
    KEEL_TRY_VOID(set(fd, IPPROTO_TCP, TCP_NODELAY, "setsockopt TCP_NODELAY", *options.no_delay));
  }
  if (options.keep_alive) KEEL_TRY_VOID(set_keep_alive(fd, *options.keep_alive));
  if (options.user_timeout) {
    const int timeout_ms = static_cast<int>(options.user_timeout->count_ms());
    KEEL_TRY_VOID(set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, "setsockopt TCP_USER_TIMEOUT", timeout_ms));
  }
  if (options.reset_on_close) KEEL_TRY_VOID(set_reset_on_close(fd, *options.reset_on_close));
  if (options.send_buffer_bytes) {
    KEEL_TRY_VOID(set(fd, SOL_SOCKET, SO_SNDBUF, "setsockopt SO_SNDBUF", *options.send_buffer_bytes));
  }
  if (options.receive_buffer_bytes) {
    KEEL_TRY_VOID(set(fd, SOL_SOCKET, SO_RCVBUF, "setsockopt SO_RCVBUF", *options.receive_buffer_bytes));
  }
  return {};
}

SocketOptions system_options(int fd) {
  SocketOptions options;
  options.send_buffer_bytes = get(fd, SOL_SOCKET, SO_SNDBUF);
  options.receive_buffer_bytes = get(fd, SOL_SOCKET, SO_RCVBUF);
  const std::optional<int> no_delay = get(fd, IPPROTO_TCP, TCP_NODELAY);
  if (!no_delay) return options;
  options.no_delay = *no_delay != 0;
  KeepAlive keep_alive;
  keep_alive.idle = Duration::seconds(get(fd, IPPROTO_TCP, TCP_KEEPIDLE).value_or(0));
  if (get(fd, SOL_SOCKET, SO_KEEPALIVE).value_or(0) == 0) keep_alive.idle = Duration();
  keep_alive.interval = Duration::seconds(get(fd, IPPROTO_TCP, TCP_KEEPINTVL).value_or(0));
  keep_alive.count = get(fd, IPPROTO_TCP, TCP_KEEPCNT).value_or(0);
  options.keep_alive = keep_alive;
  options.user_timeout = Duration::milliseconds(get(fd, IPPROTO_TCP, TCP_USER_TIMEOUT).value_or(0));
  linger lingers{};
  socklen_t size = sizeof lingers;
  getsockopt(fd, SOL_SOCKET, SO_LINGER, &lingers, &size);
  options.reset_on_close = lingers.l_onoff != 0 && lingers.l_linger == 0;
  return options;
}

}  // namespace keel::io
