// keel/http/server/server.h — an HTTP/1.1 server: each worker has its own listener, and workers share nothing. (If the
// listening socket is a Unix socket or an inherited one, all workers share it.)
//
//   http::Router router;
//   router.get("/plaintext", [](http::Request&) { return http::Response::text(http::Status::Ok, "Hello, World!"); });
//   http::Server server(router, {.address = *Address::parse("127.0.0.1:8080")});
//   KEEL_TRY_VOID(server.start(*runtime));
//   …
//   server.drain(10_s);
//
// The server follows RFC 9110 and 9112 strictly: it rejects an ambiguous message with 400 and closes the connection.
// Everything that a client may use has a limit on its size and on its time. A connection is a plain state machine
// around its operations; an idle connection has no buffer, no arena and no coroutine frame. The responses to requests
// that arrive together are sent together.
//
// Each request that got a response is an entry in the flight recorder of its worker: the method, the pattern of the
// route as the object (empty if no route matched), the status as the outcome, and the size of the response's body.
// While a request is being handled, the object of the entry is the path of the request.
//
// Threads:  call start(), change(), drain() and stop() on one thread that is not a worker (or, if the server was
//           started on a Loop, on the thread of that loop).
// Lifetime: the router, the runtime and the registry must outlive the server.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/owned.h"
#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/http/message/parser.h"
#include "keel/http/server/forwarded.h"
#include "keel/http/server/router.h"
#include "keel/io/address.h"
#include "keel/io/socket_options.h"

namespace keel::io {
class Loop;
class Runtime;
}  // namespace keel::io
namespace keel::metrics {
class Registry;
}

namespace keel {
class TransportLayers;
}

