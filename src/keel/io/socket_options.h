// keel/io/socket_options.h — what may be set on a connected socket, and before one connects or listens.
//
//   KEEL_TRY_VOID(stream.set_options({.keep_alive = io::KeepAlive{.idle = 30_s}, .user_timeout = 20_s}));
//   int bytes = *stream.options().receive_buffer_bytes;
//
// What has no value is not touched when setting; when asking, what the socket does not have (of a Unix socket, all that
// is TCP's) has none. For what a listener passes on see ListenOptions; it costs no system call per connection.
//
// Errors:  InvalidArgument for a value out of range, Unsupported for an option of TCP on a Unix socket; what stands
//          before it in the list is set already.
// Cost:    a system call per value, two for keep_alive.idle and so on.
// Source:  tcp(7), socket(7).

#pragma once

#include <cstdint>
#include <optional>

#include "keel/base/time.h"
#include "keel/io/address.h"

namespace keel::io {

// Probes of a connection that is silent. A peer that answers none of them has gone: ETIMEDOUT.
struct KeepAlive {
  Duration idle = 60_s;      // Silence before the first probe; whole seconds, 1 to 32,767. Zero: no probes.
  Duration interval = 10_s;  // Between probes; the same.
  int count = 6;             // Unanswered ones until the connection ends; 1 to 127.
};

struct SocketOptions {
  // TCP_NODELAY: small writes leave at once.
  std::optional<bool> no_delay = {};
  // Of TCP.
  std::optional<KeepAlive> keep_alive = {};
  // TCP_USER_TIMEOUT: how long what was written may stay without an answer; whole milliseconds. Zero: as the system has
  // it (about 15 min).
  std::optional<Duration> user_timeout = {};
  // Closing throws away what has not been sent and resets the connection, which leaves nothing in TIME_WAIT: for peers
  // that misbehave. Of TCP.
  std::optional<bool> reset_on_close = {};
  // SO_SNDBUF and SO_RCVBUF; once set, they no longer grow by themselves. The kernel adds what it needs for itself and
  // answers with the sum, about the double.
  std::optional<int> send_buffer_bytes = {};
  std::optional<int> receive_buffer_bytes = {};
};

// Of a socket for datagrams, before it is there.
struct DatagramOptions {
  Address bind = {};               // Where others send to; port 0: any. Empty: the system chooses when sending.
  Address connect = {};            // The only one to send to and to hear from; its refusals are told. Empty: anybody.
  bool reuse_port = false;         // Several sockets on one port, one per worker; the kernel spreads the senders.
  std::uint32_t bytes_max = 9216;  // Of a datagram that comes; what is longer is cut, unless they are joined. 1 to
                                   // 65,535.
  bool join = false;               // UDP_GRO: the kernel may hand over what came together as one; they are taken
                                   // apart again. For much from few; ignored where it does not know this.
  int send_buffer_bytes = 0;       // SO_SNDBUF; 0: as the system has it.
  int receive_buffer_bytes = 0;    // SO_RCVBUF: what comes and does not fit is lost; the same.
};

// Before listening.
struct ListenOptions {
  int backlog = 4096;            // Connections the kernel holds before accept; bounded by net.core.somaxconn.
  bool reuse_port = false;       // Several listeners on one port, one per worker; the kernel spreads connections.
  bool no_delay = true;          // TCP_NODELAY, inherited by accepted connections.
  int send_buffer_bytes = 0;     // SO_SNDBUF, inherited; 0: as the system has it (it then grows by itself).
  int receive_buffer_bytes = 0;  // SO_RCVBUF, the same.
  int inherited = -1;            // A listening socket to go on with: it is duplicated, nothing is bound.
  int fast_open = 0;             // TCP Fast Open (RFC 7413): how many connections may wait whose first packet brought
                                 // data. The same bytes may then come twice, so only for requests that may be repeated.
                                 // 0, or where the system forbids it (net.ipv4.tcp_fastopen & 2): connections as ever.
};

// Before connecting.
struct ConnectOptions {
  Address from = {};       // Where to connect from; port 0: any. Empty: the system chooses.
  bool fast_open = false;  // TCP Fast Open: where an earlier connection brought a cookie, connecting completes at once
                           // and the first write leaves with the first packet; so the first thing to do is a write. A
                           // refusal comes with it. Elsewhere (net.ipv4.tcp_fastopen & 1 is needed): connects as ever.
};

}  // namespace keel::io
