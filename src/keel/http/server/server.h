// keel/http/server/server.h — an HTTP/1.1 server: one listener per worker, nothing shared between workers. (If the
// listening socket is a Unix socket or an inherited one, all workers share it.)
//
//   http::Router router;
//   router.get("/plaintext", [](http::Request&) { return http::Response::text(http::Status::Ok, "Hello, World!"); });
//   http::Server server(router, {.address = *Address::parse("127.0.0.1:8080")});
//   KEEL_TRY_VOID(server.start(*runtime));
//   …
//   server.drain(10_s);
//
// Strict RFC 9110 and 9112: an ambiguous message gets 400, and the connection is closed. Everything has a limit and a
// time limit. A connection is a plain state machine around its operations: while idle, it owns no buffer, no arena and
// no coroutine frame. The responses to requests that arrive together are sent with one send.
//
// Each request with a response is an entry of its worker's flight recorder: its method, the pattern of its route as the
// object (empty when no route matched), its status as the outcome, and the bytes of its body. A request that is being
// handled has its path as the object.
//
// Threads:  call start(), change(), drain() and stop() on one thread that is not a worker (with a Loop: on that loop's
//           thread).
// Lifetime: router, runtime and registry outlive the server.

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

// The limits on what clients may use: time, bytes, connections.
struct Limits {
  HeadLimits head;  // Limits on the bytes and the number of header fields (above: 431), and on the target (above: 414).
  // The largest decoded body; a larger one gets 413. A request's memory grows as its body arrives.
  std::size_t body_bytes_max = 1024 * 1024;
  // Memory for the bodies of all requests of a server, shared evenly by the workers. At the limit, a request whose body
  // begins or grows gets 503, and the connection is closed.
  std::size_t bodies_bytes_max = 256u << 20;
  // Memory for the responses of a server that wait for their clients, shared evenly by the workers. Responses below 4
  // KiB are not counted, nor those that the kernel takes immediately. At the limit, a new response of 4 KiB or more
  // becomes 503 until there is room. When no memory has become free for a second, the connections whose clients receive
  // least are reset. The last response of a worker may exceed the limit.
  std::size_t responses_bytes_max = 256u << 20;
  // Memory for received bytes that cannot be processed yet: incomplete heads, and requests after one in progress. The
  // limit is for the server and shared evenly by the workers; less than 4 KiB of a connection are not counted. Above
  // the limit, the connections that have waited longest are reset.
  std::size_t received_bytes_max = 64u << 20;
  // Memory for the bodies of one client address that sends more than one body, shared evenly by the workers; above it,
  // the request gets 429 and the connection is closed. 0: half of bodies_bytes_max for each public address
  // (net/address_guard.h), and no limit for other addresses, because such an address may belong to a load balancer. A
  // client is an IPv4 address, or the /64 of an IPv6 one. Neither this limit nor client_connections_max applies to
  // clients of a Unix socket and to trusted_proxies: a proxy forwards many clients.
  std::size_t client_bodies_bytes_max = 0;
  // Size of the arena of a request, without the body; above it, the response is replaced by 503. The size is checked
  // when the handler has ended.
  std::size_t request_bytes_max = 16u << 20;
  // Bytes of the responses of a connection that wait or are being sent; above it, reading stops. The response that
  // reaches the limit is still sent whole. In addition, received bytes of the next requests may wait: 80 KiB on
  // io_uring (Linux 6.17 and later; before that, up to half a MiB of a burst), 64 KiB on epoll.
  std::size_t pipeline_bytes_max = 64 * 1024;
  // Connections of a server, shared evenly by the workers. At the limit, the connections that have waited longest are
  // closed to make room. A connection can be closed if it has waited for a request for a second, or for the rest of a
  // head for a second or a quarter of header_timeout, whichever is shorter. If there are none, accepting stops, and new
  // connections wait in the kernel's queue.
  std::uint32_t connections_max = 10'000;
  // Connections of one client address, shared evenly by the workers: further ones are reset. 0: half of connections_max
  // for each public address, no limit for others.
  std::uint32_t client_connections_max = 0;
  std::uint32_t requests_per_connection_max = 1'000'000;  // The response to the last one has Connection: close.
  // Time from the first byte of a head to the last; then 408. The limit is for the whole head, not per byte.
  Duration header_timeout = 10_s;
  Duration body_timeout = 30_s;  // Time for a whole body, or for one read of a streamed body; then 408.
  // Minimum of bytes per second of a body, on average while a reader waits for it; below it, 408. 0: no minimum.
  std::uint32_t body_rate_min = 240;
  Duration body_rate_grace = 5_s;  // Time before body_rate_min applies.
  // Longest time from the arrival of a request to its start. Once every event-loop iteration has exceeded it for 100
  // ms, requests that waited longer get 503 (admission.h). Set it to about half the time within which clients must hear
  // of a rejection.
  Duration queue_delay_max = 50_ms;
  // Time limit for the arrival of the first request, and of each next one; then the connection is closed without a
  // response. It also limits the time without sent bytes while a response is streamed to a client that has finished
  // writing, because that client may have disconnected; after this time the response's task is stopped.
  Duration idle_timeout = 60_s;
  // When the peer has received none of the sent bytes for this time, the connection is reset. Bytes that the kernel
  // still holds count as sent, also while the connection is idle or lingers.
  Duration send_timeout = 30_s;
  // TCP_USER_TIMEOUT of connections that are accepted from now on: the time for the peer to acknowledge anything,
  // whatever the connection is doing, and even after it has been closed. It is the last resort, enforced by the kernel,
  // so it must be longer than send_timeout. Zero: the system's default (about 15 min). Unix sockets have no such
  // timeout.
  Duration user_timeout = 60_s;
  // Minimum of bytes per second that the peer must receive while bytes wait for it; below it, the connection is reset.
  // Measured over each period of send_rate_grace except the first; TCP only. 0: no minimum.
  std::uint32_t send_rate_min = 240;
  Duration send_rate_grace = 15_s;
  // After a response that ends the connection, a client may still send: the connection is closed after this time
  // without further bytes from it. Received bytes are dropped, in any amount: closing earlier would cause a reset, by
  // which the client may lose the response (RFC 9112 §9.6).
  Duration linger_timeout = 5_s;
  Duration linger_time_max = 30_s;  // Total time of lingering; 1 s once the server drains.
  // Deadline of a Task handler, inherited by everything that it awaits; then 504. It does not apply to the body of a
  // streamed response, which send_timeout limits.
  Duration request_timeout = 30_s;
};

