// keel/net/sessions/registry.h — the sessions of all workers of a program.
//
//   sessions::Registry registry({.metrics = &metrics});                  // one, in main
//   sessions::Server server(registry, handlers, options);                // one on each worker (server.h)
//
//   registry.broadcast(Alarm{"smoke"}, {.when_full = WhenFull::DropOldest});
//   registry.send(number, Setting{"celsius", 19});
//   registry.kick(number, Error(Code::PermissionDenied, "the device is blocked"));
//   for (const SessionInfo& info : registry.list()) …
//
// A session lives on the worker of its connection. When the client connects to another worker, the session moves to
// that worker.
//
// Result:   for a session that has no room, broadcast() does what `when_full` says; with Refuse the session does not
//           get the message, and this is counted (sessions_refused_total). A session that is moving to another worker
//           during the call gets the broadcast as well, exactly once; send() and kick() also reach this session.
//           Messages that several threads send to a session during its move may arrive in any order.
// Errors:   send() and kick() return NotFound when there is no session with the given number. An error that occurs
//           later, on the session's worker, is not reported; to get such an error, call send() of the session on that
//           worker (Server::find).
// Lifetime: must outlive its servers (checked).
// Threads:  any. Messages for sessions of another worker are posted to that worker; messages for sessions of the
//           calling worker are sent immediately.
// Cost:     about 300 bytes for a session; a lock when a session begins, ends, connects or is looked up, and no lock
//           for its messages. A broadcast is encoded once, and copied for each session. stats() reads a few counters of
//           each worker, however many sessions there are.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/error.h"
#include "keel/base/owned.h"
#include "keel/base/result.h"
#include "keel/net/messages/message.h"
#include "keel/net/sessions/session.h"

namespace keel::metrics {
class Registry;
}

namespace keel::sessions {

class Server;

// The limits of a registry, and where its metrics go.
struct RegistryOptions {
  // The maximum number of sessions, including those without a connection; beyond this number, new sessions are
  // rejected.
  std::size_t sessions_max = 100'000;
  metrics::Registry* metrics = nullptr;  // Must outlive the Registry. Null: there are no metrics.
};

// A recent snapshot of a session.
struct SessionInfo {
  std::uint64_t number = 0;
  std::string name;
  std::string address;  // The address of the last connection.
  int worker = 0;
  bool is_connected = false;
  // The time at which the session began, in ns since 1970; for display.
  std::int64_t began_at_ns = 0;
  std::uint64_t sent = 0, received = 0, lost = 0, resumed = 0;  // See SessionStats.
  std::uint64_t ring_bytes = 0;
};

// Sums over all sessions so far.
struct RegistryStats {
  std::uint64_t sessions = 0;    // The current number of sessions.
  std::uint64_t connected = 0;   // The current number of sessions with a connection.
  std::uint64_t ring_bytes = 0;  // The current number of bytes in all rings.
  std::uint64_t begun = 0;
  std::uint64_t resumed = 0;
  std::uint64_t forgotten = 0;   // Attempts to resume a session that no longer existed.
  std::uint64_t taken_over = 0;  // Sessions that were resumed while their older connection seemed alive.
  std::uint64_t expired = 0;
  // Clients that were rejected because they were not authenticated, or because sessions_max was reached.
  std::uint64_t rejected = 0;
  std::uint64_t lost = 0;     // Messages lost because clients had no room to keep them.
  std::uint64_t refused = 0;  // Messages of broadcast() and send() for which a session had no room.
  std::uint64_t heartbeats_missed = 0;
};

class Registry {
 public:
  explicit Registry(const RegistryOptions& options = {});
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;
  ~Registry();

  // Sets another limit for sessions that begin later; existing sessions continue.
  void change(std::size_t sessions_max);
  RegistryStats stats() const;
  // At most `max` sessions, in the order in which they began.
  std::vector<SessionInfo> list(std::size_t max = 1000) const;

  Result<> kick(std::uint64_t number, Error reason);
  template <class M>
  Result<> send(std::uint64_t number, const M& message, const SendOptions& options = {}) {
    return send_encoded(number, encoded(message), options);
  }
  template <class M>
  void broadcast(const M& message, const SendOptions& options = {}) {
    broadcast_encoded(encoded(message), options);
  }

 private:
  friend class Server;
  struct Encoded {
    std::uint16_t type;
    Buffer payload;
  };
  struct State;
  template <class M>
  static Encoded encoded(const M& message) {
    Encoded made{messages::type_of(message), Buffer()};
    messages::encode(made.payload, message);
    return made;
  }
  Result<> send_encoded(std::uint64_t number, Encoded&& message, const SendOptions& options);
  void broadcast_encoded(Encoded&& message, const SendOptions& options);

  Owned<State> state_;
};

// The page /admin/sessions, with the first `max` sessions.
//   {"sessions":2,"connected":1,"shown":2,"list":[{"number":1,"name":"kitchen","address":"127.0.0.1:40000","worker":0,
//     "connected":true,"seconds":12.5,"sent":3,"received":9,"lost":0,"resumed":1,"ring_bytes":0}, …]}
void write_sessions_json(Buffer& out, const Registry& registry, std::size_t max = 1000);
void write_sessions_text(Buffer& out, const Registry& registry, std::size_t max = 1000);

}  // namespace keel::sessions
