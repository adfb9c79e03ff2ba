// keel/http/server/server.h — an HTTP/1.1 server: one listener per worker, nothing shared between workers.
// (A Unix socket and an inherited one are listened on by all workers, who take turns.)
//
//   http::Router router;
//   router.get("/plaintext", [](http::Request&) { return http::Response::text(http::Status::Ok, "Hello, World!"); });
//   http::Server server(router, {.address = *Address::parse("127.0.0.1:8080")});
//   KEEL_TRY_VOID(server.start(*runtime));
//   …
//   server.drain(10_s);
//
// Strict RFC 9110 and 9112: what is ambiguous is refused with 400 and the connection closed. Everything has a limit and
// a time limit. A connection is a plain state machine around its operations: idle, it owns no buffer, no arena and no
// coroutine frame. Requests that arrive together are answered with one send.
//
// Threads:  start(), change(), drain() and stop() on one thread that is not a worker (with a Loop: on that loop's
// thread). Lifetime: router, runtime and registry outlive the server.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "keel/base/function.h"
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

namespace keel::http {

class Acceptor;
class Upgraded;
struct RouteStages;  // stages.h

struct Limits {
  HeadLimits head;                             // Bytes and number of header fields: 431; of the target: 414.
  std::size_t body_bytes_max = 1024 * 1024;    // Of a decoded body: 413. Memory per request grows as it arrives.
  std::size_t bodies_bytes_max = 256u << 20;   // Of all bodies that are held, per server, shared evenly by workers: 503
                                               // and close, for bodies that begin and for those that grow.
  std::size_t request_bytes_max = 16u << 20;   // A request's arena, beside its body: 503 instead of its answer. Looked
                                               // at when the handler has ended.
  std::size_t pipeline_bytes_max = 64 * 1024;  // Unsent answers of a connection before reading stops.
  std::uint32_t connections_max = 10'000;  // Per server, shared evenly by workers. Once there are so many, those that
                                           // have been idle longest, for a second at least, are closed to have room;
                                           // where there are none, accepting stops and newcomers wait in the
                                           // kernel's queue.
  std::uint32_t requests_per_connection_max = 1'000'000;  // Then Connection: close.
  Duration header_timeout = 10_s;     // From the first byte of a head to its last: 408. Absolute, not per byte.
  Duration body_timeout = 30_s;       // For a whole body, or one read of a body that streams: 408.
  std::uint32_t body_rate_min = 240;  // Bytes a second of a body, on average while it is waited for: 408. 0: none.
  Duration body_rate_grace = 5_s;     // Before that rate is asked for.
  Duration queue_delay_max = 50_ms;   // From a request's arrival in a turn to its begin; while that has been longer in
                                     // each turn for 100 ms, those that are later are answered 503 (admission.h). About
                                     // half of the time in which a refusal has to be told.
  Duration idle_timeout = 60_s;  // Between requests, and before the first: closed without a word. Also while an
                                 // answer streams to a client that has finished writing and nothing is sent, for
                                 // that client may be gone: the answer's task is stopped.
  Duration send_timeout = 30_s;  // For the peer to take anything of what is sent: closed.
  std::uint32_t send_rate_min =
      240;  // Bytes a second that the peer takes of what is sent, as long as some of it waits:
            // reset. Over each stretch of send_rate_grace but the first; TCP only. 0: none.
  Duration send_rate_grace = 15_s;
  Duration linger_timeout = 5_s;  // After an answer that ends the connection, while the client still sends: nothing of
                                  // it comes any more. What comes is thrown away, however much it is: to close would
                                  // be a reset, which takes the answer away (RFC 9112 §9.6).
  Duration linger_time_max = 30_s;  // All of it; 1 s once the server drains.
  Duration request_timeout = 30_s;  // For a Task handler: its deadline, inherited by what it awaits; then 504. Not for
                                    // the body of an answer that streams, which send_timeout bounds.
};

struct ServerOptions {
  Address address;
  Limits limits = {};
  bool access_log = true;  // One line per request at level info.
  // Each of these lines, and of those about what was refused, has `client`: client_address(), or the peer of what was
  // refused before its head was read. A system call and an allocation a line; addresses are personal data in many
  // places.
  bool log_clients = false;
  // Of how many requests one is measured by the stage clock (observe/span.h); 0: none.
  std::uint32_t measured_every = 16;
  // Every answer says where its time went, in a field Server-Timing; every request is measured then. For people who
  // may know that.
  bool server_timing = false;
  std::string name = "http";  // In logs, and as the label `server` of metrics.
  io::ListenOptions listen = {};
  metrics::Registry* metrics = nullptr;  // None: no metrics.
  // Whose word on client, scheme, host and request id is taken (forwarded.h), on the trace that the request is a part
  // of (traceparent, W3C Trace Context: the log lines carry it on) and on the time that is left for it
  // (X-Request-Deadline-Ms: a Task handler has no more).
  std::vector<Network> trusted_proxies = {};
  // WWW-Authenticate of a 401 that has none of its own, as each must (RFC 9110 §15.5.2).
  std::string challenge = "Bearer";
  bool request_ids = false;  // Each answer has X-Request-Id and each line of the access log request_id:
                             // Request::id().
};

// What becomes of the sockets that a server listens on when it drains.
enum class Listening : std::uint8_t {
  Ends,    // Nobody listens any more: newcomers are turned away, and those who wait are taken in first.
  GoesOn,  // Another process listens on the same sockets: those who wait are its.
};

class Server {
 public:
  Server(const Router& router, ServerOptions options);
  ~Server();  // stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Listens on every worker of `runtime`. AlreadyExists when somebody else has the address (asked with a socket that
  // does not share its port), InvalidArgument where limits.head.fields_max is above 128, and the bind error otherwise.
  // `inherited`: listening sockets to go on with, from a service manager or a predecessor; `address` is not bound then.
  // Each is accepted from by a worker at least, and each worker accepts from one at least. They stay the caller's.
  Result<> start(io::Runtime& runtime, const std::vector<int>& inherited = {});
  // Listens on one worker alone (admin pages).
  Result<> start(io::Runtime& runtime, int worker, const std::vector<int>& inherited = {});
  // Listens on a loop of this thread: simulations and programs with a loop of their own.
  Result<> start(io::Loop& loop);

