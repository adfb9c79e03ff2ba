// keel/net/datagram.h — messages without a connection: UDP, and Unix sockets for datagrams, on the current worker.
//
//   Task<> echo(DatagramSocket socket) {
//     while (true) {
//       Datagram datagram = co_await socket.receive();      // its bytes are borrowed until the next receive
//       co_await socket.send(datagram.bytes, datagram.from);
//     }
//   }
//   …
//   KEEL_TRY(DatagramSocket socket, DatagramSocket::bind(*Address::parse("0.0.0.0:7000")));
//
//   std::vector<OutgoingDatagram> batch = …;                // many leave with one system call
//   std::size_t left = co_await socket.send_many(batch);
//   co_await socket.send(video, viewer, 1200);              // as datagrams of 1,200 bytes each
//
// UDP may lose, repeat and reorder datagrams; "sent" here only means that a datagram has left this socket. Unix sockets
// lose nothing: the sender waits for room, or gets an error.
//
// Errors:    Unavailable with ECONNREFUSED, on a connected socket: no socket was open at the peer's address when an
//            earlier datagram arrived; this socket remains usable. NotFound: no socket has this Unix path.
//            InvalidArgument with EMSGSIZE: the bytes are too long for a datagram (65,507 over IPv4). ResourceExhausted
//            (ENOBUFS): the system has no memory. Unavailable with EAGAIN: on a Unix socket that is not connected, the
//            receiver has no room. Cancelled, DeadlineExceeded.
// Ownership: owns its descriptor; movable between operations. Only one task may receive at a time, and only one may
//            send.
// Threads:   the worker it was made on. If several tasks receive or send, give each task its own socket, bound with
//            reuse_port.
// Cancel:    a cancelled receive loses no datagram; a cancelled send() has sent no datagram; a cancelled send_many()
//            has sent some of its datagrams or none.
// Memory:    up to 32 datagrams wait in the socket to be received, and all others wait in the kernel, which drops
//            datagrams beyond DatagramOptions::receive_buffer_bytes. A socket takes 6 KB; no heap per datagram in
//            steady state.
// Cost:      io_uring: the kernel receives into the engine's buffers, so nothing is copied, and neither a receive nor a
//            send takes a system call per datagram; a send_many() takes one system call. With a bytes_max above 15 KiB,
//            or with `join`, receiving works as with epoll: one recvmmsg for up to 16 datagrams, and a copy of each.
//            epoll: one system call for up to 64 datagrams of send_many(), or as many segments.
// Source:    udp(7), unix(7), recvmmsg(2), sendmmsg(2).

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "keel/io/address.h"
#include "keel/io/op.h"
#include "keel/io/socket_options.h"
#include "keel/task/leaf.h"
#include "keel/task/task.h"

namespace keel {

// An io::Datagram (op.h) has the fields `bytes`, `from` and `cut`.
using Datagram = io::Datagram;

// An io::OutgoingDatagram (op.h) has the fields `bytes`, `to` (empty: the peer of a connected socket) and
// `segment_bytes` (0: one datagram).
using OutgoingDatagram = io::OutgoingDatagram;

// A socket for datagrams, on the current worker.
class DatagramSocket {
 public:
  class Receive;
  class Send;
  class SendMany;

