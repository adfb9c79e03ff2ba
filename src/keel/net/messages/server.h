// keel/net/messages/server.h — serves messages on one worker.
//
//   Task<> serve(Worker& worker, const messages::Handlers& handlers) {
//     messages::Server server(handlers);
//     Listener listener = co_await worker.listen(*Address::parse("0.0.0.0:7000"));
//     co_await server.serve(listener, worker.stopping());    // drains when it stops
//   }
//
//   server.each([&](Peer& peer) { if (!peer.try_send(alarm)) … });   // to all that are connected to this worker
//
// Errors:    serve() fails as Listener::accept does. A failed connection is closed and logged; the server continues.
// Lifetime:  must outlive serve(); the handlers must outlive the server.
// Threads:   the worker on which the Server was made; one server for each worker.
// Cancel:    a cancelled serve() closes all connections immediately and waits for their end.
// Cost:      an idle connection has no buffers; docs/messages.md states its size.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "keel/base/function.h"
#include "keel/base/list.h"
#include "keel/net/listener.h"
#include "keel/net/messages/peer.h"
#include "keel/task/event.h"
#include "keel/task/task.h"

namespace keel {
class TransportLayers;
}

namespace keel::messages {

class Handlers;
class MessageMetrics;

// The limits of a server, and the functions called when peers come and go.
struct ServerOptions {
  PeerOptions peer = {};
  std::size_t connections_max = 10'000;     // A new connection beyond this number is closed with ResourceExhausted.
  Duration drain = 10_s;                    // The time limit for existing requests and streams when the server stops.
  TransportLayers* layers = nullptr;        // tls::Layers, for TLS; must outlive the server. Null: no TLS.
  const MessageMetrics* metrics = nullptr;  // Must outlive the server (metrics.h). Null: no metrics.
  // on_open is called when the peer's first frame has arrived, before any other frame is handled; on_closed is called
  // after the connection has ended, and is the last use of the Peer.
  Function<void(Peer&)> on_open = {};
  Function<void(Peer&, const Error& reason)> on_closed = {};
};

class Server {
 public:
  explicit Server(const Handlers& handlers, ServerOptions options = {});
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Accepts and serves connections until `stopping` is set; then drains and closes them, and ends. Call it once.
  Task<> serve(Listener& listener, Event& stopping);
  // Serves one more connection, which other code accepted. This call is allowed until serve() has ended.
  void add(Stream stream);
  // Takes over the connections that the listener has already taken from the system, and stops the listener. Otherwise
  // these connections would be lost if another process continues to accept from the socket. For use without serve();
  // call this function before stop().
  Task<> take_rest(Listener& listener);
  // Drains and closes all connections, and completes when they have ended; for use without serve(). Requests that a
  // peer sent before it learned of the drain are still handled, so a peer that then switches to another server loses no
  // requests.
  Task<> stop();

  // Sets other limits while the server runs: `connections_max` and `drain` take effect immediately, and `peer` takes
  // effect for later connections, because the peer of an open connection has already received its limits. No connection
  // is closed.
  void change(const PeerOptions& peer, std::size_t connections_max, Duration drain);

  std::size_t connections() const noexcept;
  // Calls f(Peer&) for each open connection; f may close it.
  void each(FunctionRef<void(Peer&)> f);

 private:
  friend class internal::Connection;
  struct State;
  State* state_;
};

}  // namespace keel::messages