  // Where it listens, with the port the system chose for port 0.
  const Address& address() const noexcept { return address_; }

  // From now on, on every worker before this returns: for connections and requests that begin after it. A request in
  // progress, its head included, ends under the sizes and the deadline it began with; the bounds of memory
  // (bodies_bytes_max, request_bytes_max) hold at once, and a time that is running may run out by the old or the new
  // limit. Fewer connections than are open: accepting stops until so many have ended. After start().
  void change(const Limits& limits, bool access_log);

  // Another descriptor of each socket it listens on, for somebody who is to go on with them; the caller's to close.
  // Empty once it drains.
  std::vector<int> duplicate_listeners();

  // Begins to drain, on every worker. Listening ends: newcomers are turned away for 100 ms (Engine::turn_away), in
  // which those who have begun to connect are still taken in, then listeners close. Each further answer says
  // Connection: close; connections without a request in progress get `grace` for one that is on its way, and tasks of
  // upgraded ones are asked to stop. Returns at once.
  void begin_drain(Duration grace = 250_ms, Listening listening = Listening::Ends);
  // No listener and no connection is left.
  bool is_drained() const noexcept;
  // begin_drain(), then waits until drained or `deadline` has passed; what is left is cut off. True: nothing was. When
  // listening goes on elsewhere nobody waits for our end, and idle connections get up to 2 s instead of 250 ms.
  bool drain(Duration deadline, Listening listening = Listening::Ends);
  // Cuts everything off and waits until it is gone.
  void stop();

  struct Stats {
    std::uint64_t connections = 0;      // Open now.
    std::uint64_t connections_max = 0;  // And at most.
    std::uint64_t accepted = 0;
    std::uint64_t requests = 0;  // Answered, refused ones included.
    std::uint64_t refused = 0;   // Answered by the parser or a limit.
    std::uint64_t timeouts = 0;
    std::uint64_t aborted = 0;             // Connections that ended with an answer unsent.
    std::uint64_t paused_full = 0;         // How often accepting stopped: at the limit of connections,
    std::uint64_t paused_descriptors = 0;  // because descriptors had run out,
    std::uint64_t paused_memory = 0;       // because the kernel's memory had run out.
    std::uint64_t idle_closed = 0;         // Idle connections closed because there were connections_max.
    std::uint64_t body_bytes = 0;          // Held for bodies now.
    std::uint64_t body_bytes_max = 0;      // And at most.
    std::uint64_t bodies_refused = 0;      // Because of bodies_bytes_max.
    std::uint64_t requests_too_big = 0;    // Because of request_bytes_max.
    std::uint64_t overloaded = 0;          // Requests refused because of queue_delay_max.
    std::uint64_t cut = 0;                 // Requests whose connection ended before they were answered.
    std::uint64_t slow_readers = 0;        // Connections cut because of send_rate_min.
    std::uint64_t upgraded = 0;            // Of connections: those that have left HTTP (upgrade.h).
  };
  // Summed over the workers; each figure is exact once its worker is idle.
  Stats stats() const noexcept;
  // Where the time of the requests measured so far went: of each route in the order of the router's routes(), then of
  // what no route matched.
  std::vector<RouteStages> stage_times() const;
  // Connections open now on each worker: how evenly they are spread.
  std::vector<std::uint64_t> connections_by_worker() const;

 private:
  friend class Acceptor;
  friend class Connection;
  friend class Upgraded;
  // A part of the listening: `inherited` < 0 binds; `shared`: other parts accept from the same socket, of which one is
  // the `first`.
  struct Part {
    int inherited = -1;
    bool shared = false;
    bool first = true;
  };
  Result<> listen_on(io::Loop& loop, const Part& part, int parts);
  Result<> listen_on_inherited(io::Loop& loop, const std::vector<int>& inherited, int worker, int workers);
  void on_every_loop(FunctionRef<void(Acceptor&)> f);

  const Router& router_;
  ServerOptions options_;
  Address address_;
  struct Metrics;
  struct State;
  State* const state_;  // Owned.
};

}  // namespace keel::http
