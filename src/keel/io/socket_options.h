// keel/io/socket_options.h — options of a connected socket, and of a socket that connects or listens.
//
//   KEEL_TRY_VOID(stream.set_options({.keep_alive = io::KeepAlive{.idle = 30_s}, .user_timeout = 20_s}));
//   int bytes = *stream.options().receive_buffer_bytes;
//
// set_options() leaves options without a value unchanged. In the result of options(), an option that the socket does
// not have (for a Unix socket, all except the buffers) has no value. Accepted connections inherit some options of
// ListenOptions, without a system call per connection. Other options may be set on the descriptor: native_handle() of a
// stream, a listener or a socket for datagrams.
//
// Errors:  InvalidArgument for a value out of range, Unsupported for an option that the socket does not have, NotFound
//          for an interface that does not exist. After NotFound, the options that precede the failing option in
//          SocketOptions have already been set.
// Cost:    a system call per value, four for keep_alive, two for an IP option of an IPv6 socket, and two more in each
//          call.
// Source:  tcp(7), udp(7), ip(7), ipv6(7), socket(7).

#pragma once

#include <cstdint>
#include <optional>

#include "keel/base/time.h"
#include "keel/io/address.h"

namespace keel::io {

// Probes of a silent connection. If the peer responds to none of the probes, the connection fails with ETIMEDOUT.
struct KeepAlive {
  Duration idle = 60_s;      // Silence before the first probe; whole seconds, 1 to 32,767. Zero: no probes.
  Duration interval = 10_s;  // Time between probes; whole seconds, 1 to 32,767.
  int count = 6;             // Number of probes without a reply until the connection ends; 1 to 127.
};

struct SocketOptions {
  // TCP_NODELAY: small writes are sent immediately.
  std::optional<bool> no_delay = {};
  // When to probe a silent TCP connection.
  std::optional<KeepAlive> keep_alive = {};
  // TCP_USER_TIMEOUT: how long written bytes may stay unacknowledged; whole milliseconds. Zero: the system's
  // default (about 15 min).
  std::optional<Duration> user_timeout = {};
  // Closing drops unsent bytes and resets the connection, which leaves nothing in TIME_WAIT. Use this option against
  // peers that misbehave. Only for TCP.
  std::optional<bool> reset_on_close = {};
  // SO_SNDBUF and SO_RCVBUF; a buffer whose size was set no longer grows automatically. The kernel adds its own
  // overhead and reports the sum, which is about twice the value that was set.
  std::optional<int> send_buffer_bytes = {};
  std::optional<int> receive_buffer_bytes = {};
  // IP_TTL, IPV6_UNICAST_HOPS: the maximum number of routers that a packet may pass, 1 to 255; usually 64. This option
  // exists for TCP and UDP.
  std::optional<int> hop_limit = {};
  // IP_TOS, IPV6_TCLASS: 0 to 255; the upper six bits are the DSCP (RFC 2474); with TCP, the system itself sets the
  // lower two.
  std::optional<int> traffic_class = {};
  // SO_BROADCAST: whether sending to a broadcast address is permitted. If it is not permitted, the send fails with
  // PermissionDenied. This option and all options after it are for UDP.
  std::optional<bool> broadcast = {};
  // The maximum number of routers that a datagram to a multicast group may pass, 0 to 255; usually 1. With 0, the
  // datagram does not leave this machine.
  std::optional<int> multicast_hop_limit = {};
  // Whether members of a multicast group on this machine also receive the datagrams that this socket sends to the
  // group; by default they do.
  std::optional<bool> multicast_loop = {};
  // The interface through which datagrams to a multicast group are sent (if_nametoindex(3)); 0: the system's routes
  // select it. This option cannot be read back.
  std::optional<std::uint32_t> multicast_interface = {};
};

// Options of a socket for datagrams, set when it is created. An IPv6 socket sends and receives only IPv6 (IPV6_V6ONLY).
struct DatagramOptions {
  // The address to which other sockets send; port 0: the system chooses the port. Empty: the system chooses the address
  // at the first send.
  Address bind = {};
  // The only peer to send to and receive from; its ICMP errors are reported. Empty: any peer.
  Address connect = {};
  // True: several sockets use one port, one per worker; the kernel distributes the senders among them.
  bool reuse_port = false;
  // The maximum size of a received datagram, 1 to 65,535; longer datagrams are truncated, unless they are joined.
  std::uint32_t bytes_max = 9216;
  // UDP_GRO: the kernel may join datagrams that arrive together; the batch separates them again. Useful for many
  // datagrams from few senders; ignored by kernels that lack UDP_GRO.
  bool join = false;
  int send_buffer_bytes = 0;     // SO_SNDBUF; 0: the system's default.
  int receive_buffer_bytes = 0;  // SO_RCVBUF: datagrams that do not fit are lost; 0: the system's default.
};

// Options of a listening socket.
struct ListenOptions {
  int backlog = 4096;  // Connections that the kernel holds before accept; bounded by net.core.somaxconn.
  // True: several listeners use one port, one per worker; the kernel distributes the connections among them.
  bool reuse_port = false;
  bool no_delay = true;          // TCP_NODELAY, inherited by accepted connections.
  int send_buffer_bytes = 0;     // SO_SNDBUF, inherited; 0: the system's default, which grows automatically.
  int receive_buffer_bytes = 0;  // SO_RCVBUF, inherited; 0: the system's default, which grows automatically.
  // TCP_USER_TIMEOUT, inherited: how long a peer may leave sent bytes unacknowledged, or accept none of the bytes that
  // wait to be sent. After that time the connection ends with ETIMEDOUT, even if close() was called before. Whole
  // milliseconds. Zero: the system's default (about 15 min). No effect on Unix sockets.
  Duration user_timeout = {};
  int inherited = -1;  // An existing listening socket to use: it is duplicated, and nothing is bound.
  // A listener on "[::]" also accepts IPv4, so that no second listener for "0.0.0.0" is needed. The IPv4 peers of a
  // listener on "[::]" have addresses such as [::ffff:192.0.2.1] (RFC 4291 §2.5.5.2). False: only IPv6, whatever
  // net.ipv6.bindv6only says (IPV6_V6ONLY).
  bool dual_stack = false;
  // True, for a keel::Listener: other workers accept from the same socket. The workers take turns, and each
  // arrival wakes one of them.
  bool shared = false;
  // TCP Fast Open (RFC 7413): the maximum number of waiting connections whose first packet brought data. With Fast Open
  // the same bytes may arrive twice, so use it only for requests that may be repeated. With 0, or where the system does
  // not allow Fast Open (net.ipv4.tcp_fastopen & 2), connections are made as usual.
  int fast_open = 0;
  // The permissions of a Unix socket with a path, as for chmod(2) (0660: owner and group may connect). The permissions
  // do not depend on the umask, and hold from the moment when the socket exists. 0: the permissions that the umask
  // leaves. InvalidArgument for a Unix socket without a path, to which every process may connect; ignored for TCP.
  std::uint32_t socket_mode = 0;
};

// Options of a socket that connects.
struct ConnectOptions {
  Address from = {};  // The address to connect from; port 0: any port. Empty: the system chooses.
  // TCP Fast Open: if an earlier connection brought a cookie, connecting completes immediately and the first write
  // leaves with the first packet; so write before you read. If the peer rejects the connection, the first write reports
  // that, too. Without a cookie, or without net.ipv4.tcp_fastopen & 1, the socket connects as usual.
  bool fast_open = false;
};

// Functions for programs without an engine. The sockets that these functions create do not block and are closed at
// exec. The errors are those of the corresponding functions of Engine. The function for datagrams is in datagrams.h.
Result<int> system_stream(int family, const ConnectOptions& options);
Result<int> system_listener(const Address& address, const ListenOptions& options);
Result<> system_set_options(int fd, const SocketOptions& options);
SocketOptions system_options(int fd);
Result<> system_set_member(int fd, const Address& group, std::uint32_t interface, bool member);

}  // namespace keel::io
