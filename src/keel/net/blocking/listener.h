// keel/net/blocking/listener.h — waits for peers to connect, in programs without a loop.
//
//   KEEL_TRY(auto listener, blocking::Listener::bind(*Address::parse("127.0.0.1:0")));
//   KEEL_TRY(blocking::Stream peer, listener.accept(10_s));
//
// Options are those of io/socket_options.h: backlog, reuse_port, no_delay, buffers, inherited, dual_stack, fast_open.
//
// Errors:    bind: AlreadyExists when the address is in use, PermissionDenied, InvalidArgument. accept: Cancelled after
//            shutdown(); DeadlineExceeded when the time limit is reached; ResourceExhausted when descriptors or memory
//            run out, in which case a later accept may succeed.
// Ownership: owns its descriptor; movable. The path of a Unix socket remains, and the next process that binds this path
//            takes it over.
// Threads:   any number of threads may accept; any thread may call shutdown() while the listener is open. Using the
//            listener on a worker of a loop is a bug.

#pragma once

#include <utility>

#include "keel/io/socket_options.h"
#include "keel/net/blocking/stream.h"

namespace keel::blocking {

class Listener {
 public:
  static Result<Listener> bind(const Address& address, const io::ListenOptions& options = {});
  Listener(Listener&& other) noexcept : fd_(std::exchange(other.fd_, -1)), is_shut_(other.is_shut_) {}
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  Result<Stream> accept(Duration timeout = Duration::forever());
  // Makes all waiting and later accepts fail with Cancelled, so that the threads that accept can be joined. Connections
  // that were not accepted are reset, at the latest when the listener is destroyed.
  void shutdown() noexcept;
  // The address on which the listener listens, with the port that the system chose for port 0.
  Address address() const noexcept;
  // The descriptor; it may be passed to getsockopt, setsockopt and poll, and may be duplicated or inherited. The
  // listener closes the descriptor.
  int native_handle() const noexcept { return fd_; }

 private:
  explicit Listener(int fd) noexcept : fd_(fd) {}
  int fd_;
  bool is_shut_ = false;  // Accessed by atomic builtins.
};

}  // namespace keel::blocking
