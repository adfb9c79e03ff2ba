// keel/net/sessions/client.h — a session with a server; the session survives the loss of its connections.
//
//   Task<> device(std::vector<Address> servers, const sessions::Handlers& handlers) {
//     sessions::Client client(handlers, {.servers = servers, .name = "kitchen", .credentials = key});
//     Scope running;
//     running.spawn(client.run());                      // connects, and reconnects
//     client->send(Reading{"kitchen", 21.5});           // also before it is connected
//     …
//     co_await client->acknowledged();                  // what was sent has been handled
//     client->end(Error(Code::Cancelled, "done"));
//     co_await attempt(running.join());
//   }
//
// run() tries the servers in turn. Between attempts, run() pauses: the pause doubles from reconnect_min to
// reconnect_max and is shortened by a random part, so that the clients of a restarting server do not all return at the
// same moment. Each connection resumes the session. If the server has forgotten the session, a new one begins, and a
// SessionEvent says which messages may be lost.
//
// Errors:    run() returns the reason why the session ended, which SessionEvent::Kind::Ended reports as well: the code
//            and message of the server's goodbye, Protocol or Unsupported when the server speaks another protocol or
//            version, or the reason given to end(). A server that cannot be reached, or that stops, does not end the
//            session.
// Ownership: owns its Session.
// Lifetime:  must outlive run(); the handlers must outlive the Client. The Client must not be destroyed by one of its
//            handlers. The destructor stops a waiting handler, but does not wait until that handler has ended: the
//            handlers, and the objects that the stopped handler refers to, must live until the handler has ended.
// Threads:   the worker it was made on.
// Cancel:    when run() is cancelled and its task is destroyed (a Start does that in take()), the connection is closed
//            without a goodbye, and another run() can resume the session within the server's expiry.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "keel/base/time.h"
#include "keel/io/address.h"
#include "keel/net/messages/client.h"
#include "keel/net/sessions/session.h"
#include "keel/task/task.h"

namespace keel::sessions {

class Handlers;

// The name of a client, the servers to which it connects, and the rules by which it reconnects.
struct ClientOptions {
  std::vector<Address> servers;  // The addresses of the servers; at least one.
  std::string name = {};         // The name has at most 256 bytes.
  std::string credentials = {};  // The credentials have at most 4096 bytes.
  SessionOptions session = {};
  // The options of the connection, with TLS and with handlers of requests; the session's heartbeat replaces the
  // heartbeat in these options, and the host is copied.
  messages::ClientOptions connection = {};
  Duration reconnect_min = 100_ms;
  Duration reconnect_max = 30_s;
  Duration connect_timeout = 10_s;  // The time limit from the start of a connection to the server's welcome.
};

class Client {
 public:
  // Throws a Bug (base/bug.h) if there are no servers, if the name is too long, or if the credentials are too long.
  Client(const Handlers& handlers, ClientOptions options);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  // Runs until the session has ended. Only one call may run at a time.
  Task<> run();

  Session& operator*() const noexcept;
  Session* operator->() const noexcept { return &**this; }

 private:
  class Side;
  Side* const side_;  // Deletes itself when the Client has been destroyed and no handler runs.
};

}  // namespace keel::sessions
