// keel/net/sessions/client.h — a session with a server that survives the loss of connections.
//
//   Task<> device(std::vector<Address> servers, const sessions::Handlers& handlers) {
//     sessions::Client client(handlers, {.servers = servers, .name = "kitchen", .credentials = key});
//     Scope running;
//     running.spawn(client.run());                      // connects, and does so again
//     client->send(Reading{"kitchen", 21.5});           // before it is connected as well
//     …
//     co_await client->acknowledged();                  // what was sent has been handled
//     client->end(Error(Code::Cancelled, "done"));
//     co_await attempt(running.join());
//   }
//
// run() tries the servers in turn, again after a pause that doubles from reconnect_min to reconnect_max and is
// shortened by a random part, so that the clients of a restarting server do not all return at the same moment. A
// connection resumes the session; if the server has forgotten it, a new one begins, and the handlers are told what may
// be lost.
//
// Errors:    of run(): why the session has ended, as in SessionEvent::Kind::Ended: the goodbye of the server (its code
//            and message), Protocol or Unsupported where it speaks something else, or what end() was given. A server
//            that cannot be reached, or that stops, ends nothing.
// Ownership: owns its Session.
// Lifetime:  outlives run(); the handlers outlive it. Must not be destroyed by one of its handlers.
// Threads:   the worker it was made on.
// Cancel:    of run(): the connection is closed without a goodbye, and the session may be resumed by another run()
//            within the server's expiry.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "keel/base/owned.h"
#include "keel/base/time.h"
#include "keel/io/address.h"
#include "keel/net/messages/client.h"
#include "keel/net/sessions/session.h"
#include "keel/task/task.h"

namespace keel::sessions {

class Handlers;

// The name of a client, where it connects, and how it reconnects.
struct ClientOptions {
  std::vector<Address> servers;  // At least one.
  std::string name = {};         // At most 256 bytes.
  std::string credentials = {};  // At most 4096 bytes.
  SessionOptions session = {};
  // With TLS, and handlers of requests; the session's heartbeat replaces its heartbeat.
  messages::ClientOptions connection = {};
  Duration reconnect_min = 100_ms;
  Duration reconnect_max = 30_s;
  Duration connect_timeout = 10_s;  // From the beginning of a connection to the server's welcome.
};

class Client {
 public:
  // A Bug (base/bug.h) when there are no servers, or the name or the credentials are too long.
  Client(const Handlers& handlers, ClientOptions options);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  // Runs until the session has ended. Only one call at a time.
  Task<> run();

  Session& operator*() const noexcept;
  Session* operator->() const noexcept { return &**this; }

 private:
  class Side;
  Owned<Side> side_;
};

}  // namespace keel::sessions
