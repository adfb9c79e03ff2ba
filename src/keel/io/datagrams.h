// keel/io/datagrams.h — sends and receives datagrams with system calls that handle many datagrams at a time. These
// functions are used by the epoll engine, by the io_uring engine if it does not read datagrams itself, and by programs
// without an engine.
//
//   KEEL_TRY(const int fd, system_datagram({.bind = address}));
//   DatagramBatch batch;
//   const int count = batch.read(op);                       // -EAGAIN: none has come; poll(2) says when
//   for (int i = 0; i < count; ++i) batch.show(i, op);      // one after the other in op.data, op.from, …
//
//   const int error = send_datagrams(op, calls);            // EAGAIN: there is no room; poll(2) says when
//   op.result = result_of(op, error);
//
// Errors:   the functions return errno values; system_datagram() has the errors of Engine::open_datagram().
// Lifetime: the datagrams that show() returns are valid until the next read() of their batch.
// Threads:  any; only one thread at a time may use a batch or an operation.
// Cost:     one system call receives up to 16 datagrams that have arrived, and one system call sends up to 64. A batch
//           reserves 1 MiB of address space; only the pages that are touched take memory.
// Source:   recvmmsg(2), sendmmsg(2), udp(7): UDP_SEGMENT and UDP_GRO.

#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "keel/base/result.h"
#include "keel/io/op.h"
#include "keel/io/socket_options.h"

namespace keel::io {

// Makes a non-blocking socket that is closed at exec. AlreadyExists when the address is in use, InvalidArgument when
// `options` have neither an address to bind nor one to connect to.
Result<int> system_datagram(const DatagramOptions& options);

// The datagrams that one recvmmsg(2) has received, in memory that the batch owns.
class DatagramBatch {
 public:
  DatagramBatch();
  ~DatagramBatch();
  DatagramBatch(const DatagramBatch&) = delete;
  DatagramBatch& operator=(const DatagramBatch&) = delete;

  // Returns the number of datagrams that arrived at `op.fd`, or a negative errno. Does not wait.
  int read(const ReceiveDatagrams& op) noexcept;
  // Puts the datagram at `index` into the result fields of `op`.
  void show(int index, ReceiveDatagrams& op) noexcept;

 private:
  struct Place;
  char* memory_;
  std::unique_ptr<Place[]> places_;
  mmsghdr messages_[datagrams_read_max];
};

// Sends the remaining datagrams of `op`, beginning at op.sent and op.offset. Returns 0 if all datagrams were sent,
// EAGAIN if the socket has no room, or the errno with which the next datagram failed. Adds to `calls` the number of
// system calls that this function makes.
int send_datagrams(SendDatagrams& op, std::uint64_t& calls) noexcept;
// Does what the function above does, but sends no more than `share` allows. Subtracts from `share` the number of sent
// bytes, and 4 KiB for each message. Returns share_is_used when the share is used up; the remaining datagrams then have
// to be sent after other operations have had their turn.
int send_datagrams(SendDatagrams& op, std::uint64_t& calls, std::int64_t& share) noexcept;
inline constexpr int share_is_used = -1;
// The value of `op.result` after send_datagrams() has returned `error`.
inline int result_of(const SendDatagrams& op, int error) noexcept {
  return op.sent != 0 || error == 0 ? static_cast<int>(op.sent) : -error;
}
// The result of a cancelled operation: the number of datagrams that were sent.
inline int result_of_cancelled(const Op& op) noexcept {
  return op.kind == Kind::SendDatagrams ? result_of(static_cast<const SendDatagrams&>(op), ECANCELED) : -ECANCELED;
}
// Whether it makes sense to wait for room. Waiting makes no sense for an unconnected Unix socket, because poll(2) does
// not know how much room the receiver has.
bool waits_for_room(const SendDatagrams& op) noexcept;

}  // namespace keel::io
