// keel/http/client/client.h — calls HTTP/1.1 servers: pooled connections, timeouts, redirects, retries, a circuit
// breaker.
//
//   ThreadPool lookups({.name = "resolver", .threads = 2});        // one for all workers
//   Resolver resolver(lookups);                                    // one per worker, and so is
//   http::Client client(resolver, {.metrics = &registry});
//
//   http::ClientResponse user = co_await client.get("http://users.internal/users/7");
//   if (user.status() != http::Status::Ok) …                       // any status is a response, not an error
//   use(user.body());
//
//   Rate rate = co_await client.get("http://rates.internal/eur").json<Rate>();      // a plain struct; 2xx, or an error
//   Receipt receipt = co_await client.post("/charges", charge).json<Receipt>();     // and one as the body
//
//   http::ClientRequest request(http::Method::Post, "http://orders.internal/orders");
//   request.json(order).header("Authorization", token).timeout(2_s);
//   http::ClientResponse made = co_await client.send(std::move(request));
//
//   http::ClientStream rows = co_await client.open({http::Method::Get, "http://reports.internal/rows"});
//   while (true) {
//     Chunk chunk = co_await rows.read();                          // borrowed until the next read; empty: the end
//     if (chunk.empty()) break;
//     co_await out.write(chunk);                                   // the server waits while this does
//   }
//
// Retries    A call is retried when it failed before a response, or got 429, 502, 503 or 504, if its method is
//            idempotent (RFC 9110 §9.2.2) or the request has an idempotency key, and its body is not streamed. Retries
//            stay within the budget (task/retry.h) and come after a random wait, not before Retry-After. In addition,
//            such a request is repeated once, outside of the budget, when a pooled connection turns out to be closed.
// Breaker    One per server (task/circuit_breaker.h). Failures are a status of 500 and above, a broken or silent
//            connection, and no response in time, whichever time limit that was. Not counted are calls that got no
//            place in the pool, that found their pooled connection closed, or whose body's writer failed. A call that
//            opens the circuit returns its response and is not retried.
// Redirects  301 and 302 repeat the request, but with GET in place of POST; 303 continues with GET, or with HEAD if the
//            request was a HEAD; 307 and 308 repeat the request. A redirect that would repeat a streamed body, or send
//            a body to another origin, is not followed: the 3xx is the response. Secret fields (client_request.h) are
//            not sent to another origin.
// Addresses  For URLs that come from users or other programs, ClientOptions::guard checks the address before each
//            connection, including those of redirects and retries. It checks a base_url as well.
// Proxies    (ClientOptions::proxy, proxy.h). A server with https is reached through a tunnel (CONNECT): the proxy
//            learns only host and port, and the certificate has to be the server's. Requests with http are forwarded
//            by the proxy. A status that the proxy sends instead of opening a tunnel, and its 407 for a request to be
//            forwarded, are errors and never the response. If the proxy itself sends another status for a forwarded
//            request, such as 502 or 504, this status looks like the server's, because HTTP does not distinguish the
//            two. User and password are sent only to the proxy; a request that goes through a proxy and has its own
//            Proxy-Authorization is InvalidArgument. A client with a guard makes no connection through a proxy, because
//            the proxy would resolve names itself, and the guard could not check the addresses: such a call is
//            PermissionDenied, and nothing is sent. Servers that no_proxy names are called directly, guarded as usual.
//            For URLs that come from users, let the proxy itself reject internal addresses, and give the client no
//            guard.
// Coding     A body in gzip, br or zstd is decoded while it is read; Content-Encoding and Content-Length are then
//            removed from the head, and body_bytes_max counts decoded bytes. A body that is damaged, ends within its
//            coding or has several codings is Upstream. A body in another coding, a 206, and the response to a request
//            with its own Accept-Encoding or Range are returned as received, including Content-Encoding.
// Deadline   A call takes at most its timeout, and never longer than the deadline that it inherits. With
//            sends_deadline, the remaining time is sent as X-Request-Deadline-Ms, in whole milliseconds.
// Trace      traceparent (W3C) is sent when the calling task works for a request, or when ClientRequest::trace says so.
// JSON       json<T>() requires a status of 2xx and a body that is read as a T (data/json_parse.h), which owns its
//            text. Otherwise the error is Upstream, from the environment: the message has the URL and the status, or
//            every violation of the body.
//
// Errors:    InvalidArgument if the request, or the proxy in the options, is invalid. Unsupported: ws and wss, and
//            https without ClientPoolOptions::https. Unavailable: the connection cannot be made or breaks, a proxy
//            cannot reach the server, or the circuit is open. DeadlineExceeded: a timeout; the message says which one.
//            Upstream: no such host, an https server whose certificate is not valid for the host, a proxy that rejects
//            the request, a response that is malformed or cannot be decoded, a body above body_bytes_max, too many
//            redirects, or a redirect to an unsupported scheme. PermissionDenied: the guard allows no address of the
//            host, or the request would go through a proxy, which the guard cannot check. ResourceExhausted: no place
//            in the pool. Cancelled. The message names the method, and the URL without its query and user. All errors
//            of a Client are from the environment (base/error.h), except ResourceExhausted, Cancelled, and the error of
//            a function that writes a streamed body. When a handler does not catch the error, the handler's client
//            receives 500, 503, 504 or, for Upstream, 502, without the error's message (http/server/problem.h).
// Threads:   one loop; give each worker its own client.
// Lifetime:  the client outlives its calls and the streams that it returned (checked); the resolver and the registry
//            outlive the client.
// Cancel:    a stopped call closes its connection and leaves every queue; circuit breakers and retry budgets do not
//            count the call.
// Cost:      one log line at debug per call. A call on a kept connection needs a write, a read and a few allocations.
//            Decoding adds no allocation while at most 8 responses are decoded at a time, with windows of at most 512
//            KiB (http/message/content_decoder.h); each of these responses takes 16 KiB of the pool's memory while its
//            body is read.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/arena.h"
#include "keel/base/buffer.h"
#include "keel/base/time.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"
#include "keel/http/client/client_calls.h"
#include "keel/http/client/client_exchange.h"
#include "keel/http/client/client_pool.h"
#include "keel/http/client/client_request.h"
#include "keel/http/message/status.h"
#include "keel/net/address_guard.h"
#include "keel/observe/log.h"
#include "keel/observe/metric.h"
#include "keel/task/task.h"
#include "keel/task/timing.h"

