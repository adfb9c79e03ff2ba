#include "keel/http/client/client_pool.h"

#include <algorithm>
#include <limits>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/http/client/tunnel.h"
#include "keel/net/transport.h"
#include "keel/task/timing.h"

namespace keel::http {
namespace {

// Within this time after the start of an event-loop iteration, an idle connection is lent without a further check,
// because the loop has checked the connection at the start of the iteration.
constexpr Duration unseen_max = 1_ms;

BulkheadOptions bounds(std::size_t connections, const ClientPoolOptions& pool) noexcept {
  return {
      .running_max = connections, .waiting_max = std::numeric_limits<std::size_t>::max(), .wait_max = pool.wait_max};
}

}  // namespace

ClientPool::Origin::Origin(std::string name, const ClientPoolOptions& pool, const RetryOptions& retry,
                           const CircuitBreakerOptions& breaker)
    : name_(std::move(name)),
      places_(bounds(pool.connections_per_origin_max, pool)),
      breaker_(breaker),
      retry_(retry) {}

ClientPool::ClientPool(Resolver& resolver, const ClientPoolOptions& pool, const RetryOptions& retry,
                       const CircuitBreakerOptions& breaker, AddressGuard guard, ProxyRules proxies)
    : resolver_(resolver),
      options_(pool),
      retry_(retry),
      breaker_(breaker),
      guard_(std::move(guard)),
      proxies_(std::move(proxies)),
      places_(bounds(pool.connections_max, pool)) {
  KEEL_CHECK(pool.connections_per_origin_max > 0 && pool.connections_max > 0 && pool.origins_max > 0,
             "a client needs at least one connection");
}

ClientPool::~ClientPool() {
  close_idle();
  KEEL_CHECK(open_ == 0, "a client must outlive its calls and the streams that it returned");
}

Result<> ClientPool::speaks(const Url& url, bool has_tls) {
  switch (url.scheme()) {
    case Url::Scheme::Http:
      return {};
    case Url::Scheme::Https:
      if (has_tls) return {};
      return fail(Code::Unsupported,
                  "https needs TLS, which this client does not have: set ClientPoolOptions::https, use http, or use a "
                  "proxy on this machine that adds TLS");
    case Url::Scheme::Ws:
    case Url::Scheme::Wss:
      break;
  }
  return fail(Code::Unsupported, "ws:// and wss:// are URLs of WebSocket, which an HTTP client does not speak");
}

Result<ClientPool::Origin*> ClientPool::origin(const Url& url) {
  const auto found = origins_.find(url.origin());
  if (found != origins_.end()) return found->second.get();
  if (origins_.size() >= options_.origins_max) {
    std::erase_if(origins_, [](const auto& entry) { return entry.second->uses_ == 0 && entry.second->idle_.empty(); });
  }
  if (origins_.size() >= options_.origins_max) {
    for (auto& [name, origin] : origins_) {
      if (origin->uses_ == 0) close_idle(*origin);
    }
    std::erase_if(origins_, [](const auto& entry) { return entry.second->uses_ == 0; });
  }
  if (origins_.size() >= options_.origins_max) {
    return Error::text(Code::ResourceExhausted,
                       "calls to " + std::to_string(options_.origins_max) + " servers are in use (origins_max)");
  }
  std::string name(url.origin());
  auto made = std::make_unique<Origin>(name, options_, retry_, breaker_);
  return origins_.emplace(std::move(name), std::move(made)).first->second.get();
}

Task<Bulkhead::Place> ClientPool::wait_for_place(Bulkhead& places, const Origin& origin, Instant limit) {
  std::optional<Bulkhead::Place> free = places.try_enter();
  if (free) co_return *std::move(free);
  Result<Bulkhead::Place> place = co_await attempt(with_timeout(limit - Host::current().now(), places.enter()));
  const bool is_late = !place && place.error().code() == Code::DeadlineExceeded && Host::current().now() >= limit;
  if (is_late || (!place && place.error().code() == Code::ResourceExhausted)) {
    co_return Error::text(Code::ResourceExhausted, "none of " + std::to_string(places.options().running_max) +
                                                       " connections for " + origin.name() +
                                                       " became free within wait_max");
  }
  co_return std::move(place);
}

Task<Stream> ClientPool::connect_plain(const Url& url, const Proxy* proxy) {
  const std::string host(proxy == nullptr ? url.host() : proxy->host());
  if (proxy == nullptr) co_return co_await Stream::connect(resolver_, host, url.port(), guard_, options_.connect);
  if (guard_.is_set()) {
    // The proxy resolves the name, and may connect to any address that the name has.
    co_return Error::text(Code::PermissionDenied,
                          "the client has an address guard, which cannot check the address to which the proxy " +
                              proxy->name() + " connects")
        .from_environment();
  }
  Result<Stream> reached = co_await attempt(Stream::connect(resolver_, host, proxy->port(), options_.connect));
  if (!reached) co_return std::move(reached).error().because("the proxy " + proxy->name() + " is not reached");
  if (!url.is_secure()) co_return std::move(reached);
  co_return co_await open_tunnel(*std::move(reached), *proxy, url);
}

Task<Stream> ClientPool::connect(const Url& url, const Proxy* proxy) {
  const std::string host(url.host());
  Stream plain = co_await connect_plain(url, proxy);
  if (url.scheme() != Url::Scheme::Https) co_return std::move(plain);
  Stream stream = co_await Stream::layered(*options_.https, host, std::move(plain));
  Result<> established = co_await attempt(stream.establish());
  if (established) co_return std::move(stream);
  Error error = std::move(established).error().because("TLS with '" + host + '\'');
  // The client that called this service must not receive Unauthenticated or Protocol, because the other server is at
  // fault.
  const bool is_servers = error.code() == Code::Unauthenticated || error.code() == Code::Protocol;
  if (is_servers) co_return std::move(error).as(Code::Upstream);
  co_return std::move(error);
}

Task<ClientPool::Lease> ClientPool::lend(Origin& origin, const Url& url, Kind kind, bool& has_place) {
  const Instant wait_limit = Host::current().now() + options_.wait_max;  // For both places.
  Bulkhead::Place use = co_await wait_for_place(origin.places_, origin, wait_limit);
  Lease lease(*this, origin, std::move(use));
  if (kind == Kind::Fresh) close_idle(origin);
  lease.connection_ = take_idle(origin);
  has_place = lease.connection_ != nullptr;
  if (has_place) co_return std::move(lease);

  if (places_.running() == options_.connections_max) close_oldest_idle();
  Bulkhead::Place place = co_await wait_for_place(places_, origin, wait_limit);
  has_place = true;
  const Proxy* const proxy = proxies_.of(url);
  const Instant limit = Host::current().now() + options_.connect_timeout;
  Result<Stream> stream = co_await attempt(with_timeout(options_.connect_timeout, connect(url, proxy)));
  if (!stream && stream.error().code() == Code::DeadlineExceeded && Host::current().now() >= limit) {
    const std::string through = proxy != nullptr ? " through the proxy " + proxy->name() : std::string();
    co_return Error::text(Code::DeadlineExceeded,
                          "connecting to " + origin.name() + through + " took longer than connect_timeout");
  }
  if (!stream) co_return std::move(stream).error();
  lease.connection_ = std::make_unique<Connection>(*std::move(stream));
  lease->place = std::move(place);
  lease->opened = Host::current().now();
  lease->proxy = proxy;
  lease->is_forwarded = proxy != nullptr && !url.is_secure();
  ++open_;
  co_return std::move(lease);
}

void ClientPool::Lease::give_back() noexcept {
  pool_->keep(*origin_, std::move(connection_));
  end();
}

void ClientPool::Lease::close() noexcept {
  if (connection_ != nullptr) {
    connection_.reset();
    --pool_->open_;
  }
  end();
}

void ClientPool::Lease::end() noexcept {
  place_.release();  // Release the place while the origin still has a use: an origin without uses may be removed.
  if (origin_ != nullptr) --std::exchange(origin_, nullptr)->uses_;
}

bool ClientPool::is_usable(const Connection& connection, Instant now) const noexcept {
  return now - connection.opened < options_.age_max && now - connection.idle_since < options_.idle_timeout &&
         !connection.stream.has_input();
}

std::unique_ptr<ClientPool::Connection> ClientPool::take_idle(Origin& origin) noexcept {
  const Instant now = Host::current().now();
  // At the start of its iteration, the loop looked for input on the idle connections; a second check is needed only if
  // the iteration began too long ago.
  const bool is_late = Host::current().precise_now() - now >= unseen_max;
  while (!origin.idle_.empty()) {
    std::unique_ptr<Connection> connection = std::move(origin.idle_.back());
    origin.idle_.pop_back();
    --idle_;
    if (is_usable(*connection, now) && !(is_late && connection->stream.has_unseen_input())) return connection;
    --open_;
  }
  return nullptr;
}

void ClientPool::keep(Origin& origin, std::unique_ptr<Connection> connection) noexcept {
  const Instant now = Host::current().now();
  ++connection->responses;
  connection->idle_since = now;
  // When calls wait because connections_max is reached, this connection is closed. The place of the closed connection
  // then goes to a waiting call, before the next call to this server can take the place.
  if (now - connection->opened >= options_.age_max || options_.idle_timeout <= Duration() || places_.waiting() != 0) {
    --open_;
    return;
  }
  connection->reader.release();
  connection->stream.watch();
  origin.idle_.push_back(std::move(connection));
  ++idle_;
  if (!idle_timer_.is_running()) Host::current().start_timer(idle_timer_, now + options_.idle_timeout);
}

void ClientPool::close_idle(Origin& origin) noexcept {
  open_ -= origin.idle_.size();
  idle_ -= origin.idle_.size();
  origin.idle_.clear();
}

void ClientPool::close_idle() noexcept {
  for (auto& [name, origin] : origins_) close_idle(*origin);
  if (idle_timer_.is_running()) Host::current().stop_timer(idle_timer_);
}

void ClientPool::close_oldest_idle() noexcept {
  Origin* oldest = nullptr;
  for (auto& [name, origin] : origins_) {
    if (origin->idle_.empty()) continue;
    if (oldest == nullptr || origin->idle_.front()->idle_since < oldest->idle_.front()->idle_since) {
      oldest = origin.get();
    }
  }
  if (oldest == nullptr) return;
  oldest->idle_.erase(oldest->idle_.begin());
  --idle_;
  --open_;
}

void ClientPool::close_old() noexcept {
  const Instant now = Host::current().now();
  Instant next = Instant::never();
  for (auto& [name, origin] : origins_) {
    const std::size_t before = origin->idle_.size();
    std::erase_if(origin->idle_, [&](const auto& connection) { return !is_usable(*connection, now); });
    idle_ -= before - origin->idle_.size();
    open_ -= before - origin->idle_.size();
    for (const auto& connection : origin->idle_) next = std::min(next, connection->idle_since + options_.idle_timeout);
  }
  if (!next.is_never()) Host::current().start_timer(idle_timer_, next);
}

CircuitBreaker::State ClientPool::breaker(std::string_view origin) const noexcept {
  const auto found = origins_.find(origin);
  return found == origins_.end() ? CircuitBreaker::State::Closed : found->second->breaker_.state(Host::current().now());
}

std::size_t ClientPool::breakers(CircuitBreaker::State state) const noexcept {
  const Instant now = Host::current().now();
  return static_cast<std::size_t>(
      std::ranges::count_if(origins_, [&](const auto& entry) { return entry.second->breaker_.state(now) == state; }));
}

}  // namespace keel::http
