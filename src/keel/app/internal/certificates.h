// keel/app/internal/certificates.h — the certificates of an App's listeners that have TLS: the module "certificates".
//
// All have those that network.https names. Whose certificates they want of clients is each one's own; so are the keys
// of its tickets, for a session of one is none of another.
//
// Files that change are loaded again, as they are on a reload of the configuration: what is new is checked first, and
// connections that begin afterwards get it. What is wrong leaves the certificates as they were, and is logged. How long
// they are valid is a metric, and a check of the health that degrades from a week before they expire. So it is with
// their OCSP responses, but that one that is wrong is left out, and degrades at its end.
//
// Threads: made and destroyed on the main thread; load() and reload() on any, one at a time; a thread of its own looks
// at the files, and the layers are used by the workers.

#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
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

  enum Listener : std::uint8_t { Service, Admin, Probes };

  // With what `https` names, which is on; no effect where it is what was loaded. Errors: those of
  // tls::ServerContext::make(), and nothing has changed.
  Result<> load(const HttpsSettings& https);
  // Again, and logs what came of it; before load(): no effect.
  void reload();
  // After load(); of those for operators, where monitoring says that they have TLS.
  TransportLayers& layers(Listener of) noexcept { return *layers_[of]; }
  // The keys of the service's tickets for a successor: a secret; empty: it gets none, for clients have certificates, or
  // there are no tickets.
  std::string save_tickets();
  // Of a predecessor, whose sessions are resumed then, unless clients have certificates. Before the service listens.
  void adopt_tickets(std::string_view saved);
  // Adds the module that looks at the files, after load().
  void add_module();

 private:
  // What a file was when it was looked at.
  struct Look {
    std::string file;
    std::int64_t changed_ns = 0;  // 0: it is not there.
    std::int64_t bytes = 0;
    std::uint64_t inode = 0;
    bool operator==(const Look&) const = default;
  };
  std::vector<Look> look_at(const HttpsSettings& https) const;
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
  std::array<std::optional<tls::Layers>, 3> layers_;  // By Listener.
  std::optional<tls::TicketKeys> ticket_keys_;
  std::vector<tls::CertificateFacts> facts_;
  std::vector<metrics::GaugeFunction> expiries_;
  std::optional<HttpsSettings> settings_;  // The settings that the certificates were loaded with.
  std::vector<Look> looks_;                // The state of the files at the last attempt to load.
  bool is_last_good_ = true;               // The result of that attempt.
  Health::Check check_;
  std::condition_variable wake_;
  bool is_stopping_ = false;
  std::unique_ptr<Thread> thread_;
};

}  // namespace keel::app::internal
