// keel/net/blocking/datagram.h — messages without a connection, in programs without a loop: the API of net/datagram.h
// with calls that block.
//
//   KEEL_TRY(auto socket, blocking::DatagramSocket::connect(*Address::parse("127.0.0.1:7000")));
//   for (int attempt = 0; attempt < 3; ++attempt) {
//     KEEL_TRY_VOID(socket.send("what time is it?"));
//     Result<blocking::Datagram> reply = socket.receive(200_ms);  // its bytes are borrowed until the next receive
//     if (reply) return std::string(reply->bytes);
//   }
//   return fail(Code::Unavailable, "no reply");
//
// Every call takes a time limit; a call without a time limit waits forever. Signals do not end a wait. net/datagram.h
// describes how UDP treats datagrams, and which datagrams may be sent.
//
// Errors:    DeadlineExceeded when the time limit is reached, Cancelled after shutdown(); all others as in
//            net/datagram.h. A receive that fails loses no datagram.
// Ownership: owns its descriptor and room for 16 datagrams; movable between calls.
// Threads:   at a time, one thread may receive and another thread may send; any thread may call shutdown() while the
//            socket is open. Using the socket on a worker of a loop is a bug.
// Cost:      one system call receives up to 16 datagrams that have arrived, or sends up to 64 datagrams of send_many();
//            a call that has to wait makes two more. A socket reserves 1 MiB of address space; only the pages that are
//            touched take memory.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/io/address.h"
#include "keel/io/op.h"
#include "keel/io/socket_options.h"

namespace keel::blocking {

// An io::Datagram (op.h) has the fields `bytes`, `from` and `cut`.
using Datagram = io::Datagram;
// An io::OutgoingDatagram (op.h) has the fields `bytes`, `to` and `segment_bytes`.
using OutgoingDatagram = io::OutgoingDatagram;

// A socket for datagrams; its calls block.
class DatagramSocket {
 public:
  // Makes a socket that receives at `address`; with port 0, the system chooses the port. AlreadyExists,
  // PermissionDenied. If the path of a Unix socket exists but no process has it open, the path is taken over; the path
  // remains when the socket is closed.
  static Result<DatagramSocket> bind(const Address& address, io::DatagramOptions options = {});
  // Makes a socket that sends to `peer` and receives only from it; nothing is sent yet. Errors for a Unix path:
  // NotFound, Unavailable.
  static Result<DatagramSocket> connect(const Address& peer, io::DatagramOptions options = {});
  DatagramSocket(DatagramSocket&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  DatagramSocket& operator=(DatagramSocket&& other) noexcept;
  ~DatagramSocket() { close(); }

  // Waits for the next datagram.
  Result<Datagram> receive(Duration timeout = Duration::forever());
  // Sends `bytes` to `to`, or to the address that the socket is connected to. If `segment_bytes` is set, the bytes are
  // sent as several datagrams of that size; the last one may be shorter.
  Result<> send(std::string_view bytes, const Address& to = {}, Duration timeout = Duration::forever(),
                std::uint32_t segment_bytes = 0);
  // Sends several datagrams in order, and returns the number sent. If fewer datagrams were sent than were given, then
  // either the first unsent datagram failed or the time limit was reached. If not even the first datagram was sent, the
  // call fails.
  Result<std::size_t> send_many(std::span<const OutgoingDatagram> datagrams, Duration timeout = Duration::forever());
  // Makes all waiting and later calls on this socket fail with Cancelled.
  void shutdown() noexcept;
  void close() noexcept;

  // Call set_options() while the socket is open. Options of socket_options.h: those for buffers and, with UDP, those
  // for IP, broadcast and multicast.
  Result<> set_options(const io::SocketOptions& options);
  io::SocketOptions options() const;
  // net/datagram.h describes join_group() and leave_group().
  Result<> join_group(const Address& group, std::uint32_t interface = 0);
  Result<> leave_group(const Address& group, std::uint32_t interface = 0);
  Address local_address() const noexcept;
  Address peer_address() const noexcept;  // Empty when the socket is not connected.
  // The descriptor, which may be duplicated and passed to getsockopt, setsockopt, ioctl and poll (up to 16 datagrams
  // may have been read ahead); the socket closes the descriptor.
  int native_handle() const noexcept;

 private:
  struct State;
  explicit DatagramSocket(State& state) noexcept : state_(&state) {}
  static Result<DatagramSocket> open(const io::DatagramOptions& options);
  State* state_;
};

}  // namespace keel::blocking
