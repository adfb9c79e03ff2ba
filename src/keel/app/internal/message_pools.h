// keel/app/internal/message_pools.h — the App's pools of connections for messages; each pool is a lazy module "messages
// NAME".
//
// Threads: call add() and get() on any thread, and warn_of_unknown() on the main thread. telemetry/admin_pages.h says
//          on which threads the functions of pages run.

#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/app/health.h"
#include "keel/app/internal/certificates.h"
#include "keel/app/internal/registrar.h"
#include "keel/app/internal/resolvers.h"
#include "keel/app/internal/workers.h"
#include "keel/net/messages/metrics.h"
#include "keel/net/messages/shared_pool.h"
#include "keel/telemetry/admin_pages.h"

namespace keel::app::internal {

class MessagePools {
 public:
  MessagePools(const Registrar& registrar, Workers& workers, Resolvers& resolvers, Certificates& certificates)
      : registrar_(registrar), workers_(workers), resolvers_(resolvers), certificates_(certificates) {}
  MessagePools(const MessagePools&) = delete;
  MessagePools& operator=(const MessagePools&) = delete;

  // Adds the module that makes the pool, and returns its name. A name that another pool already uses is a bug.
  // InvalidArgument: the pool has no endpoints, or an endpoint is malformed. The other errors are those of
  // tls::ClientContext::make().
  Result<std::string> add(std::string_view name, messages::PoolOptions&& options);
  // Returns the pool `name`; its module must be running.
  messages::SharedPool& get(std::string_view name) const;
  // Logs a warning for each section of network.pools whose pool the application does not use.
  void warn_of_unknown() const;
  // Adds the page /admin/message_pools if a pool exists.
  void add_pages(telemetry::AdminPages& pages);

 private:
  struct Entry {
    std::string name;
    messages::PoolOptions options;
    std::optional<messages::MessageMetrics> metrics;
    std::unique_ptr<messages::SharedPool> pool;
    std::vector<std::vector<metrics::GaugeFunction>> gauges;  // By worker.
    Health::Check check;
  };
  const Entry* find(std::string_view name) const noexcept;
  Result<> configure(Entry& entry);
  void start(Entry& entry);
  void expose(Entry& entry, const messages::Pool& pool, std::vector<metrics::GaugeFunction>& gauges) const;
  void stop(Entry& entry);
  void write_json(Buffer& out);
  void write_text(Buffer& out);

  const Registrar& registrar_;
  Workers& workers_;
  Resolvers& resolvers_;
  Certificates& certificates_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace keel::app::internal
