// keel/app/internal/certificates.h — the certificates of an App's listeners and clients that have TLS: the module
// "certificates".
//
// All of these listeners use the certificates that network.https names. Each listener has its own rules for client
// certificates, and its own ticket keys, because a session of one listener must not be valid at another.
//
// Files that have changed are loaded again, as all files are at a reload of the configuration: new files are checked
// first, and connections that begin afterwards use them. An invalid file is logged, and the previous certificates stay
// in use; an invalid OCSP response is left out.
//
// The expiry time of each certificate, OCSP response, issuer, root and revocation list is a metric. The health degrades
//
//   for a certificate       from a week before it expires
//   for an OCSP response    when it expires
//   for a revocation list   when nine tenths of its time have passed
//   for one of several      from a week before it expires until a week afterwards
//   roots of a file
//
// Threads: made and destroyed on the main thread; load(), add_client() and reload() on any, one at a time; a separate
//          thread checks the files, and the workers use the layers.

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

  // Loads the files that `https` names; https must be enabled. No effect if they are already loaded. Errors are those
  // of tls::ServerContext::make(), and change nothing.
  Result<> load(const HttpsSettings& https);
  // Loads the files that `options` names for the client whose section of the configuration is `key`:
  // network.clients.NAME or network.pools.NAME. The layers live as long as the Certificates. Errors are those of
  // tls::ClientContext::make().
  Result<TransportLayers*> add_client(std::string key, const tls::ClientOptions& options);
  // Loads the files again and logs the result; no effect on listeners before load().
  void reload();
  // Call it after load(); the listeners for operators and for messages have layers only if their settings enable TLS.
  TransportLayers& layers(Listener of) noexcept { return *layers_[of]; }
  // The ticket keys of the service, a secret, for a successor. Empty: a successor gets none, because clients have
  // certificates or tickets are off.
  std::string save_tickets();
  // Takes over the keys of a predecessor, whose sessions can then be resumed, unless clients have certificates. Call it
  // before the service listens.
  void adopt_tickets(std::string_view saved);
  // Adds the module that checks the files, if the configuration names any; call it after load().
  void add_module();

 private:
  // The state of a file when it was checked.
  struct Look {
    std::string file;
    std::int64_t changed_ns = 0;  // 0: the file does not exist.
    std::int64_t bytes = 0;
    std::uint64_t inode = 0;
    bool operator==(const Look&) const = default;
  };
  // A client with files of its own.
  struct Client {
    Client(std::string section, const tls::ClientOptions& from, tls::ClientContext context)
        : key(std::move(section)), options(from), expiries(context.expiries()), layers(std::move(context)) {}
    std::string key;
    tls::ClientOptions options;
    std::vector<tls::Expiry> expiries;
    tls::Layers layers;
    std::vector<Look> looks;   // The state of the files at the last attempt to load.
    std::vector<Look> before;  // The state at the last check.
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
  std::optional<HttpsSettings> settings_;  // The settings that the certificates were loaded with.
  std::vector<Look> looks_;                // The state of the files at the last attempt to load.
  bool is_last_good_ = true;               // The result of that attempt.
  Health::Check check_;
  std::condition_variable wake_;
  bool is_stopping_ = false;
  std::unique_ptr<Thread> thread_;
};

}  // namespace keel::app::internal
