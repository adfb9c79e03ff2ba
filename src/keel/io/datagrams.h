// keel/io/datagrams.h — datagrams by system calls that handle many at a time. They are used by epoll, by io_uring if it
// does not read datagrams itself, and by programs without an engine.
//
//   KEEL_TRY(const int fd, system_datagram({.bind = address}));
//   DatagramBatch batch;
//   const int count = batch.read(op);                       // -EAGAIN: none has come; poll(2) says when
//   for (int i = 0; i < count; ++i) batch.show(i, op);      // one after the other in op.data, op.from, …
//
//   const int error = send_datagrams(op, calls);            // EAGAIN: there is no room; poll(2) says when
//   op.result = result_of(op, error);
//
// Errors:   errno values; system_datagram has the errors of Engine::open_datagram.
// Lifetime: the datagrams that a batch shows are valid until its next read().
// Threads:  any; each batch and each operation on one thread at a time.
// Cost:     one system call receives up to 16 datagrams that have arrived, and one sends up to 64. A batch reserves 1
//           MiB of address space; only the pages that are touched take memory.
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

// A socket that does not block and is closed at exec. AlreadyExists when the address is in use, InvalidArgument when
// there is nothing to bind or to connect to.
Result<int> system_datagram(const DatagramOptions& options);

// The datagrams of one recvmmsg(2), in its own memory.
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

// Sends the rest of `op`, from op.sent and op.offset. Returns 0 if all were sent, EAGAIN if there is no room, else the
// errno of the next one. Counts its system calls in `calls`.
int send_datagrams(SendDatagrams& op, std::uint64_t& calls) noexcept;
// Sends no more than fits into `share`, from which it subtracts the sent bytes and 4 KiB for each message.
// share_is_used: the share is used up, and the rest has to be sent after others had their turn.
int send_datagrams(SendDatagrams& op, std::uint64_t& calls, std::int64_t& share) noexcept;
inline constexpr int share_is_used = -1;
// The result of `op` for `error`.
inline int result_of(const SendDatagrams& op, int error) noexcept {
  return op.sent != 0 || error == 0 ? static_cast<int>(op.sent) : -error;
}
// The result of a cancelled operation: the number of datagrams that were sent.
inline int result_of_cancelled(const Op& op) noexcept {
  return op.kind == Kind::SendDatagrams ? result_of(static_cast<const SendDatagrams&>(op), ECANCELED) : -ECANCELED;
}
// Whether waiting for room makes sense: for an unconnected Unix socket, poll(2) does not know how much room its
// receiver has.
bool waits_for_room(const SendDatagrams& op) noexcept;

}  // namespace keel::io
