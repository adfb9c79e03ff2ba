// keel/app/internal/service.h — the HTTP servers for the router that an App serves: the module "http".
//
// The plain-text server serves the router; with network.https.plain_http, it redirects to the other server instead, or
// does not exist. The other server has TLS; it exists only if network.https names a certificate.
//
// Threads: make the Service, give it its router and destroy it on the main thread.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "keel/app/internal/addresses.h"
#include "keel/app/internal/certificates.h"
#include "keel/app/internal/registrar.h"
#include "keel/app/internal/succession.h"
#include "keel/app/internal/workers.h"
#include "keel/http/server/router.h"
#include "keel/http/server/server.h"
#include "keel/telemetry/admin_pages.h"

namespace keel::app::internal {

class Service {
 public:
  Service(const Registrar& registrar, Workers& workers, Succession& succession, Certificates& certificates,
          Addresses& addresses);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Creates the servers. Errors: network.http.address is not an address, or a file that network.https names is invalid.
  Result<> serve(const http::Router& router);
  // The server of the router: the plain-text server if it exists, otherwise the server with TLS. Null without serve().
  http::Server* server() noexcept;
  // "http://127.0.0.1:8080", "https://127.0.0.1:8443", "unix:/run/service.sock": the addresses of all servers that
  // listen.
  std::vector<std::string> urls() const;

  // Adds the modules. The servers start last, because requests that they have accepted would be lost if another module
  // could not start afterwards. The servers stop first.
  void add_module();
  // Logs each limit in the settings that is higher than the system allows. `message_connections`: how many connections
  // for messages the App accepts.
  void check_limits(std::uint64_t message_connections);
  // Adds the servers' sockets, which a successor may take over.
  void share(std::vector<Succession::Shared>& servers);
  // Returns false if requests were aborted at network.http.drain_timeout.
  bool is_drained() const noexcept { return is_drained_; }
  // Calls Server::stop() of all servers.
  void stop();
  // Adds the page /admin/stages if a server exists.
  void add_pages(telemetry::AdminPages& pages);

 private:
  struct Part {
    const char* name;
    const char* section;
    std::unique_ptr<http::Server> server = nullptr;
    bool is_kept = false;
  };
  void make(Part& part, const http::Router& router, http::ServerOptions options);
  Result<> start();
  void drain();
  std::vector<http::RouteStages> stage_times();
  template <class F>
  void each(F f) {
    for (Part* const part : {&plain_, &secure_}) {
      if (part->server != nullptr) f(*part);
    }
  }

  const Registrar& registrar_;
  Workers& workers_;
  Succession& succession_;
  const std::uint64_t descriptors_max_;
  Certificates& certificates_;
  Addresses& addresses_;
  http::Router redirecting_;
  Part plain_{.name = "http", .section = "network.http"};
  Part secure_{.name = "https", .section = "network.https"};
  bool is_drained_ = true;
  config::Applier applier_;
};

}  // namespace keel::app::internal
