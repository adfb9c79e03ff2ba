// keel/net/listener.h — waits for peers to connect.
//
//   Listener listener = co_await Listener::bind(*Address::parse("0.0.0.0:7000"));
//   Scope connections;
//   while (true) connections.spawn(echo(co_await listener.accept()));
//
// Errors:    bind: AlreadyExists when the address is in use, PermissionDenied, InvalidArgument. accept: retries after
//            transient errors; when descriptors or memory run out, it waits 50 ms and tries again. After stop(),
//            accept() fails with Unavailable once it has returned every connection that was accepted before stop().
// Ownership: owns its descriptor. The destructor closes accepted connections that no accept() has returned. To get all
//            accepted connections, call stop() first, and then call accept() until it fails.
// Memory:    up to 256 accepted connections wait in the listener for accept(); then the listener accepts no more until
//            accept() has returned all of these, and further connections stay in the kernel's queue, whose length is
//            ListenOptions::backlog. On io_uring the kernel passes all connections of one event-loop iteration
//            together: a burst may exceed the 256 connections by at most the backlog.
// Cost:      io_uring: no system call per connection, except one for each connection while a long queue is processed,
//            and one for the first accept. epoll: one system call per connection, and one for each event-loop iteration
//            in which connections arrive.
// Threads:   the worker it was made on. Only one task may await accept() at a time: in a second task, accept() throws a
//            Bug (base/bug.h).
// Cancel:    a cancelled accept loses no connection.

#pragma once

#include <optional>
#include <utility>

#include "keel/io/engine.h"
#include "keel/net/stream.h"

namespace keel {

namespace metrics {
class Counter;
}

class Listener {
 public:
  class Accept;

  static Result<Listener> bind(const Address& address, const io::ListenOptions& options = {});
  Listener(Listener&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  // Waits for the next connection.
  [[nodiscard]] Accept accept() noexcept;
  // Takes no more connections from the system: waiting connections remain for other processes that listen on the same
  // socket, or are closed with the socket. accept() still returns each connection that was already taken, and then
  // fails.
  void stop() noexcept;
  // The address on which the listener listens, with the port that the system chose for port 0.
  Address address() const noexcept;
  // The descriptor, which may be passed to getsockopt and setsockopt, duplicated or inherited. The listener closes the
  // descriptor, and only the listener may accept from it. In a simulation, the descriptor is a number that the system
  // does not know.
  int native_handle() const noexcept;
  // Counts the connections that accept() returns.
  void count_accepted(const metrics::Counter& counter) noexcept;

 private:
  struct State;
  explicit Listener(State& state) noexcept : state_(&state) {}
  State* state_;
};

class [[nodiscard]] Listener::Accept : public Leaf {
 public:
  using Value = Stream;
  explicit Accept(State& state) noexcept : Leaf(&cancel), state_(state) {}
  bool start();
  Result<Stream> take() noexcept;

 private:
  friend struct State;
  static void cancel(Leaf& leaf) noexcept;
  State& state_;
  std::optional<Stream> stream_;
  bool cancelled_ = false;
};

}  // namespace keel
