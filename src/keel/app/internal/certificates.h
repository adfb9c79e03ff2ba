// keel/app/internal/certificates.h — the certificates of an App's listeners and clients that have TLS: the module
// "certificates".
//
// All listeners with TLS use the certificates that network.https names. Each listener has its own rules for client
// certificates, and its own ticket keys, because a session of one listener must not be valid at another listener.
//
// Files that have changed are loaded again; a reload of the configuration loads all files again. New files are checked
// before they are used; connections that begin afterwards use the new files. If a file is invalid, the error is logged,
// and the previous certificates stay in use. If only an OCSP response is invalid, the new certificates are used without
// this response.
//
// A metric shows when each certificate, OCSP response, issuer, root and revocation list expires. The health degrades
//
//   for a certificate       from a week before it expires
//   for an OCSP response    when it expires
//   for a revocation list   when nine tenths of its time have passed
//   for one of several      from a week before it expires until a week afterwards
//   roots of a file
//
// Threads: make and destroy the Certificates on the main thread; call load(), add_client() and reload() on any thread,
//          but only one of these functions at a time. A separate thread checks the files, and the workers use the
//          layers.

#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/app/health.h"
#include "keel/app/internal/registrar.h"
#include "keel/base/host.h"
#include "keel/net/tls/layer.h"

namespace keel::app::internal {

class Certificates {
 public:
  explicit Certificates(const Registrar& registrar);
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  enum Listener : std::uint8_t { Service, Admin, Probes, Messages };
  static constexpr std::size_t listeners = 4;

  // Loads the files that `https` names; https must be enabled. Does nothing if the files are already loaded. The errors
  // are those of tls::ServerContext::make(); after an error nothing has changed.
  Result<> load(const HttpsSettings& https);
  // Loads the files that `options` names for the client whose section of the configuration is `key`:
  // network.clients.NAME or network.pools.NAME. The layers exist as long as the Certificates. The errors are those of
  // tls::ClientContext::make().
  Result<TransportLayers*> add_client(std::string key, const tls::ClientOptions& options);
  // Loads the files again and logs the result; until load() is called, only the files of clients.
  void reload();
  // Call these functions after load(); the listeners for operators and for messages have layers only if their settings
  // enable TLS.
  TransportLayers& layers(Listener of) noexcept { return *layers_[of]; }
  // The ticket keys of the service, which are a secret, for a successor. Empty when a successor must get no keys,
  // because the service verifies client certificates or tickets are off.
  std::string save_tickets();
  // Takes over the ticket keys of a predecessor, so that clients can resume its sessions; does nothing if the service
  // verifies client certificates. Call this function before the service listens.
  void adopt_tickets(std::string_view saved);
  // Adds the module that checks the files, if the configuration names files; call this function after load().
  void add_module();

 private:
  // The state of a file at a check.
  struct Look {
    std::string file;
    std::int64_t changed_ns = 0;  // 0 if the file does not exist.
    std::int64_t bytes = 0;
    std::uint64_t inode = 0;
    bool operator==(const Look&) const = default;
  };
  // A client with certificate files of its own.
  struct Client {
    Client(std::string section, const tls::ClientOptions& from, tls::ClientContext context)
        : key(std::move(section)), options(from), expiries(context.expiries()), layers(std::move(context)) {}
    std::string key;
    tls::ClientOptions options;
    std::vector<tls::Expiry> expiries;
    tls::Layers layers;
    std::vector<Look> looks;   // The state of the files at the last attempt to load them.
    std::vector<Look> before;  // The state of the files at the last check.
    bool is_last_good = true;
  };
  static std::vector<Look> look_at(const std::vector<std::string>& files);
  static std::vector<std::string> files_of(const tls::ClientOptions& options);
  std::vector<std::string> files_of(const HttpsSettings& https) const;
  void reload_client(Client& client);
  bool shares_tickets() const;
  Result<> load_locked(const HttpsSettings& https);
  void reload_locked();
  void expose();
  Result<> check_time();
  void watch();
  void start();
  void stop();

  const Registrar& registrar_;
  metrics::Counter good_, bad_;
  std::mutex mutex_;
  std::array<std::optional<tls::Layers>, listeners> layers_;  // Indexed by Listener.
  std::optional<tls::TicketKeys> ticket_keys_;
  std::vector<tls::CertificateFacts> facts_;
  std::vector<tls::Expiry> expiries_;  // Of the listeners.
  std::list<Client> clients_;
  std::vector<metrics::GaugeFunction> gauges_;
  std::optional<HttpsSettings> settings_;  // The settings with which the certificates were loaded.
  std::vector<Look> looks_;                // The state of the files at the last attempt to load them.
  bool is_last_good_ = true;               // The result of the last attempt to load the files.
  Health::Check check_;
  std::condition_variable wake_;
  bool is_stopping_ = false;
  std::unique_ptr<Thread> thread_;
};

}  // namespace keel::app::internal
