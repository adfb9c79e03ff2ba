#include "keel/http/server/internal/server_worker.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/hex.h"
#include "keel/base/host.h"
#include "keel/http/server/internal/connection.h"
#include "keel/http/server/internal/upgraded.h"
#include "keel/http/server/problem.h"
#include "keel/net/address_guard.h"
#include "keel/net/transport.h"

namespace keel::http {
namespace {

constexpr Degradation::Lines memory_lines = {.begins = "out of memory; a connection was closed",
                                             .goes_on = "still out of memory; connections are closed",
                                             .is_over = "memory is available again"};
constexpr Degradation::Lines overload_lines = {.begins = "overloaded; requests that have waited too long are rejected",
                                               .goes_on = "still overloaded, or overloaded again",
                                               .is_over = "no longer overloaded"};
constexpr Degradation::Lines introduction_lines = {
    .begins = "a trusted proxy sent no valid PROXY header; its connection was closed",
    .goes_on = "trusted proxies still send no valid PROXY headers",
    .is_over = "trusted proxies no longer send invalid PROXY headers"};

SipKey secret_key() {
  SipKey key;
  Host::current().secret(std::as_writable_bytes(std::span(&key, 1)));
  return key;
}

// RFC 6797 §6.1. The server sends the field only over secure connections (§7.2).
std::string strict_transport_of(const ServerOptions& options) {
  if (options.https == nullptr || options.hsts_max_age <= Duration()) return {};
  return "max-age=" + std::to_string(options.hsts_max_age.count_ms() / 1000);
}

}  // namespace

ServerWorker::ServerWorker(const Shared& shared, io::Loop& loop, const ListenerPart& listener, const Shares& shares)
    : shared_(shared),
      loop_(loop),
      engine_(loop.engine()),
      limits_(shared.options.limits),
      records_(loop, shared.options, counts, shared.metrics, shared.router.routes().size() + 1),
      out_of_memory_(loop, records_.log(), memory_lines),
      overload_(loop, records_.log(), overload_lines),
      introductions_(loop, records_.log(), introduction_lines),
      failures_(loop, records_.log()),
      acceptor_(*this, listener, shares.connections),
      shares_(shares),
      held_(*this),
      strict_transport_(strict_transport_of(shared.options)),
      trace_high_(Host::current().random()),
      arrival_{&engine_,
               {shared.options.trusted_proxies, shared.options.forwarded_by, shared.options.believed},
               shared.options.https != nullptr ? "https" : "http",
               &counts.bugs,
               &failures_},
      may_continue_traces_(arrival_.trust.may_believe(arrival_.trust.believed.trace)),
      delay_(loop, shared.router.routes().size() + 1) {
  share(shares);
}

ServerWorker::~ServerWorker() {
  KEEL_CHECK(connections_.empty() && upgraded_.empty() && acceptor_.is_closed(),
             "a server must end its connections before it is destroyed");
}

void ServerWorker::change(const Limits& limits, bool access_log, const Shares& shares) {
  share(shares);
  if (limits.user_timeout != limits_.user_timeout && !acceptor_.is_closed()) {
    // Fails with Unsupported on sockets that are not TCP; the limit then does not apply.
    static_cast<void>(engine_.set_options(acceptor_.listener(), {.user_timeout = limits.user_timeout}));
  }
  limits_ = limits;
  records_.set_access_log(access_log);
  acceptor_.change(shares.connections);
}

void ServerWorker::share(const Shares& shares) noexcept {
  shares_ = shares;
  counts.connections_max.set(shares.connections);
  counts.body_bytes_max.set(shares.body_bytes);
  counts.response_bytes_max.set(shares.response_bytes);
  counts.received_bytes_max.set(shares.received_bytes);
}

void ServerWorker::begin_drain(Duration grace, Listening listening) {
  if (is_draining()) return;
  draining_.set();
  grace_ = grace;
  out_of_memory_.stop();
  overload_.stop();
  introductions_.stop();
  acceptor_.begin_drain(grace, listening);
  connections_.for_each([](Connection& connection) { connection.begin_drain(); });
  upgraded_.for_each([](Upgraded& upgraded) { upgraded.stop(); });
  check_drained();
}

void ServerWorker::abort_all() {
  begin_drain(Duration(), Listening::GoesOn);  // The socket stays open, because another process may use it too.
  acceptor_.abort();
  connections_.for_each([](Connection& connection) { connection.cut(); });
}

Response ServerWorker::reject(Status status, std::string_view reason, const Remote& remote) {
  counts.requests.add();
  counts.refused.add();
  Response response = refuse(status, reason);
  if (status == Status::TooManyRequests) response.header("Retry-After", "1");
  if (!strict_transport_.empty()) response.header("Strict-Transport-Security", strict_transport_);
  char id_text[2 * hex_digits];
  std::string_view id;
  if (options().request_ids) {
    const log::TraceId trace = next_trace();
    write_hex(write_hex(id_text, trace.high), trace.low);
    id = {id_text, sizeof id_text};
    response.header("X-Request-Id", id);
  }
  records_.rejected(status, reason, id, remote);
  return response;
}

Endpoint ServerWorker::endpoint_of(int fd, std::string_view received) {
  const Endpoint plain{.engine = &engine_, .fd = fd};
  if (options().https == nullptr) return plain;
  const Result<Endpoint> layered = options().https->make(plain, {}, received);
  if (!layered) throw std::bad_alloc();
  return *layered;
}

void ServerWorker::reject_introduction(const Address& proxy, const char* reason) {
  counts.introductions_refused.add();
  introductions_.meet(log::field("proxy", proxy.to_string()), log::field("reason", reason));
}

std::optional<std::uint32_t> ServerWorker::enter(const Address& peer, int fd) {
  const std::string_view client = client_of(peer);
  const bool is_public = public_addresses_only(peer);
  const bool bounds_connections = limits_.client_connections_max != 0 || is_public;
  const bool bounds_bodies = limits_.client_bodies_bytes_max != 0 || is_public;
  if (client.empty() || (!bounds_connections && !bounds_bodies) || is_trusted(peer, options().trusted_proxies))
    return 0;
  if (!clients_) clients_.emplace(secret_key());
  const std::uint32_t place = clients_->enter(client);
  counts.clients.set(clients_->size());
  ClientEntry& entry = clients_->at(place);
  entry.is_public = is_public;
  if (!bounds_connections || entry.connections <= shares_.client_connections) return place;
  counts.client_connections_refused.add();
  if (!std::exchange(entry.is_told, true)) records_.too_many_connections(peer, shares_.client_connections);
  leave(place);
  // After a normal close, the kernel would keep memory for the connection for as long as the client does not read.
  static_cast<void>(engine_.set_options(fd, {.reset_on_close = true}));
  return std::nullopt;
}

void ServerWorker::leave(std::uint32_t place) noexcept {
  if (place == 0) return;
  clients_->leave(place);
  counts.clients.set(clients_->size());
}

Status ServerWorker::check_body(std::uint32_t place, std::uint64_t body_bytes, std::size_t held) noexcept {
  if (counts.body_bytes.get() + body_bytes > counts.body_bytes_max.get()) {
    counts.bodies_refused.add();
    return Status::ServiceUnavailable;
  }
  if (place == 0) return Status::Ok;
  const ClientEntry& client = clients_->at(place);
  const bool is_bounded = limits_.client_bodies_bytes_max != 0 || client.is_public;
  const bool is_only = client.bodies <= (held != 0 ? 1u : 0u);
  if (!is_bounded || is_only || client.body_bytes + body_bytes <= shares_.client_body_bytes) return Status::Ok;
  counts.client_bodies_refused.add();
  return Status::TooManyRequests;
}

const char* ServerWorker::no_room_for_body(Status status) noexcept {
  return status == Status::TooManyRequests ? "the server's memory limit for bodies of this client is reached"
                                           : "the server's memory limit for request bodies is reached";
}

void ServerWorker::hold_body(std::uint32_t place, std::size_t before, std::size_t after) noexcept {
  counts.body_bytes.add(after);
  counts.body_bytes.subtract(before);
  if (place == 0) return;
  ClientEntry& client = clients_->at(place);
  client.body_bytes += after - before;
  client.bodies += (after != 0 ? 1u : 0u) - (before != 0 ? 1u : 0u);
}

void ServerWorker::add(Connection& connection) {
  connections_.push_back(connection);
  counts.connections.add();
}

void ServerWorker::add(Upgraded& upgraded) {
  upgraded_.push_back(upgraded);
  counts.upgraded.add();
}

void ServerWorker::ended() {
  counts.connections.subtract();
  acceptor_.resume_with_room();
  check_drained();
}

void ServerWorker::check_drained() {
  if (closed_ || !is_draining() || !acceptor_.is_closed() || !connections_.empty() || !upgraded_.empty()) return;
  closed_ = true;
  held_.end();
  failures_.stop();
  scratch_.release();
  // This call may destroy this object.
  std::atomic<int>& open_workers = shared_.open_workers;
  open_workers.fetch_sub(1, std::memory_order_acq_rel);
}

void ServerWorker::write_date() noexcept {
  const std::int64_t wall = loop_.wall_ns();
  char* const date = ok_and_date_.data() + ok_line_bytes;
  std::memcpy(ok_and_date_.data(), status_line(Status::Ok).data(), ok_line_bytes);
  std::memcpy(date, "Date: ", 6);
  std::memcpy(format_date(wall / 1'000'000'000, date + 6), "\r\n", 2);
  // The date is checked ten times a second, because the system clock may be set at any time.
  const auto left = Duration::nanoseconds(1'000'000'000 - wall % 1'000'000'000);
  date_until_ = loop_.now() + std::min(left, 100_ms);
}

bool ServerWorker::delay_rejects(int fd, Instant since) noexcept {
  const bool was = delay_.is_overloaded();
  Duration delay;
  const bool rejects = delay_.rejects(fd, since, limits_.queue_delay_max, delay);
  if (was != delay_.is_overloaded()) {
    if (was) {
      overload_.leave();
    } else {
      overload_.enter(log::field("delay", delay));
    }
  }
  return rejects;
}

}  // namespace keel::http