  // Makes a socket that receives at `address`; with port 0, the system chooses the port. AlreadyExists,
  // PermissionDenied. If no process has the Unix socket at `address` open, the new socket takes over that path. The
  // path remains when the socket is closed.
  static Result<DatagramSocket> bind(const Address& address, io::DatagramOptions options = {});
  // Makes a socket that sends to `peer` and receives only from it; nothing is sent yet. Errors for a Unix path:
  // NotFound, Unavailable.
  static Result<DatagramSocket> connect(const Address& peer, io::DatagramOptions options = {});
  DatagramSocket(DatagramSocket&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  DatagramSocket& operator=(DatagramSocket&& other) noexcept {
    if (this != &other) {
      close();
      state_ = std::exchange(other.state_, nullptr);
    }
    return *this;
  }
  ~DatagramSocket() { close(); }

  // Waits for the next datagram.
  [[nodiscard]] Receive receive() noexcept;
  // Sends `bytes`, which must live until the send ends, to `to`, or to the address that the socket is connected to. If
  // `segment_bytes` is set, the bytes are sent as several datagrams of that size; the last one may be shorter.
  [[nodiscard]] Send send(std::string_view bytes, const Address& to = {}, std::uint32_t segment_bytes = 0) noexcept;
  // Sends several datagrams in order; the datagrams must live until the send ends. Returns the number sent. If some
  // datagrams were not sent, the first of these failed; sending that datagram again returns the error. If the first
  // datagram fails, the call fails.
  [[nodiscard]] SendMany send_many(std::span<const OutgoingDatagram> datagrams) noexcept;
  // Closes the socket immediately; the destructor does the same.
  void close() noexcept;

  // The socket must be open. Options of socket_options.h: those for buffers and, with UDP, those for IP, broadcast and
  // multicast.
  Result<> set_options(const io::SocketOptions& options);
  io::SocketOptions options() const;
  // Starts or stops receiving datagrams for the multicast `group` (its port is ignored) through `interface`, the number
  // that if_nametoindex(3) returns; 0: the interface of the group's scope, or the one that the system's routes select.
  // Bind the socket to the port that the senders use, with reuse_port if there are several sockets; once the socket has
  // joined a group, it receives datagrams only for the groups that it has joined. InvalidArgument: not a multicast
  // address; AlreadyExists: the socket is already a member; NotFound: the socket is not a member, or there is no such
  // interface;
  // Unsupported: this is a Unix socket. ip(7), RFC 3678.
  Result<> join_group(const Address& group, std::uint32_t interface = 0);
  Result<> leave_group(const Address& group, std::uint32_t interface = 0);
  Address local_address() const noexcept;
  Address peer_address() const noexcept;  // Empty when the socket is not connected.
  // The descriptor, with the same restrictions as Stream::native_handle().
  int native_handle() const noexcept;

 private:
  friend class DatagramOutput;
  struct State;
  explicit DatagramSocket(State& state) noexcept : state_(&state) {}
  static Result<DatagramSocket> open(const io::DatagramOptions& options);
  State* state_;
};

class [[nodiscard]] DatagramSocket::Receive : public Leaf {
 public:
  using Value = Datagram;
  explicit Receive(State& state) noexcept : Leaf(&cancel), state_(state) {}
  bool start();
  Result<Datagram> take() noexcept;

 private:
  friend struct State;
  static void cancel(Leaf& leaf) noexcept;
  State& state_;
  bool cancelled_ = false;
};

// The common base of sends that wait.
class DatagramOutput : public Leaf {
 protected:
  explicit DatagramOutput(DatagramSocket::State& state) noexcept : Leaf(&cancel), state_(state) {}
  bool send(std::span<const OutgoingDatagram> datagrams);
  Result<std::size_t> sent() noexcept;

 private:
  friend struct DatagramSocket::State;
  static void cancel(Leaf& leaf) noexcept;
  DatagramSocket::State& state_;
};

class [[nodiscard]] DatagramSocket::Send : public DatagramOutput {
 public:
  using Value = void;
  Send(State& state, const OutgoingDatagram& datagram) noexcept : DatagramOutput(state), datagram_(datagram) {}
  bool start() { return send({&datagram_, 1}); }
  Result<> take() noexcept;

 private:
  OutgoingDatagram datagram_;
};

class [[nodiscard]] DatagramSocket::SendMany : public DatagramOutput {
 public:
  using Value = std::size_t;
  SendMany(State& state, std::span<const OutgoingDatagram> datagrams) noexcept
      : DatagramOutput(state), datagrams_(datagrams) {}
  bool start() { return send(datagrams_); }
  Result<std::size_t> take() noexcept { return sent(); }

 private:
  std::span<const OutgoingDatagram> datagrams_;
};

}  // namespace keel
