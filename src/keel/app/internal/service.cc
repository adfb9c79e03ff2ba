#include "keel/app/internal/service.h"

#include <algorithm>
#include <utility>

#include "keel/app/internal/options.h"
#include "keel/base/host.h"
#include "keel/http/middleware/https_redirect.h"
#include "keel/observe/log.h"
#include "keel/telemetry/process.h"
#include "keel/telemetry/stage_times.h"

namespace keel::app::internal {

Service::Service(const Registrar& registrar, Workers& workers, Succession& succession, Certificates& certificates,
                 Addresses& addresses)
    : registrar_(registrar),
      workers_(workers),
      succession_(succession),
      descriptors_max_(telemetry::raise_descriptor_limit()),
      certificates_(certificates),
      addresses_(addresses),
      applier_(registrar.on_reload("network", [this](const Settings& now) -> Result<> {
        const HttpsSettings& https = now.network.https;
        if (https.is_on() != (secure_.server != nullptr) && server() != nullptr) {
          return Error::text(
              Code::FailedPrecondition,
              "network.https.certificate: a reload cannot add or remove the https listener: restart the process");
        }
        if (https.is_on()) KEEL_TRY_VOID(certificates_.load(https).because("network.https"));
        each(
            [&](const Part& part) { part.server->change(limits_of(now.network), now.network.http.server.access_log); });
        return {};
      })) {}

void Service::make(Part& part, const http::Router& router, http::ServerOptions options) {
  options.name = part.name;
  addresses_.add(part.name, options.address, part.section, std::string(part.section) + '.', options.listen.socket_mode);
  if (registrar_.settings.monitoring.enabled) options.metrics = &registrar_.metrics;
  part.server = std::make_unique<http::Server>(router, std::move(options));
}

Result<> Service::serve(const http::Router& router) {
  const Settings& settings = registrar_.settings;
  const HttpsSettings& https = settings.network.https;
  if (https.plain_http != PlainHttp::Off) {
    auto address = settings.network.http.listen_address();
    if (!address) return std::move(address).error().because("network.http.address");
    const bool redirects = https.plain_http == PlainHttp::Redirect;
    if (redirects) redirecting_.use(http::HttpsRedirect({.port = https.redirect_target()}));
    make(plain_, redirects ? redirecting_ : router, server_options(settings, *address));
  }
  if (!https.is_on()) return {};
  auto address = settings.network.https_address();
  if (!address) return std::move(address).error().because("network.https.address");
  KEEL_TRY_VOID(certificates_.load(https).because("network.https"));
  http::ServerOptions options = server_options(settings, *address);
  options.https = &certificates_.layers(Certificates::Service);
  options.hsts_max_age = https.hsts;
  make(secure_, router, std::move(options));
  return {};
}

http::Server* Service::server() noexcept {
  const bool serves_plain = registrar_.settings.network.https.plain_http == PlainHttp::Serve;
  return serves_plain ? plain_.server.get() : secure_.server.get();
}

std::vector<std::string> Service::urls() const {
  std::vector<std::string> urls;
  for (const Part* const part : {&plain_, &secure_}) {
    if (part->server == nullptr) continue;
    const Address& address = part->server->address();
    urls.push_back((address.is_unix() ? "" : std::string(part->name) + "://") + address.to_string());
  }
  return urls;
}

void Service::add_module() {
  if (plain_.server == nullptr && secure_.server == nullptr) return;
  registrar_.add({.name = "http",
                  .needs = registrar_.lifecycle.wanted(),
                  .start = [this] { return start(); },
                  .stop = [this] { drain(); }});
}

Result<> Service::start() {
  Result<> result;
  each([&](Part& part) {
    if (!result) return;
    const auto inherited = succession_.find(part.name, part.server->address());
    part.is_kept = inherited.is_kept;
    result = addresses_.report(part.name, part.server->start(workers_.runtime(), inherited.sockets));
  });
  if (!result) stop();  // Stops the servers that have started, before the workers end.
  return result;
}

void Service::drain() {
  const Duration timeout = registrar_.now().network.http.drain_timeout;
  const Instant until = Host::current().now() + timeout;
  // Drains all servers at the same time, because otherwise the last server would accept new connections while the first
  // server drains.
  each([&](Part& part) {
    const http::Listening listening = succession_.after_stop(part.is_kept);
    part.server->begin_drain(
        std::min(listening == http::Listening::GoesOn ? Duration(2_s) : Duration(250_ms), timeout / 4), listening);
  });
  each([&](Part& part) {
    const Duration left = std::max(until - Host::current().now(), Duration());
    is_drained_ &= part.server->drain(left, succession_.after_stop(part.is_kept));
  });
}

void Service::share(std::vector<Succession::Shared>& servers) {
  each([&](Part& part) {
    servers.push_back({part.name, [&part] { return part.server->duplicate_listeners(); }, part.is_kept});
  });
}

void Service::stop() {
  each([](Part& part) { part.server->stop(); });
}

void Service::check_limits(std::uint64_t message_connections) {
  if (server() == nullptr) return;
  static const log::Logger log("app");
  const http::Limits& limits = registrar_.settings.network.http.server.limits;
  const std::uint64_t listeners = (plain_.server != nullptr ? 1 : 0) + (secure_.server != nullptr ? 1 : 0);
  const std::uint64_t workers = static_cast<std::uint64_t>(workers_.runtime().workers());
  // The descriptors that each worker uses (engine, listener, database connection), and those of files, of the admin
  // listener and of the application.
  const std::uint64_t others = 128 + 16 * workers;
  const std::uint64_t needed = listeners * limits.connections_max + message_connections + others;
  if (descriptors_max_ < needed) {
    log.warn(
        "the limit of file descriptors is too low for network.http.max_connections; accepting will pause when the "
        "descriptors run out",
        log::field("limit", descriptors_max_), log::field("needed", needed), log::field("listeners", listeners),
        log::field("max_connections", limits.connections_max), log::field("message_connections", message_connections),
        log::field("others", others),
        log::field("remedy",
                   "raise RLIMIT_NOFILE to the value of `needed`, which counts max_connections once for each listener, "
                   "or lower max_connections"));
  }
  if (limits.bodies_bytes_max / workers < limits.body_bytes_max) {
    log.warn(
        "a worker's share of network.http.max_body_memory is smaller than network.http.max_body; a body larger than "
        "this share will get 503",
        log::field("share", limits.bodies_bytes_max / workers), log::field("max_body", limits.body_bytes_max));
  }
}

void Service::add_pages(telemetry::AdminPages& pages) {
  if (server() == nullptr) return;
  pages.add({.path = "/admin/stages",
             .json = [this](Buffer& out) { telemetry::write_stage_times_json(out, stage_times()); },
             .text = [this](Buffer& out) { telemetry::write_stage_times_text(out, stage_times()); }});
}

// The sums over all servers of the router. Entries with the same index are added, because all servers have the routes
// in the same order.
std::vector<http::RouteStages> Service::stage_times() {
  std::vector<http::RouteStages> times = server()->stage_times();
  if (server() == secure_.server.get() || secure_.server == nullptr) return times;
  const std::vector<http::RouteStages> others = secure_.server->stage_times();
  for (std::size_t route = 0; route < times.size(); ++route) {
    times[route].measured += others[route].measured;
    times[route].written += others[route].written;
    for (int i = 0; i < http::stage_count; ++i) times[route].of[i] = times[route].of[i] + others[route].of[i];
  }
  return times;
}

}  // namespace keel::app::internal
