// The kernel's information about a TCP connection. This is a separate file because <linux/tcp.h>, which has counters
// that the C library's header lacks, cannot be included together with <netinet/tcp.h>.

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "keel/io/internal/sockets.h"

namespace keel::io {

std::optional<std::uint64_t> system_acknowledged(int fd) noexcept {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  // An older kernel does not fill in this field.
  if (size < offsetof(tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked) return std::nullopt;
  return info.tcpi_bytes_acked;
}

std::uint64_t system_unacknowledged(int fd) noexcept {
  int bytes = 0;
  if (ioctl(fd, SIOCOUTQ, &bytes) != 0 || bytes <= 0) return 0;
  int domain = 0;
  socklen_t size = sizeof domain;
  // Bytes sent on a Unix socket are in the peer's queue immediately.
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain == AF_UNIX) return 0;
  return static_cast<std::uint64_t>(bytes);
}

Duration system_last_came(int fd) noexcept {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  return Duration::milliseconds(info.tcpi_last_data_recv);
}

bool system_has_unread(int fd) noexcept {
  char first = 0;
  const ssize_t size = recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
  return size >= 0 || (errno != EAGAIN && errno != EINTR);
}

}  // namespace keel::io
