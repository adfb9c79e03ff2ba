// keel/io/socket_options.h — options of a connected socket, and of one that connects or listens.
//
//   KEEL_TRY_VOID(stream.set_options({.keep_alive = io::KeepAlive{.idle = 30_s}, .user_timeout = 20_s}));
//   int bytes = *stream.options().receive_buffer_bytes;
//
// What has no value is not touched when setting; when asking, what the socket does not have (of a Unix socket, all but
// the buffers) has none. For what a listener passes on see ListenOptions; it costs no system call per connection. Other
// options may be set on the descriptor: native_handle() of a stream, a listener or a socket for datagrams.
//
// Errors:  InvalidArgument for a value out of range, Unsupported for an option that the socket does not have, NotFound
//          for an interface that is not there; what stands before it in the list is set already.
// Cost:    a system call per value, four for keep_alive, two for those of IP over IPv6, and two for all of them.
// Source:  tcp(7), udp(7), ip(7), ipv6(7), socket(7).

#pragma once

#include <cstdint>
#include <optional>

#include "keel/base/time.h"
#include "keel/io/address.h"

namespace keel::io {

// Probes of a connection that is silent. A peer that responds to none of them has gone: ETIMEDOUT.
struct KeepAlive {
  Duration idle = 60_s;      // Silence before the first probe; whole seconds, 1 to 32,767. Zero: no probes.
  Duration interval = 10_s;  // Between probes; the same.
  int count = 6;             // Unanswered ones until the connection ends; 1 to 127.
};

struct SocketOptions {
  // TCP_NODELAY: small writes are sent immediately.
  std::optional<bool> no_delay = {};
  // For TCP.
  std::optional<KeepAlive> keep_alive = {};
  // TCP_USER_TIMEOUT: how long what was written may stay without a response; whole milliseconds. Zero: the system's
  // default (about 15 min).
  std::optional<Duration> user_timeout = {};
  // Closing throws away what has not been sent and resets the connection, which leaves nothing in TIME_WAIT: for peers
  // that misbehave. For TCP.
  std::optional<bool> reset_on_close = {};
  // SO_SNDBUF and SO_RCVBUF; once set, they no longer grow by themselves. The kernel adds its own overhead and reports
  // the sum, about the double.
  std::optional<int> send_buffer_bytes = {};
  std::optional<int> receive_buffer_bytes = {};
  // IP_TTL, IPV6_UNICAST_HOPS: over how many routers packets go, 1 to 255; usually 64. For TCP and UDP.
  std::optional<int> hop_limit = {};
  // IP_TOS, IPV6_TCLASS: 0 to 255; the upper six bits are the DSCP (RFC 2474), the lower two the system's own with TCP.
  std::optional<int> traffic_class = {};
  // SO_BROADCAST: sending to a broadcast address is permitted; else it is PermissionDenied. For UDP, as all options
  // that follow.
  std::optional<bool> broadcast = {};
  // For datagrams that are sent to a multicast group. Over how many routers it goes, 0 to 255: 0, not off this machine;
  // usually 1.
  std::optional<int> multicast_hop_limit = {};
  // Whether members on this machine hear it, too; usually they do.
  std::optional<bool> multicast_loop = {};
  // By which interface it leaves (if_nametoindex(3)); 0: as the system's routes say. Cannot be read back.
  std::optional<std::uint32_t> multicast_interface = {};
};

// Options of a socket for datagrams, set when it is created. One of IPv6 sends and hears IPv6 alone (IPV6_V6ONLY).
struct DatagramOptions {
  Address bind = {};  // Where others send to; port 0: any. Empty: the system chooses when sending.
  // The only peer to send to and receive from; its ICMP errors are reported. Empty: anybody.
  Address connect = {};
  bool reuse_port = false;  // Several sockets on one port, one per worker; the kernel spreads the senders.
  // Largest datagram that is received; longer ones are truncated, unless they are joined. 1 to
  std::uint32_t bytes_max = 9216;
  // 65,535.
  // UDP_GRO: the kernel may hand over what came together as one; they are taken apart again. For much from few; ignored
  // where it does not know this.
  bool join = false;
  int send_buffer_bytes = 0;     // SO_SNDBUF; 0: as the system has it.
  int receive_buffer_bytes = 0;  // SO_RCVBUF: what comes and does not fit is lost; the same.
};

// Options of a listening socket.
struct ListenOptions {
  int backlog = 4096;            // Connections the kernel holds before accept; bounded by net.core.somaxconn.
  bool reuse_port = false;       // Several listeners on one port, one per worker; the kernel spreads connections.
  bool no_delay = true;          // TCP_NODELAY, inherited by accepted connections.
  int send_buffer_bytes = 0;     // SO_SNDBUF, inherited; 0: as the system has it (it then grows by itself).
  int receive_buffer_bytes = 0;  // SO_RCVBUF, the same.
  // TCP_USER_TIMEOUT, inherited: how long a peer may leave what was sent unacknowledged, or take nothing of what waits,
  // until its connection ends with ETIMEDOUT, also after close(). Whole milliseconds. Zero: as the system has it (about
  // 15 min). Nothing for Unix sockets.
  Duration user_timeout = {};
  int inherited = -1;  // A listening socket to continue with: it is duplicated, nothing is bound.
  // For "[::]": IPv4 as well, in place of a second listener for "0.0.0.0". Its peers then have addresses as
  // [::ffff:192.0.2.1] (RFC 4291 §2.5.5.2). False: IPv6 alone, whatever net.ipv6.bindv6only says (IPV6_V6ONLY).
  bool dual_stack = false;
  // For a net::Listener: others accept from the same socket. They take turns, and each arrival wakes one of them.
  bool shared = false;
  // TCP Fast Open (RFC 7413): how many connections may wait whose first packet brought data. The same bytes may then
  // come twice, so only for requests that may be repeated. 0, or where the system forbids it (net.ipv4.tcp_fastopen &
  // 2): connections as usual. For a Unix socket with a path: its permissions as for chmod(2) (0660: owner and group may
  // connect), independent of the umask, from the socket's first moment. 0: as the umask leaves them. InvalidArgument
  // for one without a path, to which every process may connect; ignored for TCP.
  int fast_open = 0;
  std::uint32_t socket_mode = 0;
};

// Options of a socket that connects.
struct ConnectOptions {
  Address from = {};  // Where to connect from; port 0: any. Empty: the system chooses.
  // TCP Fast Open: where an earlier connection brought a cookie, connecting completes immediately
  bool fast_open = false;
  // and the first write leaves with the first packet; so the first thing to do is a write. A rejection is reported with
  // it. Elsewhere (net.ipv4.tcp_fastopen & 1 is needed): connects as usual.
};

// Functions for programs without an engine. The sockets that these make do not block and are closed at exec; errors are
// as those of Engine's functions of the same purpose. One for datagrams: datagrams.h.
Result<int> system_stream(int family, const ConnectOptions& options);
Result<int> system_listener(const Address& address, const ListenOptions& options);
Result<> system_set_options(int fd, const SocketOptions& options);
SocketOptions system_options(int fd);
Result<> system_set_member(int fd, const Address& group, std::uint32_t interface, bool member);

}  // namespace keel::io
