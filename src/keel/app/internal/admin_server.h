// keel/app/internal/admin_server.h — the listeners of an App for operators: the module "admin".
//
// The first listener has all pages; the optional second listener, for requests from outside, has only metrics and
// health.
//
// Threads: make and destroy the AdminServer on the main thread; pages run on the threads that telemetry/admin_pages.h
//          names.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "keel/app/internal/addresses.h"
#include "keel/app/internal/admin_guard.h"
#include "keel/app/internal/certificates.h"
#include "keel/app/internal/registrar.h"
#include "keel/app/internal/succession.h"
#include "keel/app/internal/workers.h"
#include "keel/http/server/router.h"
#include "keel/http/server/server.h"
#include "keel/telemetry/admin_pages.h"

namespace keel::app::internal {

class AdminServer {
 public:
  AdminServer(const Registrar& registrar, Workers& workers, Succession& succession, Certificates& certificates,
              Addresses& addresses)
      : registrar_(registrar),
        workers_(workers),
        succession_(succession),
        certificates_(certificates),
        addresses_(addresses) {}
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  // The pages that the listeners show; add pages before add_module().
  telemetry::AdminPages& pages() noexcept { return pages_; }
  // Adds the module. Errors: monitoring.metrics.export_address or monitoring.probes.address is not an address; with
  // TLS, the errors of the certificates.
  Result<> add_module();
  // Null before add_module(); the second listener is also null if monitoring.probes.address is empty.
  http::Server* server() noexcept { return all_.server.get(); }
  http::Server* probes() noexcept { return probes_.server.get(); }
  // Adds the sockets of the listeners, which a successor may take over.
  void share(std::vector<Succession::Shared>& servers);

  // Starts to listen after a hand-over; the predecessor listens too, until all modules of this process serve.
  Result<> succeed();
  // Call Server::begin_drain() or Server::stop() of both listeners; after begin_drain(), the sockets continue to listen
  // for the successor.
  void begin_drain();
  void stop();

 private:
  struct Part {
    const char* name;
    const char* section;  // The section of the configuration that error messages name.
    const char* keys;     // The prefix of the configuration keys for the listener's address.
    Address address = {};
    http::Router router = {};
    std::unique_ptr<http::Server> server = nullptr;
    bool is_kept = false;
  };
  Result<> make(Part& part, Result<Address> address, telemetry::AdminPages::Which pages, TransportLayers* https);
  Result<> start(Part& part, const Succession::Inherited& inherited);
  template <class F>
  void each(F f) {
    for (Part* const part : {&all_, &probes_}) {
      if (part->server != nullptr) f(*part);
    }
  }

  const Registrar& registrar_;
  Workers& workers_;
  Succession& succession_;
  Certificates& certificates_;
  Addresses& addresses_;
  telemetry::AdminPages pages_;
  const AdminGuard guard_{registrar_.settings.monitoring.metrics.export_names};
  Part all_{.name = "admin", .section = "admin listener (monitoring.metrics)", .keys = "monitoring.metrics.export_"};
  Part probes_{.name = "probes", .section = "listener for probes (monitoring.probes)", .keys = "monitoring.probes."};
};

}  // namespace keel::app::internal
