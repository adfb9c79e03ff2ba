// keel/app/internal/clients.h — the HTTP clients of an App; each client is a lazy module "client NAME".
//
// Threads: call add() and get() on any thread, and warn_of_unknown() on the main thread.

#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "keel/app/internal/certificates.h"
#include "keel/app/internal/registrar.h"
#include "keel/app/internal/resolvers.h"
#include "keel/app/internal/workers.h"
#include "keel/http/client/shared_client.h"
#include "keel/net/tls/layer.h"

namespace keel::app::internal {

class Clients {
 public:
  Clients(const Registrar& registrar, Workers& workers, Resolvers& resolvers, Certificates& certificates)
      : registrar_(registrar), workers_(workers), resolvers_(resolvers), certificates_(certificates) {}
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  // Adds the module that makes the client, and returns its name. A name that another client already uses is a bug.
  // InvalidArgument: the base_url or the proxy of the client is invalid. The other errors are those of
  // tls::ClientContext::make().
  Result<std::string> add(http::ClientOptions options);
  // Returns the client `name`; its module must be running.
  http::SharedClient& get(std::string_view name) const;
  // Logs a warning for each section of network.clients whose client the application does not use.
  void warn_of_unknown() const;

 private:
  // TLS with the roots of the system, which are read when https is first used; reading them takes some milliseconds.
  class SystemTrust final : public TransportLayers {
    Result<Endpoint> put_over(Endpoint plain, std::string_view host, std::string_view received) override;

    std::mutex mutex_;
    std::optional<tls::Layers> layers_;
  };
  struct Entry {
    http::ClientOptions options;
    std::unique_ptr<http::SharedClient> client;
  };
  const Entry* find(std::string_view name) const noexcept;
  // Returns the layers that use the certificate files named by the client's settings, or null.
  Result<TransportLayers*> configure(http::ClientOptions& options);
  void start(Entry& entry);
  void stop(Entry& entry);

  const Registrar& registrar_;
  Workers& workers_;
  Resolvers& resolvers_;
  Certificates& certificates_;
  SystemTrust system_trust_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace keel::app::internal
