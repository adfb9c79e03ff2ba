#include "keel/io/socket_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "keel/io/internal/sockets.h"

namespace keel::io {
namespace {

Result<> set(int fd, int level, int option, const char* what, int value) {
  if (setsockopt(fd, level, option, &value, sizeof value) == 0) return {};
  if (errno == EOPNOTSUPP || errno == ENOPROTOOPT) return Error::from_errno(what, errno).as(Code::Unsupported);
  return Error::from_errno(what, errno);
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
    return Error::from_errno("setsockopt SO_LINGER", errno);
  }
  return {};
}

Protocol protocol_of(int fd) noexcept {
  switch (get(fd, SOL_SOCKET, SO_PROTOCOL).value_or(0)) {
    case 0:
      return Protocol::Unix;
    case IPPROTO_UDP:
      return Protocol::Udp;
    default:
      return Protocol::Tcp;
  }
}
bool is_ipv6(int fd) noexcept { return get(fd, SOL_SOCKET, SO_DOMAIN) == AF_INET6; }

// An option that exists for both versions of IP.
struct IpOption {
  int v4;
  int v6;
  const char* what;
};
constexpr IpOption hop_limit{IP_TTL, IPV6_UNICAST_HOPS, "setsockopt IP_TTL"};
constexpr IpOption traffic_class{IP_TOS, IPV6_TCLASS, "setsockopt IP_TOS"};
constexpr IpOption multicast_hop_limit{IP_MULTICAST_TTL, IPV6_MULTICAST_HOPS, "setsockopt IP_MULTICAST_TTL"};
constexpr IpOption multicast_loop{IP_MULTICAST_LOOP, IPV6_MULTICAST_LOOP, "setsockopt IP_MULTICAST_LOOP"};

Result<> set_ip(int fd, bool v6, const IpOption& option, int value) {
  if (!v6) return set(fd, IPPROTO_IP, option.v4, option.what, value);
  // On a socket for both families, the option has to be set for IPv4 as well.
  setsockopt(fd, IPPROTO_IP, option.v4, &value, sizeof value);
  return set(fd, IPPROTO_IPV6, option.v6, option.what, value);
}
std::optional<int> get_ip(int fd, bool v6, const IpOption& option) noexcept {
  return v6 ? get(fd, IPPROTO_IPV6, option.v6) : get(fd, IPPROTO_IP, option.v4);
}

Result<> set_multicast_interface(int fd, bool v6, std::uint32_t interface) {
  if (v6) return set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, "setsockopt IPV6_MULTICAST_IF", static_cast<int>(interface));
  ip_mreqn by{};
  by.imr_ifindex = static_cast<int>(interface);
  if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by) == 0) return {};
  // If the interface does not exist, the error is EADDRNOTAVAIL with IPv4, but ENODEV with IPv6.
  return Error::from_errno("setsockopt IP_MULTICAST_IF", errno == EADDRNOTAVAIL ? ENODEV : errno);
}

Result<> set_options_of_ip(int fd, const SocketOptions& options) {
  const bool v6 = is_ipv6(fd);
  if (options.hop_limit) KEEL_TRY_VOID(set_ip(fd, v6, hop_limit, *options.hop_limit));
  if (options.traffic_class) KEEL_TRY_VOID(set_ip(fd, v6, traffic_class, *options.traffic_class));
  if (options.broadcast)
    KEEL_TRY_VOID(set(fd, SOL_SOCKET, SO_BROADCAST, "setsockopt SO_BROADCAST", *options.broadcast));
  if (options.multicast_hop_limit) KEEL_TRY_VOID(set_ip(fd, v6, multicast_hop_limit, *options.multicast_hop_limit));
  if (options.multicast_loop) KEEL_TRY_VOID(set_ip(fd, v6, multicast_loop, *options.multicast_loop));
  if (options.multicast_interface) KEEL_TRY_VOID(set_multicast_interface(fd, v6, *options.multicast_interface));
  return {};
}

bool has_options_of_tcp(const SocketOptions& options) noexcept {
  return options.no_delay || options.keep_alive || options.user_timeout || options.reset_on_close;
}
bool has_options_of_udp(const SocketOptions& options) noexcept {
  return options.broadcast || options.multicast_hop_limit || options.multicast_loop || options.multicast_interface;
}
bool has_options_of_ip(const SocketOptions& options) noexcept {
  return options.hop_limit || options.traffic_class || has_options_of_udp(options);
}

}  // namespace