// Where a server listens, and how it responds.
struct ServerOptions {
  Address address;
  Limits limits = {};
  bool access_log = true;  // Logs one line for each request at level info.
  // Adds the field `client` to each line of the access log and to those about rejected requests: client_address(), or
  // the peer if the request was rejected before its head was read. Costs a system call and an allocation for each line;
  // addresses are personal data in many places.
  bool log_clients = false;
  // One request in this many is measured by the stage clock (observe/span.h); 0: none.
  std::uint32_t measured_every = 16;
  // Every response shows how its time was spent, in a field Server-Timing; every request is then measured. Use it only
  // if clients may know these times.
  bool server_timing = false;
  std::string name = "http";  // The name of the server in logs, and its label `server` in metrics.
  io::ListenOptions listen = {};
  metrics::Registry* metrics = nullptr;  // Null: no metrics.
  // The layers over its connections: tls::Layers of a server (net/tls/layer.h), which outlives it. Requests then have
  // the scheme https. Null: plain text.
  TransportLayers* https = nullptr;
  // Strict-Transport-Security (RFC 6797) of each response that has none: how long browsers reject plain HTTP. Zero: not
  // sent. With `https` only.
  Duration hsts_max_age = {};
  // Peers that are trusted to name the client's address in the fields that they write (forwarded.h).
  std::vector<Network> trusted_proxies = {};
  // Each connection of the trusted proxies begins with a header of the PROXY protocol (net/proxy_header.h), before TLS.
  // The address in the header is the peer of the connection's requests for all purposes: trusted fields, the limits of
  // one client, logs. A connection without the header is closed. A client that a proxy does not name has an empty
  // address and is not trusted. Other peers must not send the header: from them it is a malformed request.
  bool proxy_protocol = false;
  ForwardedBy forwarded_by = ForwardedBy::XForwarded;
  // The peers whose statements are trusted: scheme, host and request id, the trace of the request (traceparent of W3C
  // Trace Context, which the log lines continue), and its remaining time (X-Request-Deadline-Ms, which limits a Task
  // handler).
  Believed believed = {};
  // Sites whose pages may ask for another protocol (upgrade.h), in addition to those of the requested host:
  // "https://app.example.com", with the port unless it is the default of the scheme. {"*"}: every site.
  std::vector<std::string> upgrade_origins = {};
  // The value of WWW-Authenticate for a 401 that has none; every 401 needs one (RFC 9110 §15.5.2).
  std::string challenge = "Bearer";
  // Each response has X-Request-Id and each line of the access log request_id: Request::id().
  bool request_ids = false;
  // Responses of type application/json that are not streamed are indented for people (json_indent.h).
  bool indent_json = false;
};

// What happens to the listening sockets of a server when it drains.
enum class Listening : std::uint8_t {
  Ends,    // Listening ends: waiting connections are accepted first, then new ones are rejected.
  GoesOn,  // The sockets stay open: another process listens on them, and accepts the waiting connections.
};

