#include "keel/app/internal/clients.h"

#include <utility>

#include "keel/base/bug.h"
#include "keel/http/client/client_pool.h"
#include "keel/http/client/proxy.h"
#include "keel/http/client/url.h"
#include "keel/observe/log.h"

namespace keel::app::internal {
namespace {

std::string key_of(std::string_view name) { return "network.clients." + std::string(name); }

Result<> check_base(const std::string& base_url) {
  if (base_url.empty()) return {};
  KEEL_TRY(const http::Url url, http::Url::parse(base_url));
  return http::ClientPool::speaks(url, true);
}

}  // namespace

const Clients::Entry* Clients::find(std::string_view name) const noexcept {
  for (const Entry& entry : entries_) {
    if (entry.options.name == name) return &entry;
  }
  return nullptr;
}

// The configuration overrides the options of the application; an option that the configuration does not set keeps the
// application's value.
Result<TransportLayers*> Clients::configure(http::ClientOptions& options) {
  const auto& clients = registrar_.settings.network.clients;
  const auto found = clients.find(options.name);
  if (found == clients.end()) return nullptr;
  const ClientSettings& from = found->second;
  const config::Origins& origins = registrar_.config.origins();
  const auto take = [&](std::string_view key, auto& option, const auto& setting) {
    if (origins.is_set(key_of(options.name) + '.' + std::string(key))) option = setting;
  };
  take("base_url", options.base_url, from.base_url);
  take("timeout_sec", options.timeout, from.timeout);
  take("connect_timeout_sec", options.pool.connect_timeout, from.connect_timeout);
  take("first_byte_timeout_sec", options.first_byte_timeout, from.first_byte_timeout);
  take("read_timeout_sec", options.read_timeout, from.read_timeout);
  take("max_connections", options.pool.connections_max, from.connections_max);
  take("max_connections_per_server", options.pool.connections_per_origin_max, from.connections_per_origin_max);
  take("max_body", options.body_bytes_max, from.body_bytes_max);
  take("max_attempts", options.retry.attempts_max, from.attempts_max);
  take("proxy", options.proxy, from.proxy.reveal());
  take("no_proxy", options.no_proxy, from.no_proxy);
  take("decompress", options.decompresses, from.decompresses);
  if (from.roots.empty() && from.revoked.empty() && from.certificate.empty()) return nullptr;
  const tls::ClientOptions tls_options = {.trust = {.file = from.roots, .revoked_file = from.revoked},
                                          .certificate = {.certificate_file = from.certificate, .key_file = from.key}};
  return certificates_.add_client(key_of(options.name), tls_options);
}

Result<Endpoint> Clients::SystemTrust::put_over(Endpoint plain, std::string_view host, std::string_view received) {
  {
    const std::lock_guard lock(mutex_);
    if (!layers_) {
      KEEL_TRY(tls::ClientContext context, tls::ClientContext::make({}));
      layers_.emplace(std::move(context));
    }
  }
  return layers_->make(plain, host, received);
}

Result<std::string> Clients::add(http::ClientOptions options) {
  Result<TransportLayers*> https = configure(options);
  if (!https) return std::move(https).error().because(key_of(options.name));
  if (*https != nullptr) options.pool.https = *https;
  if (options.pool.https == nullptr) options.pool.https = &system_trust_;
  if (options.needs_base_url && options.base_url.empty()) {
    return Error::text(Code::InvalidArgument, key_of(options.name) +
                                                  ".base_url is required: the URL of the server, such "
                                                  "as http://" +
                                                  options.name + ".internal:8080");
  }
  if (auto checked = check_base(options.base_url); !checked) {
    return std::move(checked).error().because(key_of(options.name) + ".base_url '" + options.base_url + "'");
  }
  if (auto proxies = http::ProxyRules::make(options.proxy, options.no_proxy); !proxies) {
    return std::move(proxies).error().because(key_of(options.name) + ".proxy");
  }
  if (options.metrics == nullptr && registrar_.settings.monitoring.enabled) options.metrics = &registrar_.metrics;
  std::string module = "client " + options.name;
  const std::lock_guard lock(mutex_);
  KEEL_EXPECT(find(options.name) == nullptr, "App::client() can be called only once for each name");
  Entry& entry = entries_.emplace_back(Entry{std::move(options), nullptr});
  registrar_.add({.name = module,
                  .needs = {"workers", "resolver"},
                  .start = [this, &entry]() -> Result<> {
                    start(entry);
                    return {};
                  },
                  .stop = [this, &entry] { stop(entry); },
                  .lazy = true});
  return module;
}

http::SharedClient& Clients::get(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const Entry* const entry = find(name);
  KEEL_EXPECT(entry != nullptr && entry->client != nullptr, "an HTTP client can be used only while its module runs");
  return *entry->client;
}

void Clients::warn_of_unknown() const {
  static const log::Logger log("app");
  const std::lock_guard lock(mutex_);
  for (const auto& [name, settings] : registrar_.settings.network.clients) {
    if (find(name) != nullptr) continue;
    log.warn("the configuration has settings for an HTTP client that the application does not use",
             log::field("key", key_of(name)));
  }
}

void Clients::start(Entry& entry) {
  static const log::Logger log("app");
  const http::ProxyRules proxies = http::ProxyRules::make(entry.options.proxy, entry.options.no_proxy).value();
  if (proxies.http() || proxies.https()) {
    const auto name = [](const std::optional<http::Proxy>& proxy) { return proxy ? proxy->name() : "none"; };
    log.info("an HTTP client uses a proxy", log::field("client", entry.options.name),
             log::field("http", name(proxies.http())), log::field("https", name(proxies.https())));
  }
  auto client = std::make_unique<http::SharedClient>(workers_.runtime().workers(), entry.options);
  workers_.runtime().each([&](io::Loop& loop) { client->attach(resolvers_.of(loop)); });
  const std::lock_guard lock(mutex_);
  entry.client = std::move(client);
}

void Clients::stop(Entry& entry) {
  workers_.runtime().each([&](io::Loop&) { entry.client->detach(); });
}

}  // namespace keel::app::internal