namespace keel::http {

class ServerWorker;
struct ListenerPart;
struct RouteStages;  // stages.h

// The limits on what clients may use: time, memory, connections.
struct Limits {
  // Limits on the size and number of header fields (more: 431), and on the request line (longer: 414).
  HeadLimits head;
  // The largest decoded body; a larger one is rejected with 413. The memory for a body grows while the body arrives.
  std::size_t body_bytes_max = 1024 * 1024;
  // Memory for the bodies of all requests of a server; each worker has an equal share. At the limit, a request whose
  // body begins or grows is rejected with 503, and the connection is closed.
  std::size_t bodies_bytes_max = 256u << 20;
  // Memory for the responses of a server that their clients have not received yet; each worker has an equal share.
  // Responses below 4 KiB are not counted, nor are responses that the kernel accepts immediately. At the limit, each
  // new response of 4 KiB or more becomes a 503 until there is room. If responses were rejected because of this limit,
  // and less than a quarter of the memory is free at the next check (each second), the connections whose clients
  // receive least are reset. The last response that a worker accepts may exceed the limit.
  std::size_t responses_bytes_max = 256u << 20;
  // Memory for received bytes that cannot be processed yet: incomplete heads, and requests that wait for an earlier
  // one. The limit applies to the server, and each worker has an equal share; a connection that holds less than 4 KiB
  // is not counted. Above the limit, the connections that have waited longest are reset.
  std::size_t received_bytes_max = 64u << 20;
  // Memory for the bodies of one client address that sends more than one body at a time; each worker has an equal
  // share. Above the limit, the request is rejected with 429, and the connection is closed. 0: one public address
  // (net/address_guard.h) may use at most half of bodies_bytes_max, and other addresses have no limit, because an
  // address that is not public may belong to a load balancer. A client is an IPv4 address, or the /64 network of an
  // IPv6 address. Neither this limit nor client_connections_max applies to clients of a Unix socket or to
  // trusted_proxies, because a proxy forwards the requests of many clients.
  std::size_t client_bodies_bytes_max = 0;
  // The size of a request's arena, without the body; if it is exceeded, the response is replaced by a 503. The size is
  // checked when the handler has ended.
  std::size_t request_bytes_max = 16u << 20;
  // The limit on the bytes of a connection's responses that wait or are being sent; above this limit, the connection is
  // not read. The response that reaches the limit is still sent completely. In addition, received bytes of the next
  // requests may wait: 64 KiB with epoll, and 80 KiB with io_uring on Linux 6.17 and later. With io_uring on earlier
  // versions, up to half a MiB of a burst may wait.
  std::size_t pipeline_bytes_max = 64 * 1024;
  // The maximum number of connections of a server; each worker has an equal share. At the limit, the connections that
  // have waited longest are closed to make room. A connection can be closed if it has waited at least 1 s for a
  // request. A connection that waits for the rest of a head can be closed after 1 s or a quarter of header_timeout,
  // whichever is shorter. If no connection can be closed, accepting stops, and new connections wait in the kernel's
  // queue.
  std::uint32_t connections_max = 10'000;
  // The maximum number of connections of one client address; each worker has an equal share, and further connections
  // are reset. 0: one public address may use at most half of connections_max, and other addresses have no limit.
  std::uint32_t client_connections_max = 0;
  // After this many requests, the connection ends: the response to the last request has Connection: close.
  std::uint32_t requests_per_connection_max = 1'000'000;
  // Time limit from the first byte of a head to its last byte; a slower head gets 408. The limit applies to the whole
  // head, not to the time between two bytes.
  Duration header_timeout = 10_s;
  // Time limit of a whole body, or of one read of a streamed body; a slower client gets 408.
  Duration body_timeout = 30_s;
  // The smallest rate of a body in bytes per second, averaged over the time in which a reader waits for the body; a
  // slower request gets 408. 0: no minimum.
  std::uint32_t body_rate_min = 240;
  Duration body_rate_grace = 5_s;  // body_rate_min applies only after this time.
  // The longest time from the arrival of a request to its start. If each event-loop iteration in the last 100 ms had a
  // request that waited longer than this limit, each request that has waited longer than the limit gets 503
  // (admission.h). Set this limit to about half of the time within which clients must learn of a rejection.
  Duration queue_delay_max = 50_ms;
  // Time limit for the arrival of the first request and of each further request; after this time, the connection is
  // closed without a response. This timeout also limits how long a streamed response may send nothing to a client that
  // has stopped sending, because this client may have disconnected; after this time, the response's task is stopped.
  Duration idle_timeout = 60_s;
  // If the peer has received none of the sent bytes for this time, the connection is reset. The timeout also applies to
  // sent bytes that are still in the kernel, even while the connection is idle or lingers.
  Duration send_timeout = 30_s;
  // TCP_USER_TIMEOUT of connections that are accepted after it is set: how long sent bytes may stay unacknowledged,
  // whatever the connection is doing, and even after the connection has been closed. This timeout is the last resort,
  // which the kernel enforces, so it must be longer than send_timeout. Zero: the system's default (about 15 min). Unix
  // sockets have no such timeout.
  Duration user_timeout = 60_s;
  // The smallest rate, in bytes per second, at which the peer must receive while bytes wait for it; below this rate,
  // the connection is reset. The rate is measured over each period of send_rate_grace except the first, and only for
  // TCP. 0: no minimum.
  std::uint32_t send_rate_min = 240;
  Duration send_rate_grace = 15_s;
  // After a response that ends the connection, a client may still send bytes. The connection is closed when no further
  // bytes have arrived for this time. Received bytes are dropped, however many there are: an earlier close would cause
  // a reset, and the client could then lose the response (RFC 9112 §9.6).
  Duration linger_timeout = 5_s;
  Duration linger_time_max = 30_s;  // Time limit of lingering in total; 1 s while the server drains.
  // Time limit of a handler that returns a Task; after this time, the client gets 504. Everything that the task awaits
  // inherits the deadline. The limit does not apply to the body of a streamed response; send_timeout limits that body.
  Duration request_timeout = 30_s;
};

// Where a server listens, and how it responds.
struct ServerOptions {
  Address address;
  Limits limits = {};
  bool access_log = true;  // Logs one line at level info for each request.
  // Adds the field `client` to each line of the access log and to the lines about rejected requests: the
  // client_address(), or the peer if the request was rejected before its head was read. The field costs a system call
  // and an allocation for each line; in many countries, addresses are personal data.
  bool log_clients = false;
  // The stage clock (observe/span.h) measures one of this many requests; 0: it measures none.
  std::uint32_t measured_every = 16;
  // Each response says in the field Server-Timing how its time was spent; every request is then measured. Set this
  // option only if clients may know how the server spends its time.
  bool server_timing = false;
  std::string name = "http";  // The name of the server in logs, and the value of the label `server` in metrics.
  io::ListenOptions listen = {};
  metrics::Registry* metrics = nullptr;  // Null: no metrics.
  // The layers over the server's connections: tls::Layers of a server (net/tls/layer.h), which must outlive the Server.
  // If `https` is set, the scheme of requests is https. Null: plain text.
  TransportLayers* https = nullptr;
  // The max-age of Strict-Transport-Security (RFC 6797), which is how long browsers refuse plain HTTP; it is added to
  // responses that do not have this field. Zero: not added. With `https` only.
  Duration hsts_max_age = {};
  // Peers that are trusted to name the client's address in the fields that they write (forwarded.h).
  std::vector<Network> trusted_proxies = {};
  // If true, each connection of the trusted proxies must begin with a header of the PROXY protocol
  // (net/proxy_header.h), which comes before TLS. The address in the header is used as the peer of the connection's
  // requests for all purposes: for trusted fields, for the limits of one client, and in logs. A connection of a trusted
  // proxy without the header is closed. If a proxy does not name its client, the address is empty, and the client is
  // not trusted. Peers that are not trusted proxies must not send the header; if they do, the header is a malformed
  // request.
  bool proxy_protocol = false;
  ForwardedBy forwarded_by = ForwardedBy::XForwarded;
  // Says which peers are trusted to state a request's scheme, host and id, its trace (traceparent of W3C Trace Context,
  // which the log lines continue), and its remaining time (X-Request-Deadline-Ms, which limits a handler that returns a
  // Task).
  Believed believed = {};
  // The sites whose pages may request an upgrade to another protocol (upgrade.h), in addition to pages of the requested
  // host: "https://app.example.com", with the port unless it is the default of the scheme. {"*"}: every site.
  std::vector<std::string> upgrade_origins = {};
  // The value of WWW-Authenticate for a 401 that does not have this field; every 401 needs it (RFC 9110 §15.5.2).
  std::string challenge = "Bearer";
  // Adds X-Request-Id to each response, and request_id to each line of the access log: Request::id().
  bool request_ids = false;
  // Indents responses of type application/json that are not streamed, for people to read (json_indent.h).
  bool indent_json = false;
};

// What happens to the listening sockets of a server when it drains.
enum class Listening : std::uint8_t {
  Ends,    // Listening ends: connections that wait are accepted first; then new connections are rejected.
  GoesOn,  // The sockets stay open, because another process listens on them and accepts the waiting connections.
};

// The counters of a server. Each worker has its own cells; Server::Stats has the sums.
template <class Count>
struct ServerCounts {
  Count connections{};      // Currently open connections.
  Count connections_max{};  // The limit on open connections.
  Count accepted{};
  Count requests{};  // Requests that got a response, including rejected requests.
  // Requests that are in progress: their body, handler or response is not complete.
  Count in_progress{};
  Count refused{};  // Requests rejected by the parser or because of a limit.
  Count timeouts{};
  Count aborted{};             // Connections that ended before a response was sent completely.
  Count paused_full{};         // How often accepting stopped at the limit of connections.
  Count paused_descriptors{};  // How often accepting stopped because descriptors had run out.
  Count paused_memory{};       // How often accepting stopped because the kernel's memory had run out.
  // Connections that were idle, or had an incomplete head, and were closed because connections_max was reached.
  Count idle_closed{};
  Count body_bytes{};          // Memory currently held for bodies.
  Count body_bytes_max{};      // The limit on the memory for bodies.
  Count bodies_refused{};      // Bodies rejected because of bodies_bytes_max.
  Count response_bytes{};      // Memory currently held for responses that clients have not received yet.
  Count response_bytes_max{};  // The limit on the memory for responses that clients have not received yet.
  Count responses_refused{};   // Responses replaced by a 503 because of responses_bytes_max.
  Count responses_reset{};     // Connections reset because of responses_bytes_max.
  Count received_bytes{};      // Memory currently held for received bytes that are not processed yet.
  Count received_bytes_max{};  // The limit on the memory for received bytes that are not processed yet.
  Count received_reset{};      // Connections reset because of received_bytes_max.
  // Client addresses that have connections and to which a limit applies. An address with connections on several workers
  // counts once for each of these workers.
  Count clients{};
  Count client_connections_refused{};  // Connections rejected because of client_connections_max.
  Count client_bodies_refused{};       // Bodies rejected because of client_bodies_bytes_max.
  Count requests_too_big{};            // Requests that exceeded request_bytes_max.
  Count overloaded{};                  // Requests rejected because of queue_delay_max.
  Count cut{};                         // Requests whose connection ended before their response was sent.
  Count handshakes_failed{};           // Failed TLS handshakes.
  // TLS handshakes that wait to be computed by their worker; counted only in Server::stats().
  Count handshakes_waiting{};
  // Connections closed because they did not begin with the header that ServerOptions::proxy_protocol requires.
  Count introductions_refused{};
  Count slow_readers{};  // Connections reset because the peer received too slowly.
  Count bugs{};          // Requests that failed because of a bug in their handler or middleware (base/bug.h).
  Count upgraded{};      // Open connections that were upgraded to another protocol (upgrade.h).
};

class Server {
 public:
  Server(const Router& router, ServerOptions options);
  ~Server();  // Calls stop().
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Listens on every worker of `runtime`. AlreadyExists if another process uses the address (this is tested with a
  // socket that does not share its port); InvalidArgument if limits.head.fields_max is above 128, or if proxy_protocol
  // is set without trusted_proxies; otherwise the error of bind(). `inherited` are listening sockets from a service
  // manager or a previous process; if there are any, `address` is not bound. Each of the inherited sockets is used by
  // at least one worker, and each worker uses at least one of them. The inherited sockets still belong to the caller.
  Result<> start(io::Runtime& runtime, const std::vector<int>& inherited = {});
  // Listens only on the worker `worker`, for example for admin pages.
  Result<> start(io::Runtime& runtime, int worker, const std::vector<int>& inherited = {});
  // Listens on a loop of the calling thread, for simulations and for programs that run their own loop.
  Result<> start(io::Loop& loop);

  // The address on which the server listens; if its port was 0, with the port that the system has chosen.
  const Address& address() const noexcept { return address_; }

  // Changes the limits on every worker, for connections and requests that begin after this call returns. A request in
  // progress, including one with an incomplete head, keeps the limits on its size and the deadline with which it began.
  // The memory limits (bodies_bytes_max, request_bytes_max) apply immediately; a timeout that is already running may
  // use either the old or the new limit. If the new limit on connections is below the number of open connections,
  // accepting pauses until enough of them have ended. Call change() only after start().
  void change(const Limits& limits, bool access_log);

  // Returns a duplicate of the descriptor of each listening socket, for a process that continues to listen; the caller
  // closes the duplicates. When the server drains, the result is empty.
  std::vector<int> duplicate_listeners();

  // Begins to drain, on every worker. Listening ends: for 100 ms, new connections are rejected (Engine::turn_away), but
  // connections whose handshake has already begun are still accepted; then the listeners are closed. Each further
  // response has Connection: close. Connections without a request in progress stay open for the time `grace`, because a
  // request may be on its way. The tasks of upgraded connections are asked to stop. Returns immediately.
  void begin_drain(Duration grace = 250_ms, Listening listening = Listening::Ends);
  // Whether all listeners and connections are closed.
  bool is_drained() const noexcept;
  // Calls begin_drain(), waits until the server has drained or `deadline` has passed, and then closes the remaining
  // connections. Returns true if no connection had to be closed. If another process continues to listen, idle
  // connections stay open for up to 2 s instead of 250 ms, because the other process serves new connections, so this
  // process need not end quickly.
  bool drain(Duration deadline, Listening listening = Listening::Ends);
  // Closes all connections and waits until they have ended.
  void stop();

  using Stats = ServerCounts<std::uint64_t>;
  // The sums over all workers; they are exact when the workers are idle.
  Stats stats() const noexcept;
  // The time that the requests measured so far spent in each stage: an element for each route, in the order of the
  // router's routes(), and an element for requests without a route.
  std::vector<RouteStages> stage_times() const;
  // Bytes that the kernel holds because clients have not received them yet (SIOCOUTQ): the sum over all HTTP
  // connections at the last count. Each call starts a new count, whose result a later call returns: each worker asks
  // the kernel about a few connections in each event-loop iteration. A server without a Runtime counts immediately if
  // the call is on the thread of its loop. Call this function between start() and stop(), on any thread.
  std::uint64_t kernel_send_bytes() const;
  // The number of open connections on each worker, which shows how evenly they are spread.
  std::vector<std::uint64_t> connections_by_worker() const;

 private:
  Result<> listen_on(io::Loop& loop, ListenerPart part, int parts);
  Result<> listen_on_inherited(io::Loop& loop, const std::vector<int>& inherited, int worker, int workers);
  void on_every_loop(FunctionRef<void(ServerWorker&)> f);
  void make_metrics();

  const Router& router_;
  ServerOptions options_;
  Address address_;
  struct State;
  Owned<State> state_;
};

}  // namespace keel::http
