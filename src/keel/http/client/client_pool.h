// keel/http/client/client_pool.h — the connections of a Client: kept for each server, and lent to one call at a time.
//
//   ClientPool::Origin& origin = *co_await pool.origin(url);
//   bool has_place = false;
//   ClientPool::Lease lease = co_await pool.lend(origin, url, ClientPool::Kind::Any, has_place);
//   …                                                // lease->stream, lease->reader
//   lease.give_back();                               // only after a whole response; a lease that just ends closes it
//
// An idle connection is watched: it is not lent if the server has closed it, or has sent bytes that no request asked
// for. The most recently used connections are lent first; therefore surplus connections stay idle, and are closed after
// idle_timeout.
//
// A connection through a proxy (proxy.h) serves one server only; servers that are reached through the same proxy do not
// share connections.
//
// Errors:   ResourceExhausted when no place became free within wait_max, or when there are too many servers; the errors
//           of Stream::connect, the address guard, the resolver and the proxy (tunnel.h); Upstream for an https server
//           whose certificate is not valid for the host, or with which there is no common version or cipher of TLS;
//           DeadlineExceeded after connect_timeout; Cancelled.
// Lifetime: the pool outlives its leases and the calls that wait for a connection (checked).
// Threads:  one loop.
// Cancel:   a waiting call leaves the queue; a connection that is not established yet is closed.
// Cost:     lending an idle connection: O(1), no allocation.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/member.h"
#include "keel/base/wheel.h"
#include "keel/http/client/proxy.h"
#include "keel/http/client/url.h"
#include "keel/http/message/response_reader.h"
#include "keel/net/address_guard.h"
#include "keel/net/resolver.h"
#include "keel/net/stream.h"
#include "keel/task/bulkhead.h"
#include "keel/task/circuit_breaker.h"
#include "keel/task/retry.h"
#include "keel/task/task.h"

namespace keel {
class TransportLayers;
}

namespace keel::http {

// The limits on the connections of a client.
struct ClientPoolOptions {
  // The maximum number of concurrent calls to one server; further calls wait in the order of their arrival.
  std::size_t connections_per_origin_max = 64;
  // The maximum number of open connections to all servers; at this limit, an idle connection to another server is
  // closed to make room.
  std::size_t connections_max = 512;
  // The number of servers that the client remembers, each with its circuit breaker and its retry budget.
  std::size_t origins_max = 1024;
  // How long a call may wait for one of the connections_per_origin_max places; after this time the call fails with
  // ResourceExhausted.
  Duration wait_max = 5_s;
  // Time limit for making a connection, including the lookup of the name and the TLS handshake.
  Duration connect_timeout = 5_s;
  // Connections that have been idle this long are closed. The default is shorter than the idle timeouts of most
  // servers, so that a server is rarely the first to close.
  Duration idle_timeout = 30_s;
  // A connection older than this is not used again, because the addresses of names change.
  Duration age_max = 10_min;
  io::ConnectOptions connect = {};
  // The layers for connections to https URLs: tls::Layers for a client (net/tls/layer.h). Outlives the client. If null,
  // requests for https URLs fail with Unsupported.
  TransportLayers* https = nullptr;
};

class ClientPool {
 public:
  struct Connection {
    explicit Connection(Stream&& s) noexcept : stream(std::move(s)) {}
    Stream stream;
    ResponseReader reader;
    Chunk rest;  // Received bytes that `reader` has not read yet.
    Instant opened;
    Instant idle_since;
    std::uint64_t responses = 0;  // Number of complete responses that arrived on this connection.
    Bulkhead::Place place;        // The place that this connection takes among the connections_max places.
    // The proxy through which the connection was made. The proxy forwards requests with http, and opens a tunnel for
    // https. Null: no proxy.
    const Proxy* proxy = nullptr;
    bool is_forwarded = false;
  };

  // One server: its idle connections, and the state of its circuit breaker.
  class Origin {
   public:
    Origin(std::string name, const ClientPoolOptions& pool, const RetryOptions& retry,
           const CircuitBreakerOptions& breaker);
    const std::string& name() const noexcept { return name_; }
    CircuitBreaker& breaker() noexcept { return breaker_; }
    Retry& retry() noexcept { return retry_; }
    std::size_t idle() const noexcept { return idle_.size(); }

    // While a Use exists, the pool keeps the origin of that Use.
    class Use {
     public:
      explicit Use(Origin& origin) noexcept : origin_(origin) { ++origin_.uses_; }
      ~Use() { --origin_.uses_; }
      Use(const Use&) = delete;
      Use& operator=(const Use&) = delete;

     private:
      Origin& origin_;
    };

