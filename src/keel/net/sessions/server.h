// keel/net/sessions/server.h — the sessions of clients, over the connections of a messages::Server.
//
//   Task<> serve(Worker& worker, sessions::Registry& registry, const sessions::Handlers& handlers) {
//     sessions::Server sessions(registry, handlers, {.authenticate = &who_is_it});
//     messages::Server server(requests, {.on_open = [&](messages::Peer& peer) { sessions.open(peer); }});
//     Listener listener = co_await worker.listen(*Address::parse("0.0.0.0:7000"));
//     co_await server.serve(listener, worker.stopping());
//     co_await sessions.stop();
//   }
//   Task<std::string> who_is_it(const Greeting& client) {
//     if (!is_key_of(client.name, client.credentials)) co_await fail(Code::Unauthenticated, "the key is wrong");
//     co_return std::string(client.name);                    // the name of the session
//   }
//
// A client resumes its session with a secret that the client got from the server, and is authenticated again; if the
// authentication gives the client another name, the client gets a new session. If the client's older connection seems
// alive, the server closes that connection, so a client that notices a dead connection earlier than the server can
// resume its session immediately. A session without a connection is kept for `expiry`, and ends after this time.
//
// Connections that never send a hello have no session, but their requests are served.
//
// Errors:    a client that violates the protocol receives the reason and is disconnected, but may resume its session. A
//            client that is not authenticated receives the error, and its run() ends.
// Ownership: owns its sessions.
// Lifetime:  must outlive the messages::Server; the registry and the handlers must outlive this sessions::Server.
//            stop() must have completed before the destructor runs, unless no handler of this server is waiting
//            (checked).
// Threads:   the worker on which it was constructed; each worker has its own server.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "keel/base/function.h"
#include "keel/base/owned.h"
#include "keel/base/time.h"
#include "keel/net/messages/peer.h"
#include "keel/net/sessions/session.h"
#include "keel/task/task.h"

namespace keel::sessions {

class Handlers;
class Registry;

// The name and credentials that a client sent. The views live until the authenticating task has ended; if the peer
// disconnects earlier, that task is stopped.
struct Greeting {
  std::string_view name;
  std::string_view credentials;
  messages::Peer& peer;  // address() is the client's address; identity() is the name in the client's certificate.
  bool resumes = false;
};

// How long sessions are kept, and which clients get a session.
struct ServerOptions {
  SessionOptions session = {};
  Duration expiry = 60_s;  // How long a session is kept without a connection.
  // Returns the name of the session. If it returns an error, the error is sent to the client, unless the error is from
  // the environment or a bug. If `authenticate` is not set, the name that each client sends is accepted without a
  // check.
  Function<Task<std::string>(const Greeting&)> authenticate = {};
};

class Server {
 public:
  Server(Registry& registry, const Handlers& handlers, ServerOptions options = {});
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Lets a new connection have a session; must be called from messages::ServerOptions::on_open.
  void open(messages::Peer& peer);
  // Ends all sessions with Unavailable: clients then try to begin new sessions. Completes when no handler runs any
  // more, even if the awaiting task is cancelled.
  Task<> stop();

  // Changes the limits of sessions that begin later, and the heartbeat of sessions that connect later.
  void change(const SessionOptions& session, Duration expiry);

  std::size_t sessions() const noexcept;
  // Finds a session of this worker; returns null if the session is not on this worker.
  Session* find(std::uint64_t number) noexcept;
  // Calls f(Session&) for each session; f may end the session.
  void each(FunctionRef<void(Session&)> f);

 private:
  friend class Registry;
  struct State;
  Owned<State> state_;
};

}  // namespace keel::sessions
