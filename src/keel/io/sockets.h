// keel/io/sockets.h — the part of an engine that handles sockets without operations: creating them, options, addresses,
// shutdown.
//
// An Engine is a Sockets (engine.h). These calls return immediately; everything that takes time is an operation (op.h).
//
// Threads: the engine's.
// Errors:  calls that input or the system can make fail return Result, or a negative errno where it is said.
// Cost:    a system call or a few; none in the simulation.

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

  // Binds and listens; the descriptor is ready for Accept. AlreadyExists when the address is in use. The path of a Unix
  // socket is taken over when no process listens there; any other file stays, and the error is AlreadyExists. With
  // options.inherited the address is ignored.
  virtual Result<int> open_listener(const Address& address, const ListenOptions& options) = 0;
  // A socket for Connect.
  virtual Result<int> open_stream(int family, const ConnectOptions& options = {}) = 0;
  // A socket for SendDatagrams and ReceiveDatagrams. AlreadyExists when the address is in use; the path of a Unix
  // socket is taken over when no process has it open. InvalidArgument: nothing to bind or to connect to, or bytes_max.
  virtual Result<int> open_datagram(const DatagramOptions& options) = 0;
  virtual Result<> set_options(int fd, const SocketOptions& options) = 0;
  virtual SocketOptions options(int fd) = 0;
  // A socket for datagrams hears what is sent to the multicast `group` (its port is not looked at) by way of
  // `interface` (if_nametoindex(3); 0: that of the group's scope, or as the system's routes say), or no longer does.
  // InvalidArgument: no multicast address; AlreadyExists: it is a member; NotFound: it is none, or no such interface;
  // Unsupported: of a Unix socket.
  virtual Result<> set_member(int fd, const Address& group, std::uint32_t interface, bool member) = 0;
  // No new connection to `listener` can begin, and handshakes that have begun complete: between this call and close()
  // all of them can be accepted. TCP: a first packet is dropped without a response, and its sender tries again after a
  // second (where it may not be filtered, nothing happens). Unix: removes the path, unless another file is there by
  // now. For every descriptor of the socket.
  virtual void turn_away(int listener) noexcept = 0;
  // A connection that waits at `listener`, on which no Accept is pending, or a negative errno (-EAGAIN: none waits).
  // Call it before close(), which resets waiting connections.
  virtual int try_accept(int listener) noexcept = 0;
  // Closes `fd`, on which no operation is pending.
  virtual void close(int fd) noexcept = 0;
  // Tells the peer that nothing more will be written (FIN); reading continues.
  virtual void shutdown_write(int fd) noexcept = 0;
  // Ends both directions: a pending Send ends with -EPIPE, a pending Receive with the bytes that have arrived and then
  // 0.
  virtual void shutdown(int fd) noexcept = 0;
  virtual Address local_address(int fd) noexcept = 0;
  virtual Address peer_address(int fd) noexcept = 0;
  // How many bytes of what was sent on a connection its peer has acknowledged so far: what this side's kernel holds for
  // it is not counted. Empty where that is not known: Unix sockets, and TCP where the kernel does not say (tcp(7),
  // TCP_INFO).
  virtual std::optional<std::uint64_t> acknowledged(int fd) noexcept = 0;
  // How many sent bytes of a connection this side's kernel still holds: bytes that have not left, and bytes that the
  // peer has not acknowledged. An end of the stream that is not acknowledged counts as one. Zero for a Unix socket,
  // because sent bytes are at its peer immediately. A system call, two where it is not zero; after the connection has
  // failed the figure means nothing.
  virtual std::uint64_t unacknowledged(int fd) noexcept = 0;
  // How long ago the kernel was given the last bytes that have come on a connection, read or not, to one of its ticks
  // (4 ms or so). Zero where that is not known, as for acknowledged(), and in the simulation, where nothing waits
  // unseen.
  virtual Duration last_came(int /*fd*/) noexcept { return {}; }
  // Whether bytes of a connection, or its end, are in the kernel that no receive has brought yet. False in sim, where
  // nothing waits unseen. A system call.
  virtual bool has_unread(int /*fd*/) noexcept { return false; }
};

// AlreadyExists when a process listens at `address`, also one that would share it by ListenOptions::reuse_port. Call it
// before the first of several sockets that share an address: otherwise a second process would go unnoticed. An address
// with port 0 and that of a Unix socket are always free.
Result<> check_vacant(Engine& engine, const Address& address, ListenOptions options);
// Whether accept failed for the sake of one connection that went away: accept(2) lists these, try again.
bool is_transient_accept_error(int number) noexcept;
// Whether an errno of accept means "later": descriptors or memory have run out (EMFILE, ENFILE, ENOMEM, ENOBUFS).
bool is_exhaustion(int number) noexcept;

}  // namespace keel::io
