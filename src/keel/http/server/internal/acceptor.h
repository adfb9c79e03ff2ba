// keel/http/server/internal/acceptor.h — accepts a worker's connections and enforces the limit on their number.
//
// Internal to http. At the limit, the connections that have waited longest for a request or for the rest of a head are
// closed to make room. If no connection has waited long enough, accepting stops, and new connections wait in the
// kernel's queue.
//
// Lifetime: an Acceptor is a part of its ServerWorker, and passes new connections to it.
// Threads:  the worker.

#pragma once

#include <cstdint>

#include "keel/base/member.h"
#include "keel/base/time.h"
#include "keel/base/wheel.h"
#include "keel/http/server/internal/degradation.h"
#include "keel/http/server/server.h"
#include "keel/io/op.h"

namespace keel::http {

class ServerWorker;

// The share of one worker in a listening socket.
struct ListenerPart {
  int fd = -1;          // A listening descriptor of the loop's engine; the Acceptor closes it.
  bool shared = false;  // Whether other workers accept from the same socket.
  bool first = true;    // Whether this part is the first of those that share the socket; the first part acts for all.
};

class Acceptor {
 public:
  Acceptor(ServerWorker& worker, const ListenerPart& listener, std::uint32_t connections_max);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Begins or continues to accept.
  void begin();
  // Changes the limit of connections.
  void change(std::uint32_t connections_max);
  // Call this function when a connection has ended: there may be room for another one.
  void resume_with_room();
  // Ends listening. Before listening ends, new connections are rejected for a moment. If another process continues to
  // listen, no connection is rejected, and listening ends immediately.
  void begin_drain(Duration grace, Listening listening);
  // Ends listening immediately; connections in the kernel's queue are not accepted.
  void abort();

  // The listening descriptor; -1 when it is closed.
  int listener() const noexcept { return listener_; }
  bool is_closed() const noexcept { return listener_ < 0; }
  bool is_first() const noexcept { return first_; }

 private:
  void accepted();
  bool is_near_limit() const noexcept;
  void check_limit();
  bool is_full() const noexcept;
  void stop_for_now();
  // Closes the connections that have waited longest. Returns false if too few connections have waited long enough; the
  // Acceptor tries again later.
  bool make_room();
  void look_for_room();
  // The number of places that must be free before accepting continues.
  std::uint32_t room() const noexcept;
  void stop_accepting();
  void take_waiting();
  void close_listener();

  ServerWorker& worker_;
  Member<io::Accept, Acceptor, &Acceptor::accepted> accept_{*this};
  Member<Timer, Acceptor, &Acceptor::begin> retry_{*this};
  Member<Timer, Acceptor, &Acceptor::stop_accepting> last_call_{*this};
  Member<Timer, Acceptor, &Acceptor::look_for_room> room_{*this};
  Degradation exhaustion_;
  Degradation fullness_;
  std::uint32_t connections_max_;
  int listener_;
  const bool first_;
  bool draining_ = false;
  bool aborting_ = false;
  bool full_ = false;
  bool made_room_ = false;  // Connections were closed to make room; in this case, one free place is enough to continue.
};

}  // namespace keel::http