namespace keel::http {

struct ClientOptions {
  std::string name = "client";  // The name of the client in logs, and the value of the label `client` in metrics.
  std::string base_url = {};    // The prefix of URLs that begin with '/', such as "http://payments.internal/v2".
  // If true, App::client() requires a base_url: the service does not start if neither these options nor its
  // configuration contain a base_url. If false, a missing base_url is reported only when a path such as "/charges" is
  // called for the first time.
  bool needs_base_url = false;
  // The addresses to which the client may connect; use public_addresses_only for URLs that come from users.
  AddressGuard guard = {};
  // The HTTP proxy of the client, "http://user:password@proxy.internal:3128" or "environment"; and the names, addresses
  // and networks that the client calls directly, without the proxy (proxy.h). If `proxy` is empty, the client calls all
  // servers directly.
  std::string proxy = {};
  std::vector<std::string> no_proxy = {};
  // Asks for those of the codings br, zstd and gzip that are built in, and decodes responses in these codings.
  bool decompresses = true;
  // Time limit of a call, including redirects, retries and, for send(), the body of the response.
  Duration timeout = 30_s;
  // Time limit from the connection to the head of the response; set a longer one for large uploads.
  Duration first_byte_timeout = 10_s;
  Duration read_timeout = 10_s;          // The longest wait for the next piece of a body.
  std::size_t body_bytes_max = 8 << 20;  // Largest body that send() returns, measured after decoding.
  // A call fails if it is redirected more often than this. 0: redirects are not followed, and the call returns the 3xx
  // response.
  int redirects_max = 5;
  bool sends_deadline = false;  // Sends the remaining time to the server, as X-Request-Deadline-Ms.
  ClientPoolOptions pool = {};
  RetryOptions retry = {};
  // If the server asks for a longer pause than this (Retry-After), the call is not repeated, and returns the response.
  Duration retry_after_max = 10_s;
  CircuitBreakerOptions breaker = {};
  metrics::Registry* metrics = nullptr;  // Null: no metrics.
};

// A response with its body. A value.
class ClientResponse {
 public:
  Status status() const noexcept { return status_; }
  // The value of the first field with that name (in any case), or nullopt.
  std::optional<std::string_view> header(std::string_view name) const noexcept;
  // All lines of the head; next_field() iterates over them (http/message/response_reader.h).
  std::string_view head() const noexcept { return head_.view(); }
  // The trailers, which are fields after a chunked body (http/message/trailers.h). trailer() returns the value of the
  // first trailer with that name (in any case), or nullopt; trailers() returns all trailers, for next_field().
  std::optional<std::string_view> trailer(std::string_view name) const noexcept { return trailers_.find(name); }
  std::string_view trailers() const noexcept { return trailers_.lines(); }
  // The body without its transfer coding.
  std::string_view body() const noexcept { return body_.view(); }
  // The URL from which the response came: the last URL, if redirects were followed.
  const std::string& url() const noexcept { return url_; }

  // The body of a 2xx response as a T; the error is Upstream for any other status, and for a body that is not a T. For
  // a response with another status, call json::parse<T>(body()).
  template <class T>
  Result<T> json() const {
    static_assert(!keel::json::internal::holds_views<T>(),
                  "a type that is read from a response must own its text: replace std::string_view in the struct with "
                  "std::string");
    static_assert(std::default_initializable<T>, "a struct that is read from a response needs a default constructor");
    T value{};
    KEEL_TRY_VOID(
        read_json([](void* to, std::string_view text, Arena& arena,
                     Violations& wrong) { return keel::json::read(*static_cast<T*>(to), text, arena, wrong); },
                  &value));
    return value;
  }

 private:
  friend class Client;
  friend class ClientStream;
  using ReadJson = bool (*)(void* value, std::string_view text, Arena& arena, Violations& wrong);
  Result<> read_json(ReadJson read, void* value) const;

