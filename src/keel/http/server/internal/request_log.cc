#include "keel/http/server/internal/request_log.h"

#include <string>

#include "keel/http/server/stage.h"
#include "keel/io/engine.h"
#include "keel/net/transport.h"

namespace keel::http {
namespace {

// The address as text, without the port if it is 0.
std::string client_text(const Address& address) {
  std::string text = address.to_string();
  if (!address.is_unix() && text.ends_with(":0")) text.resize(text.size() - 2);
  return text;
}

// Calls say() with those of `client` and `id` that are not empty.
template <class Say>
void say_with(std::string_view client, std::string_view id, const Say& say) {
  if (client.empty() && id.empty()) return say();
  if (client.empty()) return say(log::field("request_id", id));
  if (id.empty()) return say(log::field("client", client));
  say(log::field("client", client), log::field("request_id", id));
}

}  // namespace

RequestLog::RequestLog(io::Loop& loop, const ServerOptions& options, ServerCounts<SingleWriterCounter>& counts,
                       ServerMetrics* metrics, std::size_t routes)
    : loop_(loop),
      options_(options),
      counts_(counts),
      metrics_(metrics),
      access_log_(options.access_log),
      stages_(routes, options.server_timing ? 1 : options.measured_every) {}

template <class Say>
void RequestLog::say_of(Request& request, const Say& say) {
  const std::string client = options_.log_clients ? client_text(request.client_address()) : std::string();
  say_with(client, options_.request_ids ? request.id() : std::string_view(), say);
}

void RequestLog::count_stages(StageClock& clock, std::uint32_t route, Instant now) {
  clock.add(stage::record, loop_.precise_now() - now);
  stages_.add(route, clock);
  if (metrics_ != nullptr) metrics_->count_stages(clock);
}

void RequestLog::log_response(Request& request, Status status, std::size_t bytes, Duration took) {
  say_of(request, [&](const auto&... more) {
    log_.info("request", log::field("method", request.head().method_text()), log::field("path", request.path()),
              log::field("status", number(status)), log::field("bytes", bytes), log::field("duration", took), more...);
  });
}

std::string RequestLog::client_of(const Remote& remote) const {
  if (!options_.log_clients) return {};
  if (remote.introduction != nullptr) return client_text(remote.introduction->peer);
  return client_text(loop_.engine().peer_address(remote.fd));
}

void RequestLog::rejected(Status status, std::string_view reason, std::string_view id, const Remote& remote) {
  if (metrics_ != nullptr) metrics_->count_refused(status);
  say_with(client_of(remote), id, [&](const auto&... more) {
    log_.info("request rejected", log::field("status", number(status)), log::field("reason", reason), more...);
  });
}

void RequestLog::too_many_connections(const Address& client, std::uint32_t connections_max) {
  say_with(options_.log_clients ? client_text(client) : std::string(), {}, [&](const auto&... more) {
    log_.info("a client has reached its connection limit; its further connections are reset",
              log::field("connections", connections_max), more...);
  });
}

void RequestLog::failed(const Transport& transport, const Introduction* introduction) {
  const TransportLayer* const layer = transport.layer();
  if (layer == nullptr || layer->is_established()) return;
  counts_.handshakes_failed.add();
  if (!log_.is_on(Level::Debug)) return;
  const Error error = transport.error("TLS handshake", transport.outcome());
  say_with(client_of({transport.descriptor(), introduction}), {},
           [&](const auto&... more) { log_.debug("TLS handshake failed", error, more...); });
}

void RequestLog::rejected_late(Request& request, std::string_view reason) {
  if (metrics_ != nullptr) metrics_->count_refused(Status::ServiceUnavailable);
  if (!access_log_) return;
  say_of(request, [&](const auto&... more) {
    log_.info("request rejected", log::field("status", number(Status::ServiceUnavailable)),
              log::field("reason", reason), log::field("method", request.head().method_text()),
              log::field("path", request.head().path()), more...);
  });
}

void RequestLog::count_cut(Cut during) {
  counts_.cut.add();
  if (metrics_ != nullptr) metrics_->count_cut(during);
}

void RequestLog::cut_head(std::size_t bytes) {
  count_cut(Cut::Head);
  log_.info("request cut", log::field("during", to_string(Cut::Head)), log::field("bytes", bytes));
}

void RequestLog::cut(Cut during, Request& request) {
  count_cut(during);
  const ScopedSpan span(request.span());
  say_of(request, [&](const auto&... more) {
    log_.info("request cut", log::field("during", to_string(during)),
              log::field("method", request.head().method_text()), log::field("path", request.path()), more...);
  });
}

void RequestLog::cut_response(Request& request, Status status, std::size_t bytes) {
  count_cut(Cut::Response);
  const ScopedSpan span(request.span());
  const Duration took = loop_.precise_now() - request.started();
  say_of(request, [&](const auto&... more) {
    log_.info("request cut", log::field("during", to_string(Cut::Response)),
              log::field("method", request.head().method_text()), log::field("path", request.path()),
              log::field("status", number(status)), log::field("bytes", bytes), log::field("duration", took), more...);
  });
}

void RequestLog::begin_write(const void* sender, std::uint32_t route, bool behind_another) {
  if (writing_.sender != nullptr) return;
  writing_ = {sender, loop_.precise_now(), route, behind_another ? 2 : 1};
}

void RequestLog::end_own_write(bool is_sent) {
  if (is_sent && --writing_.sends != 0) return;
  writing_.sender = nullptr;
  if (!is_sent) return;
  const Duration took = loop_.precise_now() - writing_.began;
  stages_.add_write(writing_.route, took);
  if (metrics_ != nullptr) metrics_->count_write(took);
}

}  // namespace keel::http