// The counters of a server. Each worker has its own cells; Server::Stats has the sums.
template <class Count>
struct ServerCounts {
  Count connections{};      // Currently open connections.
  Count connections_max{};  // The limit of open connections.
  Count accepted{};
  Count requests{};  // Requests with a response, including rejected ones.
  // Requests whose handler, body or response is not complete.
  Count in_progress{};
  Count refused{};  // Requests that the parser or a limit rejected.
  Count timeouts{};
  Count aborted{};             // Connections that ended with an unsent response.
  Count paused_full{};         // How often accepting stopped at the limit of connections.
  Count paused_descriptors{};  // How often accepting stopped because descriptors had run out.
  Count paused_memory{};       // How often accepting stopped because the kernel's memory had run out.
  // Connections closed because connections_max was reached: idle ones, or ones with an incomplete head.
  Count idle_closed{};
  Count body_bytes{};          // Memory currently held for bodies.
  Count body_bytes_max{};      // The limit of memory for bodies.
  Count bodies_refused{};      // Bodies rejected because of bodies_bytes_max.
  Count response_bytes{};      // Memory currently held for responses that wait for their clients.
  Count response_bytes_max{};  // The limit of memory for such responses.
  Count responses_refused{};   // Responses rejected because of responses_bytes_max.
  Count responses_reset{};     // Connections reset because of responses_bytes_max.
  Count received_bytes{};      // Memory currently held for received bytes that are not processed yet.
  Count received_bytes_max{};  // The limit of memory for such bytes.
  Count received_reset{};      // Connections reset because of received_bytes_max.
  // Client addresses with a connection to which a limit applies; an address with connections on several workers counts
  // once for each.
  Count clients{};
  Count client_connections_refused{};  // Connections rejected because of client_connections_max.
  Count client_bodies_refused{};       // Bodies rejected because of client_bodies_bytes_max.
  Count requests_too_big{};            // Requests that exceeded request_bytes_max.
  Count overloaded{};                  // Requests rejected because of queue_delay_max.
  Count cut{};                         // Requests whose connection ended before their response was sent.
  Count handshakes_failed{};           // Failed TLS handshakes.
  // TLS handshakes that wait until the worker computes them; counted only in Server::stats().
  Count handshakes_waiting{};
  Count introductions_refused{};  // Connections that did not begin as ServerOptions::proxy_protocol requires.
  Count slow_readers{};           // Connections reset because the peer received too slowly.
  Count bugs{};                   // Requests that ended with a bug of their handler or middleware (base/bug.h).
  Count upgraded{};               // Open connections that have left HTTP (upgrade.h).
};

class Server {
 public:
  Server(const Router& router, ServerOptions options);
  ~Server();  // Calls stop().
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Listens on every worker of `runtime`. AlreadyExists when another process uses the address (tested with a socket
  // that does not share its port), InvalidArgument if limits.head.fields_max is above 128 or proxy_protocol has no
  // trusted_proxies, and the bind error otherwise. `inherited`: listening sockets to continue with, from a service
  // manager or a predecessor; `address` is not bound then. At least one worker accepts from each of them, and each
  // worker accepts from at least one. They still belong to the caller.
  Result<> start(io::Runtime& runtime, const std::vector<int>& inherited = {});
  // Listens on only one worker (for admin pages).
  Result<> start(io::Runtime& runtime, int worker, const std::vector<int>& inherited = {});
  // Listens on a loop of this thread: simulations and programs with a loop of their own.
  Result<> start(io::Loop& loop);

  // The address on which the server listens, with the port that the system chose for port 0.
  const Address& address() const noexcept { return address_; }

  // Changes the limits on every worker, for connections and requests that begin after this call returns. A request in
  // progress, including an incomplete head, keeps the sizes and the deadline with which it began; the memory limits
  // (bodies_bytes_max, request_bytes_max) apply immediately, and a running timeout may expire by the old or the new
  // limit. If fewer connections are allowed than are open, accepting pauses until enough have ended. Call it after
  // start().
  void change(const Limits& limits, bool access_log);

  // A duplicate descriptor of each listening socket, for a process that continues with them; the caller closes them.
  // Empty once the server drains.
  std::vector<int> duplicate_listeners();

  // Begins to drain, on every worker. Listening ends: for 100 ms new connections are rejected (Engine::turn_away),
  // while those whose handshake has begun are still accepted; then the listeners close. Each further response has
  // Connection: close; connections without a request in progress get the time `grace` for a request that is on its way,
  // and the tasks of upgraded connections are asked to stop. Returns immediately.
  void begin_drain(Duration grace = 250_ms, Listening listening = Listening::Ends);
  // Whether no listener and no connection is left.
  bool is_drained() const noexcept;
  // Calls begin_drain(), then waits until the server has drained or `deadline` has passed, and closes the remaining
  // connections. True: no connection had to be closed. When listening continues in another process, this process need
  // not end quickly, and idle connections get up to 2 s instead of 250 ms.
  bool drain(Duration deadline, Listening listening = Listening::Ends);
  // Closes all connections and waits until they have ended.
  void stop();

  using Stats = ServerCounts<std::uint64_t>;
  // The sums over the workers; they are exact once the workers are idle.
  Stats stats() const noexcept;
  // How the time of the requests measured so far was spent: for each route in the order of the router's routes(), then
  // for requests without a route.
  std::vector<RouteStages> stage_times() const;
  // Bytes that the kernel holds because clients have not received them yet (SIOCOUTQ): the sum over HTTP connections at
  // the last count. Each call starts a new count, in which each worker asks the kernel about a few connections in each
  // event-loop iteration. A server without a Runtime counts immediately when it is called on its loop's thread. Call it
  // between start() and stop(), on any thread.
  std::uint64_t kernel_send_bytes() const;
  // Connections open now on each worker: how evenly they are spread.
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
