// keel/io/sockets.h — the part of an engine that handles sockets by plain calls, not by operations: it creates sockets,
// handles their options and addresses, and shuts them down.
//
// Engine (engine.h) is derived from Sockets. The functions of Sockets return immediately; everything that takes time is
// an operation (op.h).
//
// Threads: the engine's.
// Errors:  calls that can fail because of input or the system return Result, or a negative errno where stated.
// Cost:    one or a few system calls; none in the simulation.

#pragma once

#include <cstdint>
#include <optional>

#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/io/address.h"
#include "keel/io/socket_options.h"

namespace keel::io {

class Engine;

class Sockets {
 public:
  virtual ~Sockets() = default;

  // Binds and listens; the descriptor is ready for Accept. AlreadyExists when the address is in use. If no process
  // listens at the path of a Unix socket, the path is taken over; any other file at this path is kept, and the error is
  // AlreadyExists. With options.inherited the address is ignored.
  virtual Result<int> open_listener(const Address& address, const ListenOptions& options) = 0;
  // Makes a socket for Connect.
  virtual Result<int> open_stream(int family, const ConnectOptions& options = {}) = 0;
  // Makes a socket for SendDatagrams and ReceiveDatagrams. AlreadyExists when the address is in use; the path of a Unix
  // socket is taken over when no process has it open. InvalidArgument: `options` have neither an address to bind nor
  // one to connect to, or bytes_max is out of range.
  virtual Result<int> open_datagram(const DatagramOptions& options) = 0;
  virtual Result<> set_options(int fd, const SocketOptions& options) = 0;
  virtual SocketOptions options(int fd) = 0;
  // Starts or stops receiving datagrams for the multicast `group` (its port is ignored) through `interface`
  // (if_nametoindex(3); 0: the interface of the group's scope, or the one that the system's routes select).
  // InvalidArgument if `group` is not a multicast address; AlreadyExists if the socket is already a member; NotFound if
  // the socket is not a member, or if there is no such interface; Unsupported for a Unix socket.
  virtual Result<> set_member(int fd, const Address& group, std::uint32_t interface, bool member) = 0;
  // After this call no new connection to `listener` can begin, but handshakes that have begun still complete, and their
  // connections can be accepted until close(). TCP: the first packet of a new connection is dropped without a response,
  // so that its sender tries again after a second. If this process is not permitted to filter packets, the call has no
  // effect. Unix: removes the path, unless another file has taken its place. The call affects every descriptor of the
  // socket.
  virtual void turn_away(int listener) noexcept = 0;
  // Accepts a waiting connection of `listener`; no Accept may be pending on `listener`. Returns the new descriptor, or
  // a negative errno (-EAGAIN: no connection waits). Call it before close(), which resets waiting connections.
  virtual int try_accept(int listener) noexcept = 0;
  // Closes `fd`; no operation may be pending on `fd`.
  virtual void close(int fd) noexcept = 0;
  // Tells the peer that nothing more will be written (FIN); reading continues.
  virtual void shutdown_write(int fd) noexcept = 0;
  // Ends both directions: a pending Send ends with -EPIPE; a pending Receive first delivers the bytes that have
  // arrived, and then ends with 0.
  virtual void shutdown(int fd) noexcept = 0;
  virtual Address local_address(int fd) noexcept = 0;
  virtual Address peer_address(int fd) noexcept = 0;
  // The number of sent bytes of a connection that its peer has acknowledged so far, without the bytes in this side's
  // kernel. The result is empty if the number is unknown, that is, for a Unix socket, and for TCP if the kernel does
  // not report the number (tcp(7), TCP_INFO).
  virtual std::optional<std::uint64_t> acknowledged(int fd) noexcept = 0;
  // The number of sent bytes of a connection that this side's kernel still holds: bytes that were not transmitted, and
  // bytes that the peer has not acknowledged. An unacknowledged FIN counts as one byte. Zero for a Unix socket, because
  // sent bytes are immediately in the queue of its peer. Makes one system call, or two if the number is not zero; after
  // the connection has failed the number is meaningless.
  virtual std::uint64_t unacknowledged(int fd) noexcept = 0;
  // How long ago the kernel received the last bytes of a connection, whether they were read or not, with the precision
  // of the kernel's tick (about 4 ms). Zero for a Unix socket, for a socket without TCP_INFO (tcp(7)), and in the
  // simulation, where no bytes wait in a kernel.
  virtual Duration last_came(int /*fd*/) noexcept { return {}; }
  // True if the kernel holds something that no receive has reported yet: bytes, or the end of a connection. False in
  // the simulation, where no bytes wait in a kernel. Costs a system call.
  virtual bool has_unread(int /*fd*/) noexcept { return false; }
};

// AlreadyExists when a process listens at `address`, even if that process shares the address by
// ListenOptions::reuse_port. Call it before you open the first of several sockets that share an address: otherwise a
// second process on the same address would go unnoticed. An address with port 0 and the address of a Unix socket are
// always free.
Result<> check_vacant(Engine& engine, const Address& address, ListenOptions options);
// True if accept failed only because a single connection was closed (accept(2) lists these errors); in this case,
// accept again.
bool is_transient_accept_error(int number) noexcept;
// Whether an errno of accept means "later": descriptors or memory have run out (EMFILE, ENFILE, ENOMEM, ENOBUFS).
bool is_exhaustion(int number) noexcept;

}  // namespace keel::io