  Status status_ = Status::Ok;
  Buffer head_;
  Buffer body_;
  Trailers trailers_;
  std::string url_;
};

}  // namespace keel::http

// Lets a caller write co_await client.get(url).json<Rate>(): json() returns a Task<Rate>.
template <>
struct keel::internal::TaskVerbs<keel::http::ClientResponse> {
  template <class T>
  Task<T> json() &&;
};

namespace keel::http {

// A response whose body is read piece by piece. The stream holds a connection until read() has returned the empty
// chunk; if the stream is destroyed earlier, it closes the connection. The stream must be destroyed before its client.
// Movable while no task reads.
class ClientStream {
 public:
  Status status() const noexcept { return response_.status(); }
  std::optional<std::string_view> header(std::string_view name) const noexcept { return response_.header(name); }
  std::string_view head() const noexcept { return response_.head(); }
  const std::string& url() const noexcept { return response_.url(); }
  // The next piece of the decoded body, valid until the next read; an empty chunk when the body has ended. Unavailable
  // when the connection breaks or ends too early, Upstream when the body is malformed or cannot be decoded,
  // DeadlineExceeded after read_timeout. After an error, no further piece can be read.
  Task<Chunk> read();
  // Like ClientResponse::trailer(); there are no trailers before read() has returned the empty chunk.
  std::optional<std::string_view> trailer(std::string_view name) const noexcept {
    return exchange_.trailers().find(name);
  }
  std::string_view trailers() const noexcept { return exchange_.trailers().lines(); }

 private:
  friend class Client;
  ClientStream(ClientExchange&& exchange, Duration read_timeout) noexcept
      : exchange_(std::move(exchange)), read_timeout_(read_timeout) {}

  ClientExchange exchange_;
  Duration read_timeout_;
  ClientResponse response_;  // Only Client::send() fills the body of `response_`.
};

class Client : public ClientCalls<Client, ClientResponse> {
 public:
  explicit Client(Resolver& resolver, ClientOptions options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // The class also has get(), post() and the other functions of client_calls.h. Returns the response with its body.
  Task<ClientResponse> send(ClientRequest request);
  // Returns the response's head, whatever the status is; the caller then reads the body at its own pace. The timeout
  // applies until the head has arrived.
  Task<ClientStream> open(ClientRequest request);

  // Closes the connections that no call uses.
  void close_idle_connections() noexcept { pool_.close_idle(); }

  struct Stats {
    std::size_t connections = 0;       // Open connections.
    std::size_t idle_connections = 0;  // The open connections that no call uses.
    std::uint64_t calls = 0;           // Calls that have ended, with or without success.
    std::uint64_t retries = 0;         // Attempts of a call after its first attempt.
    // Retries that replaced a connection which the server had closed; not counted in retries.
    std::uint64_t stale = 0;
    std::uint64_t unaffordable = 0;  // Retries that the budget rejected.
    std::uint64_t rejected = 0;      // Attempts that were rejected because a circuit was open.
    std::uint64_t redirects = 0;
  };
  Stats stats() const noexcept;
  // The state of the circuit breaker for the server of `url`; Closed if the client does not know the server.
  CircuitBreaker::State breaker(std::string_view url) const;

 private:
  struct Metrics;
  struct Call;
  enum class Trouble : std::uint8_t;  // The cause of a failed attempt, if the error does not show the cause.
  Task<ClientStream> measured(ClientRequest request, bool whole);
  Task<ClientStream> follow(ClientRequest& request, bool whole, Call& call);
  Task<ClientStream> repeat(const ClientRequest& request, const Url& url, bool whole, Call& call);
  // If the call fails for a reason that Trouble has a value for, `trouble` is set to that value.
  Task<ClientStream> once(const ClientRequest& request, const Url& url, ClientPool::Origin& origin,
                          ClientPool::Kind kind, bool whole, Trouble& trouble);
  static Task<> read_whole(ClientStream& stream, std::size_t bytes_max, Trouble& trouble);
  static Task<ClientResponse> respond(Client& client, ClientRequest request);
  void note(const Call& call, const Result<ClientStream>& result, Duration took);
  bool is_followed(const ClientRequest& request, const Url& url, const ClientStream& response) const;
  static void redirect(ClientRequest& request, Status status, bool to_another);

  const ClientOptions options_;
  log::Logger log_;
  std::string proxy_problem_;  // The reason why no call can be made; empty if calls can be made.
  ContentDecoders decoders_;
  ClientPool pool_;
  Stats stats_;
  std::unique_ptr<Metrics> metrics_;
};

namespace internal {
template <class T>
Task<T> read_json(keel::internal::HeldTask<ClientResponse> call) {
  const ClientResponse response = co_await call.release();
  co_return response.json<T>();
}
}  // namespace internal
}  // namespace keel::http

template <class T>
keel::Task<T> keel::internal::TaskVerbs<keel::http::ClientResponse>::json() && {
  return http::internal::read_json<T>(HeldTask<http::ClientResponse>(static_cast<Task<http::ClientResponse>&&>(*this)));
}
