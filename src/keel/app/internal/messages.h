// keel/app/internal/messages.h — the server of an App for messages and sessions: the module "messages".
//
// Each worker has its own listeners, messages::Server and, if there are sessions, sessions::Server; all workers share
// one registry of sessions.
//
// Threads:  construct the Messages, give it its handlers and destroy it on the main thread; call address() on any
//           thread. telemetry/admin_pages.h says on which threads the functions of pages run.
// Lifetime: the handlers must outlive the module.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "keel/app/health.h"
#include "keel/app/internal/addresses.h"
#include "keel/app/internal/certificates.h"
#include "keel/app/internal/registrar.h"
#include "keel/app/internal/succession.h"
#include "keel/app/internal/workers.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/metrics.h"
#include "keel/net/messages/server.h"
#include "keel/net/sessions/registry.h"
#include "keel/net/sessions/server.h"
#include "keel/telemetry/admin_pages.h"

namespace keel::app::internal {

class Messages {
 public:
  Messages(const Registrar& registrar, Workers& workers, Succession& succession, Certificates& certificates,
           Addresses& addresses);
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  ~Messages();

  // A key that is set in the configuration overrides `options`. Call each of these functions at most once (checked).
  // InvalidArgument: network.messages.address is malformed. The other errors are those of Certificates::load().
  Result<> serve(const messages::Handlers& handlers, messages::ServerOptions&& options);
  Result<sessions::Registry*> serve(const sessions::Handlers& handlers, sessions::ServerOptions&& options);

  bool is_served() const noexcept { return is_served_; }
  // The address at which the server listens while the module runs; before the module runs, the configured address.
  Address address() const;
  // "127.0.0.1:7000", "127.0.0.1:7000 (TLS)", "unix:/run/devices.sock"
  std::string place() const;
  // The number of connections that the server accepts; 0 when no messages are served.
  std::size_t connections_max() const noexcept { return is_served_ ? options_.connections_max : 0; }
  // How long the module may take to stop.
  Duration drain_timeout() const noexcept { return is_served_ ? limits_.drain : Duration(); }

  void add_module();
  // Adds the listening sockets, which a successor process may take over.
  void share(std::vector<Succession::Shared>& servers);
  // Adds the pages /admin/messages and, if there are sessions, /admin/sessions.
  void add_pages(telemetry::AdminPages& pages);

 private:
  struct OnWorker;
  // The options that the configuration sets and a reload can change.
  struct Limits {
    messages::PeerOptions peer;
    std::size_t connections_max = 0;  // Of all workers.
    Duration drain;
    sessions::SessionOptions session;
    Duration expiry;
    std::size_t sessions_max = 0;
  };
  template <class F>
  static void each_option(const MessagesSettings& from, Limits& to, F f);
  // The limits at the start, with the values of all keys that have changed since then, so that a reload that is rolled
  // back restores the old values.
  Limits limits_of(const MessagesSettings& now) const;
  void change(const MessagesSettings& now);
  std::size_t connections_max_of_worker() const noexcept;
  Result<> prepare();
  Result<> start();
  // Starts the server of the loop's worker, and adds the server to `started`.
  Result<> begin(io::Loop& loop, const std::vector<int>& inherited, std::vector<std::unique_ptr<OnWorker>>& started);
  messages::ServerOptions options_on(OnWorker& worker) const;
  void stop();
  Result<> check() const;
  std::vector<int> duplicate_listeners();
  // Calls f(OnWorker&) on each worker that runs a server.
  template <class F>
  void each(F f);
  void write_json(Buffer& out);
  void write_text(Buffer& out);

  const Registrar& registrar_;
  Workers& workers_;
  Succession& succession_;
  Certificates& certificates_;
  Addresses& addresses_;
  const messages::Handlers no_handlers_;
  const messages::Handlers* handlers_ = nullptr;
  const sessions::Handlers* session_handlers_ = nullptr;
  messages::ServerOptions options_;
  sessions::ServerOptions session_options_;
  std::optional<messages::MessageMetrics> metrics_;
  std::unique_ptr<sessions::Registry> registry_;
  Limits limits_at_start_, limits_;
  bool is_served_ = false;
  bool is_kept_ = false;
  // Handlers read the address, so no thread may hold this lock while that thread waits for a worker.
  mutable std::mutex address_mutex_;
  Address address_;                                    // Set by serve().
  mutable std::mutex mutex_;                           // Guards on_workers_, also while each() calls `f`.
  std::vector<std::unique_ptr<OnWorker>> on_workers_;  // While the module runs, one element for each worker.
  // Whether a worker has stopped accepting connections after an error.
  std::atomic<bool> has_failed_ = false;
  Health::Check check_;
  config::Applier applier_;
};

}  // namespace keel::app::internal