   private:
    friend class ClientPool;
    const std::string name_;
    // There are connections_per_origin_max places; each connection in use takes one place.
    Bulkhead places_;
    std::vector<std::unique_ptr<Connection>> idle_;  // Idle connections, the most recently used one last.
    CircuitBreaker breaker_;
    Retry retry_;
    std::uint32_t uses_ = 0;
  };

  // A connection for one exchange; the lease closes the connection unless give_back() was called. Movable. While the
  // lease exists, its origin is in use.
  class [[nodiscard]] Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept
        : pool_(other.pool_),
          origin_(std::exchange(other.origin_, nullptr)),
          place_(std::move(other.place_)),
          connection_(std::move(other.connection_)) {}
    Lease& operator=(Lease&& other) noexcept {
      if (this != &other) {
        close();
        pool_ = other.pool_;
        origin_ = std::exchange(other.origin_, nullptr);
        place_ = std::move(other.place_);
        connection_ = std::move(other.connection_);
      }
      return *this;
    }
    ~Lease() { close(); }
    Connection* operator->() const noexcept { return connection_.get(); }
    Connection& operator*() const noexcept { return *connection_; }
    explicit operator bool() const noexcept { return connection_ != nullptr; }
    // Call this only if the whole response was read, no bytes followed the response, and both sides keep the
    // connection.
    void give_back() noexcept;
    void close() noexcept;

   private:
    friend class ClientPool;
    Lease(ClientPool& pool, Origin& origin, Bulkhead::Place&& place) noexcept
        : pool_(&pool), origin_(&origin), place_(std::move(place)) {
      ++origin.uses_;
    }
    void end() noexcept;
    ClientPool* pool_ = nullptr;
    Origin* origin_ = nullptr;  // Null after the end of the lease, or after a move.
    Bulkhead::Place place_;
    std::unique_ptr<Connection> connection_;
  };

  // `resolver` must outlive the pool. `guard` is called before each connection is made; with a guard set, no connection
  // is made through a proxy.
  ClientPool(Resolver& resolver, const ClientPoolOptions& pool, const RetryOptions& retry,
             const CircuitBreakerOptions& breaker, AddressGuard guard, ProxyRules proxies = {});
  ~ClientPool();
  ClientPool(const ClientPool&) = delete;
  ClientPool& operator=(const ClientPool&) = delete;

  // Checks that a connection can be made to this kind of URL; the error is Unsupported for ws and wss, and for https
  // without TLS.
  static Result<> speaks(const Url& url, bool has_tls);
  Result<> speaks(const Url& url) const { return speaks(url, options_.https != nullptr); }
  // The origin of a URL; its scheme must be one that the client speaks. Fails with ResourceExhausted if origins_max
  // origins are in use.
  Result<Origin*> origin(const Url& url);

  enum class Kind : std::uint8_t { Any, Fresh };
  // With Fresh, lend() closes all idle connections to that origin and makes a new one; a retry uses Fresh after an idle
  // connection was found to be dead. The caller must hold an Origin::Use; the arguments must live until lend()
  // completes. `has_place` becomes true when the wait for a free place is over; an error that occurs earlier must not
  // be counted against the server.
  Task<Lease> lend(Origin& origin, const Url& url, Kind kind, bool& has_place);

  void close_idle() noexcept;

  std::size_t open() const noexcept { return open_; }
  std::size_t idle() const noexcept { return idle_; }
  // The state of the circuit breaker for the server that `origin` names; Closed if the pool does not know the server.
  CircuitBreaker::State breaker(std::string_view origin) const noexcept;
  // Number of origins whose circuit is in this state now.
  std::size_t breakers(CircuitBreaker::State state) const noexcept;

 private:
  // `proxy`: the proxy to use, or null.
  Task<Stream> connect(const Url& url, const Proxy* proxy);
  Task<Stream> connect_plain(const Url& url, const Proxy* proxy);
  Task<Bulkhead::Place> wait_for_place(Bulkhead& places, const Origin& origin, Instant limit);
  std::unique_ptr<Connection> take_idle(Origin& origin) noexcept;
  void keep(Origin& origin, std::unique_ptr<Connection> connection) noexcept;
  bool is_usable(const Connection& connection, Instant now) const noexcept;
  void close_idle(Origin& origin) noexcept;
  void close_oldest_idle() noexcept;
  void close_old() noexcept;

  Resolver& resolver_;
  const ClientPoolOptions options_;
  const RetryOptions retry_;
  const CircuitBreakerOptions breaker_;
  const AddressGuard guard_;
  const ProxyRules proxies_;
  Bulkhead places_;  // Places of connections_max.
  std::map<std::string, std::unique_ptr<Origin>, std::less<>> origins_;
  std::size_t open_ = 0;
  std::size_t idle_ = 0;
  Member<Timer, ClientPool, &ClientPool::close_old> idle_timer_{*this};
};

}  // namespace keel::http
