#include "keel/app/internal/certificates.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <ranges>
#include <utility>

#include "keel/app/internal/options.h"
#include "keel/data/timestamp.h"
#include "keel/observe/log.h"

namespace keel::app::internal {
namespace {

// How often the files are checked for changes. A changed file is loaded only after it has stayed unchanged for this
// time, because another process may still be writing the file.
constexpr std::chrono::seconds look_pause{5};
constexpr int looks_of_a_retry = 12;
// A certificate whose remaining lifetime is below this bound is reported, because the certificate should have been
// renewed weeks before.
constexpr std::int64_t warning_seconds = 7 * 24 * 3600;

const log::Logger& certificates_logger() {
  static const log::Logger log("app");
  return log;
}

void warn_of_chain(std::string_view certificate, const std::string& problem) {
  if (problem.empty()) return;
  certificates_logger().warn("the chain of a certificate differs from what clients expect; the chain is sent unchanged",
                             log::field("certificate", certificate), log::field("why", problem));
}

std::int64_t calendar_seconds() noexcept { return Host::current().wall_ns() / 1'000'000'000; }
std::string day_of(std::int64_t seconds) {
  return std::string(Timestamp::from_unix_seconds(seconds).text()).substr(0, std::string_view("2026-01-31").size());
}
// The index is a Certificates::Listener; an element is empty if that listener is not used.
using Contexts = std::array<std::optional<tls::ServerContext>, Certificates::listeners>;
Result<Contexts> contexts_of(tls::ServerOptions options, const Settings& settings) {
  const MonitoringSettings& monitoring = settings.monitoring;
  const MessagesSettings& messages = settings.network.messages;
  Contexts contexts;
  KEEL_TRY(contexts[Certificates::Service], tls::ServerContext::make(options));
  options.ticket_keys.reset();
  options.client_certificates = tls::ClientCertificates::Unwanted;
  options.clients = {};
  if (monitoring.probes.https) {
    KEEL_TRY(contexts[Certificates::Probes], tls::ServerContext::make(options));
  }
  // Makes a context for a listener that verifies clients by its own CA certificates.
  const auto make = [&](Certificates::Listener of, tls::ServerOptions own, const std::string& roots,
                        const std::string& revoked, const char* section) -> Result<> {
    if (!roots.empty()) {
      own.client_certificates = tls::ClientCertificates::Required;
      own.clients = {.file = roots, .revoked_file = revoked};
    }
    auto made = tls::ServerContext::make(own);
    if (!made) return std::move(made).error().because(section);
    contexts[of] = *std::move(made);
    return {};
  };
  if (monitoring.metrics.https) {
    const MetricsSettings& admin = monitoring.metrics;
    KEEL_TRY_VOID(make(Certificates::Admin, options, admin.client_roots, admin.client_revoked, "monitoring.metrics"));
  }
  if (messages.tls) {
    options.protocols.clear();
    options.response_to_http.clear();
    KEEL_TRY_VOID(
        make(Certificates::Messages, options, messages.client_roots, messages.client_revoked, "network.messages"));
  }
  return contexts;
}

std::string name_of(const tls::CertificateFacts& facts) { return facts.file.empty() ? facts.names : facts.file; }

std::string kind_of(const tls::Expiry& one) {
  switch (one.kind) {
    case tls::Expiry::Kind::Certificate:
      return "certificate";
    case tls::Expiry::Kind::Issuer:
      return "issuer";
    case tls::Expiry::Kind::Root:
      return "root";
    case tls::Expiry::Kind::RevocationList:
      return "revocation_list";
  }
  return {};
}

// Whether the health check reports the expiry `one`. `all` has all expiries, including those of the other roots in the
// same file.
bool is_due(const tls::Expiry& one, const std::vector<tls::Expiry>& all, std::int64_t now) {
  // Revocation lists are renewed every few hours or days; a list is overdue for renewal in the last tenth of its
  // lifetime.
  if (one.kind == tls::Expiry::Kind::RevocationList) return now >= one.until - (one.until - one.from) / 10;
  if (now < one.until - warning_seconds) return false;
  if (one.kind != tls::Expiry::Kind::Root || now < one.until + warning_seconds) return true;
  // An expired root may stay in the file together with the roots that replace it.
  return std::ranges::none_of(all, [&](const tls::Expiry& other) {
    return other.kind == tls::Expiry::Kind::Root && other.file == one.file && now < other.until;
  });
}

Result<> check_time_of(const std::vector<tls::Expiry>& all, std::int64_t now) {
  for (const tls::Expiry& one : all) {
    if (!is_due(one, all, now)) continue;
    const bool is_list = one.kind == tls::Expiry::Kind::RevocationList;
    const char* const what = is_list                                 ? "the revocation list of '"
                             : one.kind == tls::Expiry::Kind::Root   ? "the root '"
                             : one.kind == tls::Expiry::Kind::Issuer ? "the issuer '"
                                                                     : "the certificate '";
    std::string text =
        what + one.name + "' in " + one.file + (now < one.until ? " expires on " : " expired on ") + day_of(one.until);
    if (is_list && now >= one.until) text += ": all certificates of this issuer are rejected";
    return Error::text(Code::Unavailable, text);
  }
  return {};
}

}  // namespace

Certificates::Certificates(const Registrar& registrar)
    : registrar_(registrar),
      good_(registrar.metrics.counter("tls_certificate_loads_total", "Attempts to load certificates",
                                      {{"result", "ok"}})),
      bad_(registrar.metrics.counter("tls_certificate_loads_total", "Attempts to load certificates",
                                     {{"result", "failed"}})) {}

std::vector<std::string> Certificates::files_of(const HttpsSettings& https) const {
  std::vector<std::string> files = https.files();
  const MetricsSettings& admin = registrar_.settings.monitoring.metrics;
  const MessagesSettings& messages = registrar_.settings.network.messages;
  for (const std::string& file :
       {admin.client_roots, admin.client_revoked, messages.client_roots, messages.client_revoked}) {
    if (!file.empty()) files.push_back(file);
  }
  return files;
}

std::vector<std::string> Certificates::files_of(const tls::ClientOptions& options) {
  std::vector<std::string> files;
  for (const std::string& file : {options.trust.file, options.trust.revoked_file, options.certificate.certificate_file,
                                  options.certificate.key_file}) {
    if (!file.empty()) files.push_back(file);
  }
  return files;
}

std::vector<Certificates::Look> Certificates::look_at(const std::vector<std::string>& files) {
  std::vector<Look> looks;
  for (const std::string& file : files) {
    Look look{.file = file};
    struct stat status;
    if (::stat(file.c_str(), &status) == 0) {
      // The time of the last status change, because chmod and chown may make a file readable without writing to it.
      look.changed_ns = status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec;
      look.bytes = status.st_size;
      look.inode = status.st_ino;
    }
    looks.push_back(std::move(look));
  }
  return looks;
}

Result<> Certificates::load(const HttpsSettings& https) {
  const std::lock_guard lock(mutex_);
  return settings_ == https ? Result<>() : load_locked(https);
}

Result<> Certificates::load_locked(const HttpsSettings& https) {
  std::vector<Look> looks = look_at(files_of(https));
  tls::ServerOptions options = tls_options(https);
  // After the rules for client certificates change, a client whose certificate is no longer accepted must not be able
  // to resume a session either.
  const auto knows_clients = [](const HttpsSettings& s) {
    return s.client_certificates != tls::ClientCertificates::Unwanted;
  };
  const bool begins_anew = !ticket_keys_ || knows_clients(https) || (settings_ && knows_clients(*settings_));
  options.ticket_keys = begins_anew ? tls::TicketKeys() : *ticket_keys_;
  Result<Contexts> contexts = contexts_of(options, registrar_.settings);
  (contexts ? good_ : bad_).add();
  looks_ = std::move(looks);
  is_last_good_ = contexts.is_ok();
  if (!contexts) return std::move(contexts).error();
  settings_ = https;
  ticket_keys_ = options.ticket_keys;
  facts_ = (*contexts)[Service]->certificates();
  expiries_.clear();
  for (const std::optional<tls::ServerContext>& context : *contexts) {
    if (!context) continue;
    for (const tls::Expiry& one : context->expiries()) {
      if (std::ranges::find(expiries_, one) == expiries_.end()) expiries_.push_back(one);
    }
  }
  expose();
  for (const tls::CertificateFacts& facts : facts_) {
    warn_of_chain(name_of(facts), facts.chain_problem);
    if (facts.ocsp_problem.empty()) continue;
    certificates_logger().error("an OCSP response could not be loaded; no OCSP response is sent to clients",
                                log::field("certificate", name_of(facts)), log::field("why", facts.ocsp_problem));
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    std::optional<tls::ServerContext>& context = (*contexts)[i];
    if (!context) continue;
    layers_[i] ? layers_[i]->set_context(*std::move(context))
               : static_cast<void>(layers_[i].emplace(*std::move(context)));
  }
  return {};
}

void Certificates::expose() {
  gauges_.clear();
  std::map<std::pair<std::string, std::string>, std::int64_t> first;  // The key consists of the kind and the file.
  const auto add = [&first](const std::vector<tls::Expiry>& expiries) {
    for (const tls::Expiry& one : expiries) {
      const auto [at, is_new] = first.try_emplace({kind_of(one), one.file}, one.until);
      if (!is_new) at->second = std::min(at->second, one.until);
    }
  };
  add(expiries_);
  for (const Client& client : clients_) add(client.expiries);
  for (const auto& [which, until] : first) {
    gauges_.push_back(registrar_.metrics.gauge(
        "tls_trust_expiry_timestamp_seconds", "Earliest expiry time of the certificates and revocation lists in a file",
        {{"kind", which.first}, {"file", which.second}}, [until] { return static_cast<double>(until); }));
  }
  for (const tls::CertificateFacts& facts : facts_) {
    gauges_.push_back(registrar_.metrics.gauge(
        "tls_certificate_expiry_timestamp_seconds", "Expiry time of a certificate of the server",
        {{"certificate", name_of(facts)}}, [until = facts.valid_until] { return static_cast<double>(until); }));
    if (facts.ocsp_until == 0) continue;
    gauges_.push_back(registrar_.metrics.gauge(
        "tls_ocsp_response_expiry_timestamp_seconds",
        "Expiry time of a certificate's OCSP response; until then the response is sent to clients",
        {{"certificate", name_of(facts)}}, [until = facts.ocsp_until] { return static_cast<double>(until); }));
  }
}

// Whether processes share ticket keys: false if client certificates are in use, because clients must then show their
// certificates to each process.
bool Certificates::shares_tickets() const {
  return settings_ && settings_->tickets && settings_->client_certificates == tls::ClientCertificates::Unwanted;
}

std::string Certificates::save_tickets() {
  const std::lock_guard lock(mutex_);
  return shares_tickets() ? ticket_keys_->save() : std::string();
}

void Certificates::adopt_tickets(std::string_view saved) {
  const std::lock_guard lock(mutex_);
  if (saved.empty() || !shares_tickets()) return;
  const auto keys = tls::TicketKeys::load(saved);
  if (!keys) {
    certificates_logger().warn("TLS sessions of the previous process cannot be resumed",
                               log::field("why", keys.error()));
    return;
  }
  ticket_keys_->adopt(*keys);
}

Result<TransportLayers*> Certificates::add_client(std::string key, const tls::ClientOptions& options) {
  const std::lock_guard lock(mutex_);
  std::vector<Look> looks = look_at(files_of(options));
  KEEL_TRY(tls::ClientContext context, tls::ClientContext::make(options));
  warn_of_chain(options.certificate.certificate_file, context.chain_problem());
  Client& client = clients_.emplace_back(std::move(key), options, std::move(context));
  client.before = client.looks = std::move(looks);
  expose();
  return &client.layers;
}

void Certificates::reload() {
  const std::lock_guard lock(mutex_);
  if (settings_) reload_locked();
  for (Client& client : clients_) reload_client(client);
}

void Certificates::reload_client(Client& client) {
  client.looks = look_at(files_of(client.options));
  Result<tls::ClientContext> context = tls::ClientContext::make(client.options);
  client.is_last_good = context.is_ok();
  (context ? good_ : bad_).add();
  if (!context) {
    certificates_logger().error("certificates of a client could not be loaded; the previous ones are still in use",
                                context.error(), log::field("key", client.key));
    return;
  }
  warn_of_chain(client.options.certificate.certificate_file, context->chain_problem());
  client.expiries = context->expiries();
  client.layers.set_context(*std::move(context));
  expose();
  certificates_logger().info("the certificates of a client were loaded", log::field("key", client.key));
}

void Certificates::reload_locked() {
  if (Result<> loaded = load_locked(registrar_.now().network.https); !loaded) {
    certificates_logger().error("certificates could not be loaded; the previous ones are still in use", loaded.error());
    return;
  }
  for (const tls::CertificateFacts& facts : facts_) {
    certificates_logger().info("certificate loaded", log::field("certificate", name_of(facts)),
                               log::field("for", facts.names), log::field("until", day_of(facts.valid_until)));
  }
}

Result<> Certificates::check_time() {
  const std::lock_guard lock(mutex_);
  const std::int64_t now = calendar_seconds();
  for (const tls::CertificateFacts& facts : facts_) {
    if (now < facts.valid_until - warning_seconds) continue;
    const char* const verb = now < facts.valid_until ? " expires on " : " expired on ";
    return Error::text(Code::Unavailable, "the certificate " + name_of(facts) + verb + day_of(facts.valid_until));
  }
  for (const tls::CertificateFacts& facts : facts_) {
    if (!facts.ocsp_problem.empty()) return Error::text(Code::Unavailable, facts.ocsp_problem);
    if (facts.ocsp_until != 0 && now >= facts.ocsp_until) {
      return Error::text(Code::Unavailable, "the OCSP response for the certificate " + name_of(facts) +
                                                " was valid until " + day_of(facts.ocsp_until) +
                                                ": no OCSP response is sent to clients");
    }
  }
  KEEL_TRY_VOID(check_time_of(expiries_, now));
  for (const Client& client : clients_) {
    if (auto good = check_time_of(client.expiries, now); !good) {
      return std::move(good).error().because(client.key);
    }
  }
  return {};
}

void Certificates::add_module() {
  const NetworkSettings& network = registrar_.settings.network;
  const auto has_files = [](const ClientSettings& client) {
    return !client.roots.empty() || !client.revoked.empty() || !client.certificate.empty();
  };
  const auto is_of_pool = [](const MessagePoolSettings& pool) {
    return !pool.roots.empty() || !pool.revoked.empty() || !pool.certificate.empty();
  };
  if (!settings_ && std::ranges::none_of(network.clients | std::views::values, has_files) &&
      std::ranges::none_of(network.pools | std::views::values, is_of_pool)) {
    return;
  }
  registrar_.add({.name = "certificates",
                  .start = [this]() -> Result<> {
                    start();
                    return {};
                  },
                  .stop = [this] { stop(); }});
}

void Certificates::start() {
  check_ = registrar_.health.add({.name = "certificates", .degrades = true}, [this] { return check_time(); });
  // In a simulation, files do not change.
  if (!registrar_.platform.is_simulated()) {
    thread_ = Host::system().start_thread("certificates", [this] { watch(); });
  }
}

void Certificates::stop() {
  check_ = {};
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_one();
  if (thread_ != nullptr) thread_->join();
  thread_.reset();
}

void Certificates::watch() {
  std::unique_lock lock(mutex_);
  std::vector<Look> before;
  for (int looks = 1; !wake_.wait_for(lock, look_pause, [this] { return is_stopping_; }); ++looks) {
    // Loading is tried again from time to time, because the problem may have disappeared without a change of the files;
    // for example, a certificate may have become valid.
    const bool retries = looks % looks_of_a_retry == 0;
    if (settings_) {
      std::vector<Look> now = look_at(files_of(registrar_.now().network.https));
      const bool must_load = now != looks_ || (!is_last_good_ && retries);
      if (must_load && now == before) reload_locked();
      before = std::move(now);
    }
    for (Client& client : clients_) {
      std::vector<Look> now = look_at(files_of(client.options));
      const bool must_load = now != client.looks || (!client.is_last_good && retries);
      if (must_load && now == client.before) reload_client(client);
      client.before = std::move(now);
    }
  }
}

}  // namespace keel::app::internal
