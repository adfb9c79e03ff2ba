#include "keel/app/internal/message_pools.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <span>
#include <utility>

#include "keel/app/internal/message_options.h"
#include "keel/base/bug.h"
#include "keel/data/json.h"
#include "keel/observe/log.h"
#include "keel/task/start.h"

namespace keel::app::internal {
namespace {

std::string pool_key_of(std::string_view name) { return "network.pools." + std::string(name); }

// A row of /admin/message_pools: the state of a pool on one worker.
struct PoolRow {
  int worker;
  messages::Pool::Stats stats;
  std::string problem;
};

Task<> check_pool(const messages::SharedPool& pool) {
  const messages::Pool* const here = pool.here();
  Result<> checked;
  if (here != nullptr) checked = here->check();
  co_await std::move(checked);
}

}  // namespace

const MessagePools::Entry* MessagePools::find(std::string_view name) const noexcept {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

// A key that is set in the configuration overrides the application's option.
Result<> MessagePools::configure(Entry& entry) {
  const auto& pools = registrar_.settings.network.pools;
  if (const auto found = pools.find(entry.name); found != pools.end()) {
    const MessagePoolSettings& from = found->second;
    const config::Origins& origins = registrar_.config.origins();
    const auto take = [&](const char* key, const auto& setting, auto& option) {
      if (origins.is_set(pool_key_of(entry.name) + '.' + key)) option = setting;
    };
    each_message_pool_option(from, entry.options, take);
    each_peer_option(from.peer, entry.options.peer, take);
    if (from.tls) {
      const tls::ClientOptions of_tls = {.trust = {.file = from.roots, .revoked_file = from.revoked},
                                         .certificate = {.certificate_file = from.certificate, .key_file = from.key}};
      KEEL_TRY(entry.options.layers, certificates_.add_client(pool_key_of(entry.name), of_tls));
    }
  }
  const std::vector<std::string>& endpoints = entry.options.endpoints;
  if (endpoints.empty()) {
    return fail(Code::InvalidArgument, "endpoints is empty: expected the addresses to connect to, [host:port, ...]");
  }
  for (const std::string& endpoint : endpoints) {
    KEEL_TRY_VOID(messages::Pool::check_endpoint(endpoint).because("endpoints"));
  }
  return {};
}

Result<std::string> MessagePools::add(std::string_view name, messages::PoolOptions&& options) {
  const std::lock_guard lock(mutex_);
  KEEL_EXPECT(find(name) == nullptr, "App::message_pool() can be called only once for each name");
  KEEL_EXPECT(name != "messages", "the server's metrics have the name \"messages\": give the pool another name");
  Entry& entry = entries_.emplace_back();
  entry.name = name;
  entry.options = std::move(options);
  if (Result<> configured = configure(entry); !configured) {
    Error error = std::move(configured).error().because(pool_key_of(name));
    entries_.pop_back();
    return error;
  }
  if (entry.options.metrics == nullptr && registrar_.settings.monitoring.enabled) {
    entry.options.metrics = &entry.metrics.emplace(registrar_.metrics, name);
  }
  std::string module = "messages " + entry.name;
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

messages::SharedPool& MessagePools::get(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const Entry* const entry = find(name);
  KEEL_EXPECT(entry != nullptr && entry->pool != nullptr, "a pool can be used only while its module runs");
  return *entry->pool;
}

void MessagePools::warn_of_unknown() const {
  static const log::Logger log("app");
  const std::lock_guard lock(mutex_);
  for (const auto& [name, settings] : registrar_.settings.network.pools) {
    if (find(name) != nullptr) continue;
    log.warn("the configuration has settings for a pool of connections that the application does not use",
             log::field("key", pool_key_of(name)));
  }
}

void MessagePools::start(Entry& entry) {
  io::Runtime& runtime = workers_.runtime();
  auto pool = std::make_unique<messages::SharedPool>(entry.name, runtime.workers(), entry.options);
  std::vector<std::vector<metrics::GaugeFunction>> gauges(static_cast<std::size_t>(runtime.workers()));
  runtime.each([&](io::Loop& loop) {
    pool->attach(resolvers_.of(loop));
    if (registrar_.settings.monitoring.enabled) {
      expose(entry, *pool->here(), gauges[static_cast<std::size_t>(loop.index())]);
    }
  });
  const std::lock_guard lock(mutex_);
  entry.pool = std::move(pool);
  entry.gauges = std::move(gauges);
  entry.check = registrar_.health.add({.name = "messages " + entry.name, .degrades = true}, runtime.loop(0),
                                      [&shared = *entry.pool] { return check_pool(shared); });
}

void MessagePools::expose(Entry& entry, const messages::Pool& pool, std::vector<metrics::GaugeFunction>& gauges) const {
  metrics::Registry& registry = registrar_.metrics;
  const messages::Pool* const p = &pool;
  const metrics::Label of_pool{"name", entry.name};
  const metrics::Labels labels(std::span<const metrics::Label>(&of_pool, 1));
  const auto here = metrics::Calls::OnThisThread;
  gauges.push_back(registry.gauge(
      "messages_pool_targets", "Addresses of a pool, for each worker", labels,
      [p] { return static_cast<double>(p->stats().targets); }, here));
  gauges.push_back(registry.gauge(
      "messages_pool_ejected", "Addresses of a pool that are temporarily excluded because they failed", labels,
      [p] { return static_cast<double>(p->stats().ejected); }, here));
  gauges.push_back(registry.gauge(
      "messages_pool_outstanding", "Requests of a pool that are waiting for their replies", labels,
      [p] { return static_cast<double>(p->stats().outstanding); }, here));
  gauges.push_back(registry.counter(
      "messages_pool_retries_total", "Requests of a pool that were retried", labels,
      [p] { return static_cast<double>(p->stats().retries); }, here));
  gauges.push_back(registry.counter(
      "messages_pool_connect_failures_total", "Failed attempts of a pool to connect", labels,
      [p] { return static_cast<double>(p->stats().failed); }, here));
}

// All requests have ended at this point, because their senders stop before the pool. One-way messages may still be
// queued at this point.
void MessagePools::stop(Entry& entry) {
  entry.check = {};
  io::Runtime& runtime = workers_.runtime();
  struct Closing : Start<void> {
    std::atomic<bool> is_over = true;
  };
  std::vector<std::unique_ptr<Closing>> closing(static_cast<std::size_t>(runtime.workers()));
  runtime.each([&](io::Loop& loop) {
    auto& one = closing[static_cast<std::size_t>(loop.index())];
    one = std::make_unique<Closing>();
    one->is_over = false;
    const bool has_ended = one->begin(entry.pool->here()->close(),
                                      [](StartCore& core) noexcept { static_cast<Closing&>(core).is_over = true; });
    if (has_ended) one->is_over = true;
  });
  runtime.wait_until([&] { return std::ranges::all_of(closing, [](const auto& one) { return one->is_over.load(); }); },
                     Duration::forever());
  const std::lock_guard lock(mutex_);
  runtime.each([&](io::Loop& loop) {
    const auto worker = static_cast<std::size_t>(loop.index());
    closing[worker].reset();
    entry.gauges[worker].clear();
    entry.pool->detach();
  });
}

void MessagePools::add_pages(telemetry::AdminPages& pages) {
  const std::lock_guard lock(mutex_);
  if (entries_.empty()) return;
  pages.add({.path = "/admin/message_pools",
             .json = [this](Buffer& out) { write_json(out); },
             .text = [this](Buffer& out) { write_text(out); },
             .waits = !registrar_.platform.is_simulated()});
}

namespace {

std::vector<PoolRow> pool_rows(io::Runtime& runtime, const messages::SharedPool& shared) {
  std::vector<PoolRow> rows;
  runtime.each([&](io::Loop& loop) {
    const messages::Pool* const pool = shared.here();
    if (pool == nullptr) return;
    const Result<> good = pool->check();
    rows.push_back({loop.index(), pool->stats(), good ? std::string() : good.error().describe()});
  });
  return rows;
}

}  // namespace

void MessagePools::write_json(Buffer& out) {
  json::Writer json(out);
  const std::lock_guard lock(mutex_);
  json.begin_object().key("pools").begin_array();
  for (const Entry& entry : entries_) {
    json.begin_object().key("name").string(entry.name).key("endpoints").begin_array();
    for (const std::string& endpoint : entry.options.endpoints) json.string(endpoint);
    json.end_array().key("tls").boolean(entry.options.layers != nullptr).key("workers").begin_array();
    if (entry.pool != nullptr) {
      for (const PoolRow& row : pool_rows(workers_.runtime(), *entry.pool)) {
        json.begin_object().key("worker").integer(row.worker).key("targets").unsigned_integer(row.stats.targets);
        json.key("ejected").unsigned_integer(row.stats.ejected);
        json.key("connections").unsigned_integer(row.stats.connections);
        json.key("outstanding").unsigned_integer(row.stats.outstanding);
        json.key("retries").unsigned_integer(row.stats.retries);
        json.key("connected").unsigned_integer(row.stats.connected);
        json.key("failed").unsigned_integer(row.stats.failed).key("problem").string(row.problem).end_object();
      }
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

void MessagePools::write_text(Buffer& out) {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    out.append(fmt::format("{}{}\n", entry.name, entry.options.layers != nullptr ? " (TLS)" : ""));
    if (entry.pool == nullptr) continue;
    for (const PoolRow& row : pool_rows(workers_.runtime(), *entry.pool)) {
      out.append(
          fmt::format("  worker {}: {} targets, {} left out, {} connections, {} outstanding, {} retries, {} failed to "
                      "connect{}{}\n",
                      row.worker, row.stats.targets, row.stats.ejected, row.stats.connections, row.stats.outstanding,
                      row.stats.retries, row.stats.failed, row.problem.empty() ? "" : ": ", row.problem));
    }
  }
}

}  // namespace keel::app::internal