Result<> check(const SocketOptions& options, Protocol protocol) {
  if (protocol != Protocol::Tcp && has_options_of_tcp(options)) {
    return fail(Code::Unsupported,
                "socket options: no_delay, keep_alive, user_timeout and reset_on_close exist only for TCP");
  }
  if (protocol != Protocol::Udp && has_options_of_udp(options)) {
    return fail(Code::Unsupported, "socket options: broadcast and multicast exist only for UDP");
  }
  if (protocol == Protocol::Unix && has_options_of_ip(options)) {
    return fail(Code::Unsupported, "socket options: hop_limit and traffic_class exist only for TCP and UDP");
  }
  if (options.keep_alive && options.keep_alive->idle != Duration()) {
    const KeepAlive& keep_alive = *options.keep_alive;
    for (const Duration time : {keep_alive.idle, keep_alive.interval}) {
      if (time < 1_s || time > 32'767_s) {
        return fail(Code::InvalidArgument, "socket options: times of keep_alive must be 1 to 32,767 s");
      }
    }
    if (keep_alive.count < 1 || keep_alive.count > 127) {
      return fail(Code::InvalidArgument, "socket options: keep_alive.count must be 1 to 127");
    }
  }
  if (options.user_timeout && (*options.user_timeout < Duration() || options.user_timeout->count_ms() > INT_MAX)) {
    return fail(Code::InvalidArgument, "socket options: user_timeout must be 0 to 2,147,483,647 ms");
  }
  if (options.send_buffer_bytes.value_or(1) < 1 || options.receive_buffer_bytes.value_or(1) < 1) {
    return fail(Code::InvalidArgument, "socket options: a buffer needs at least one byte");
  }
  const auto is_byte = [](std::optional<int> value) { return value.value_or(0) >= 0 && value.value_or(0) <= 255; };
  if (options.hop_limit == 0 || !is_byte(options.hop_limit)) {
    return fail(Code::InvalidArgument, "socket options: hop_limit must be 1 to 255");
  }
  if (!is_byte(options.traffic_class) || !is_byte(options.multicast_hop_limit)) {
    return fail(Code::InvalidArgument, "socket options: traffic_class and multicast_hop_limit must be 0 to 255");
  }
  return {};
}

bool is_multicast(const Address& address) noexcept {
  if (address.family() == AF_INET) {
    return IN_MULTICAST(ntohl(reinterpret_cast<const sockaddr_in*>(address.system())->sin_addr.s_addr));
  }
  return address.family() == AF_INET6 &&
         IN6_IS_ADDR_MULTICAST(&reinterpret_cast<const sockaddr_in6*>(address.system())->sin6_addr);
}

Result<> check_group(const Address& group) {
  if (is_multicast(group)) return {};
  return Error::text(Code::InvalidArgument, group.to_string() + " is not the address of a multicast group");
}

Result<> system_set_member(int fd, const Address& group, std::uint32_t interface, bool member) {
  KEEL_TRY_VOID(check_group(group));
  const bool v6 = group.family() == AF_INET6;
  group_req request{};
  request.gr_interface = interface;
  if (v6 && interface == 0) {
    request.gr_interface = reinterpret_cast<const sockaddr_in6*>(group.system())->sin6_scope_id;
  }
  std::memcpy(&request.gr_group, group.system(), group.system_size());
  // Without this call, the socket would receive from every group that any process on this machine has joined: ip(7),
  // IP_MULTICAST_ALL.
  const int off = 0;
  if (v6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, &off, sizeof off);
  } else {
    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof off);
  }
  const int what = member ? MCAST_JOIN_GROUP : MCAST_LEAVE_GROUP;
  if (setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, what, &request, sizeof request) == 0) return {};
  const int number = errno;
  Error error = Error::from_errno(member ? "setsockopt MCAST_JOIN_GROUP" : "setsockopt MCAST_LEAVE_GROUP", number);
  const Code code = number == EADDRNOTAVAIL ? Code::NotFound : number == ENOPROTOOPT ? Code::Unsupported : error.code();
  return std::move(error).as(code).because("the group " + group.to_string());
}

Result<> system_set_options(int fd, const SocketOptions& options) {
  KEEL_TRY_VOID(check(options, protocol_of(fd)));
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
  return has_options_of_ip(options) ? set_options_of_ip(fd, options) : Result<>();
}

SocketOptions system_options(int fd) {
  SocketOptions options;
  options.send_buffer_bytes = get(fd, SOL_SOCKET, SO_SNDBUF);
  options.receive_buffer_bytes = get(fd, SOL_SOCKET, SO_RCVBUF);
  const Protocol protocol = protocol_of(fd);
  if (protocol == Protocol::Unix) return options;
  const bool v6 = is_ipv6(fd);
  options.hop_limit = get_ip(fd, v6, hop_limit);
  options.traffic_class = get_ip(fd, v6, traffic_class);
  if (protocol == Protocol::Udp) {
    options.broadcast = get(fd, SOL_SOCKET, SO_BROADCAST).value_or(0) != 0;
    options.multicast_hop_limit = get_ip(fd, v6, multicast_hop_limit);
    options.multicast_loop = get_ip(fd, v6, multicast_loop).value_or(0) != 0;
    return options;
  }
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
