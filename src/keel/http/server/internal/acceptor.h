// keel/http/server/internal/acceptor.h — when a worker accepts connections: its listener, and the limit of connections.
//
// Internal to http. Above the limit those connections are closed to have room that have waited longest for a request or
// for the rest of a head; where there are none accepting stops, and newcomers wait in the kernel's queue.
//
// Lifetime: a part of its ServerWorker, to which new connections are given.  Threads: the worker.

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

// What one worker has of a socket that is listened on.
struct ListenerPart {
  int fd = -1;          // A listening descriptor of the loop's engine; the Acceptor closes it.
  bool shared = false;  // Others accept from the same socket.
  bool first = true;    // This one speaks for all that share it.
};

class Acceptor {
 public:
  Acceptor(ServerWorker& worker, const ListenerPart& listener, std::uint32_t connections_max);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Begins to accept, or continues.
  void begin();
  // Another limit of connections, from now on.
  void change(std::uint32_t connections_max);
  // A connection has ended: there may be room.
  void resume_with_room();
  // Listening ends, after new connections were rejected for a moment; or immediately, where it continues elsewhere.
  void begin_drain(Duration grace, Listening listening);
  // Listening ends, and who waits is not taken in.
  void abort();

  // The descriptor; -1 once it is closed.
  int listener() const noexcept { return listener_; }
  bool is_closed() const noexcept { return listener_ < 0; }
  bool is_first() const noexcept { return first_; }

 private:
  void accepted();
  bool is_near_limit() const noexcept;
  void look_at_limit();
  bool is_full() const noexcept;
  void stop_for_now();
  // Closes connections that have waited longest. False: none has for long enough; it is tried again.
  bool make_room();
  void look_for_room();
  // How many places are free before accepting continues.
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
  bool made_room_ = false;  // Since then: one free place is enough to continue.
};

}  // namespace keel::http
