// keel/http/client/client_pool.h — the connections of a Client: kept per server, lent to one call at a time.
//
//   ClientPool::Origin& origin = *co_await pool.origin(url);
//   bool has_place = false;
//   ClientPool::Lease lease = co_await pool.lend(origin, url, ClientPool::Kind::Any, has_place);
//   …                                                // lease->stream, lease->reader
//   lease.give_back();                               // only after a whole response; a lease that just ends closes it
//
// An idle connection is watched: it is not lent when the server has closed it or sent bytes without a request. The most
// recently used connections are lent first, so that surplus ones stay idle and are closed.
//
// A server that is reached through a proxy (proxy.h) has its own connections through it; servers behind one proxy do
// not share connections.
//
// Errors:   ResourceExhausted when no place was free within wait_max, or when there are too many servers; those of
//           Stream::connect, the address guard, the resolver and the proxy (tunnel.h); Upstream for an https server
//           whose certificate is not valid for the host, or with which there is no common version or cipher of TLS;
//           DeadlineExceeded after connect_timeout; Cancelled.
// Lifetime: outlives its leases and the calls that wait (checked).
// Threads:  one loop.
// Cancel:   a waiting call leaves the queue; a connection that is being made is closed.
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
  std::size_t connections_per_origin_max = 64;  // Concurrent calls to one server; further calls wait in order.
  // Open connections to all servers; at this limit, an idle connection to another server is closed to make room.
  std::size_t connections_max = 512;
  // The number of servers that the client remembers, each with its circuit breaker and its retry budget.
  std::size_t origins_max = 1024;
  Duration wait_max = 5_s;         // Time limit of waiting for a place; then ResourceExhausted.
  Duration connect_timeout = 5_s;  // Includes looking up the name and the TLS handshake.
  // Shorter than the timeouts of servers, so that a server is rarely the first to close.
  Duration idle_timeout = 30_s;
  // An older connection is not used again, because the addresses of names change.
  Duration age_max = 10_min;
  io::ConnectOptions connect = {};
  // The layers for connections to https URLs: tls::Layers of a client (net/tls/layer.h). Outlives the client. Null:
  // https is Unsupported.
  TransportLayers* https = nullptr;
};

class ClientPool {
 public:
  struct Connection {
    explicit Connection(Stream&& s) noexcept : stream(std::move(s)) {}
    Stream stream;
    ResponseReader reader;
    Chunk rest;  // Received bytes that the reader has not read yet.
    Instant opened;
    Instant idle_since;
    std::uint64_t responses = 0;  // Number of complete responses that it has delivered.
    Bulkhead::Place place;        // Its place among connections_max.
    // The proxy of the connection. The proxy forwards requests with http, and opens a tunnel for https. Null: no proxy.
    const Proxy* proxy = nullptr;
    bool is_forwarded = false;
  };

  // The connections to one server, and the state of its circuit breaker.
  class Origin {
   public:
    Origin(std::string name, const ClientPoolOptions& pool, const RetryOptions& retry,
           const CircuitBreakerOptions& breaker);
    const std::string& name() const noexcept { return name_; }
    CircuitBreaker& breaker() noexcept { return breaker_; }
    Retry& retry() noexcept { return retry_; }
    std::size_t idle() const noexcept { return idle_.size(); }

    // While a Use exists, the origin is not forgotten.
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
    Bulkhead places_;                                // The places of connections_per_origin_max, and those in use.
    std::vector<std::unique_ptr<Connection>> idle_;  // Idle connections, in the order of their last use.
    CircuitBreaker breaker_;
    Retry retry_;
    std::uint32_t uses_ = 0;
  };

  // A connection for one exchange; closes it unless it was given back. Movable. While it exists, its origin is in use.
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
    // A whole response was read, no bytes followed it, and both sides keep the connection.
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
    Origin* origin_ = nullptr;  // Null after its end or after a move.
    Bulkhead::Place place_;
    std::unique_ptr<Connection> connection_;
  };

  // `resolver` outlives the pool. `guard` is called before each connection is made; with a guard, no connection goes
  // through a proxy.
  ClientPool(Resolver& resolver, const ClientPoolOptions& pool, const RetryOptions& retry,
             const CircuitBreakerOptions& breaker, AddressGuard guard, ProxyRules proxies = {});
  ~ClientPool();
  ClientPool(const ClientPool&) = delete;
  ClientPool& operator=(const ClientPool&) = delete;

  // Whether a connection can be made to this kind of URL. Unsupported: https without TLS, ws and wss.
  static Result<> speaks(const Url& url, bool has_tls);
  Result<> speaks(const Url& url) const { return speaks(url, options_.https != nullptr); }
  // The origin of a URL with a scheme that the client speaks. ResourceExhausted: origins_max are in use.
  Result<Origin*> origin(const Url& url);

  enum class Kind : std::uint8_t { Any, Fresh };
  // With Fresh, which is for a retry after an idle connection was found to be dead, lend() closes all idle connections
  // to that origin and makes a new one. The caller holds an Origin::Use; the arguments must live until lend()
  // completes. `has_place` becomes true when the wait for a free place is over; an error before that does not count
  // against the server.
  Task<Lease> lend(Origin& origin, const Url& url, Kind kind, bool& has_place);

  void close_idle() noexcept;

  std::size_t open() const noexcept { return open_; }
  std::size_t idle() const noexcept { return idle_; }
  // The state for the server with that origin; Closed for an unknown one.
  CircuitBreaker::State breaker(std::string_view origin) const noexcept;
  // Origins in each state now.
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
