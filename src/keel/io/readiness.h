// keel/io/readiness.h — waits for a descriptor that Keel does not own: a client library's socket, a pipe, a device.
//
//   while (PQisBusy(connection)) {
//     co_await readable(PQsocket(connection));
//     PQconsumeInput(connection);
//   }
//
// Keel's streams and files do not need ready(), readable() and writable(): these functions are for libraries that do
// input and output themselves, and that tell the program which descriptor to wait for. A wait is poll(2) for one
// descriptor. A hang-up or an error counts as ready, and is reported by the library's next call.
//
// Result:   ready() yields the events that occurred: POLLIN, POLLOUT, POLLERR, POLLHUP. readable() and writable() yield
//           no value.
// Errors:   Internal with EBADF for a descriptor that is not open; on epoll, a Bug (base/bug.h) for a descriptor on
//           which another wait or a Stream of the same worker waits; Unsupported in a simulation, which has no foreign
//           descriptors; Cancelled and DeadlineExceeded.
// Lifetime: the descriptor stays open until the wait has ended; afterwards its owner may close it without notifying
//           Keel. Only one wait at a time may use a descriptor.
// Cancel:   a cancelled wait changes nothing on the descriptor, and may be repeated.
// Cost:     on io_uring, no separate system call; on epoll, two system calls per wait. No heap.

#pragma once

#include "keel/io/op.h"
#include "keel/task/leaf.h"
#include "keel/task/task.h"

namespace keel {

namespace io {
class Engine;
}

// The common part of WhenReady and WhenUsable.
class ReadyLeaf : public Leaf, protected io::Ready {
 public:
  bool start() noexcept;

 protected:
  ReadyLeaf(int descriptor, short wanted);
  Result<> checked() const noexcept;

 private:
  io::Engine& engine_;
};

// The operation of ready(): completes with the events that occurred.
class [[nodiscard]] WhenReady : public ReadyLeaf {
 public:
  using Value = short;
  WhenReady(int descriptor, short wanted) : ReadyLeaf(descriptor, wanted) {}
  Result<short> take() noexcept;
};

// The operation of readable() and writable().
class [[nodiscard]] WhenUsable : public ReadyLeaf {
 public:
  using Value = void;
  WhenUsable(int descriptor, short wanted) : ReadyLeaf(descriptor, wanted) {}
  Result<> take() noexcept { return checked(); }
};

// `events`: POLLIN, POLLOUT or both. Each of these functions throws a Bug (base/bug.h) when it is called outside a
// worker.
WhenReady ready(int descriptor, short events);
WhenUsable readable(int descriptor);
WhenUsable writable(int descriptor);

}  // namespace keel
