#include "keel/app/internal/database_metrics.h"

namespace keel::app::internal {

std::vector<metrics::GaugeFunction> expose(db::Database& database, const DatabaseSettings& settings,
                                           metrics::Registry& registry) {
  std::vector<metrics::GaugeFunction> exposed;
  const auto total = [&](std::string_view name, std::string_view help, auto read) {
    exposed.push_back(
        registry.counter(name, help, {}, [&database, read] { return static_cast<double>(read(database.stats())); }));
  };
  total("db_writes_total", "Writes committed", [](const db::DatabaseStats& s) { return s.writer.writes; });
  total("db_write_groups_total", "Commits: groups of writes with one fsync",
        [](const db::DatabaseStats& s) { return s.writer.groups; });
  total("db_write_failures_total", "Writes that ended with an error",
        [](const db::DatabaseStats& s) { return s.writer.failed; });
  total("db_writes_refused_total", "Writes not queued because the queue was full",
        [](const db::DatabaseStats& s) { return s.writer.refused; });
  total("db_disk_errors_total", "I/O errors and full disks",
        [](const db::DatabaseStats& s) { return s.writer.disk_errors; });
  total("db_loop_reads_total", "Reads completed on the worker that asked",
        [](const db::DatabaseStats& s) { return s.loop_reads; });
  total("db_pool_reads_total", "Reads completed on the database pool",
        [](const db::DatabaseStats& s) { return s.pool_reads; });
  total("db_read_budget_exceeded_total", "Reads interrupted on a worker and run again on the pool",
        [](const db::DatabaseStats& s) { return s.budget_exceeded; });
  total("db_snapshots_total", "Read snapshots begun", [](const db::DatabaseStats& s) { return s.snapshots; });
  const auto gauge = [&](std::string_view name, std::string_view help, auto read) {
    exposed.push_back(
        registry.gauge(name, help, {}, [&database, read] { return static_cast<double>(read(database.stats())); }));
  };
  total("db_reads_refused_total", "Reads not run because too many waited for the pool",
        [](const db::DatabaseStats& s) { return s.pool_refused; });
  gauge("db_reads_queued", "Reads waiting for the pool now", [](const db::DatabaseStats& s) { return s.pool_queued; });
  gauge("db_reads_queued_max", "Reads that may wait",
        [max = db::DatabaseOptions().pool_queued_max](const db::DatabaseStats&) { return max; });
  gauge("db_writes_queued_max", "Writes that may wait",
        [max = settings.queue_max](const db::DatabaseStats&) { return max; });
  exposed.push_back(registry.gauge("db_writes_queued", "Writes waiting now", {},
                                   [&database] { return static_cast<double>(database.stats().writer.queued); }));
  return exposed;
}

}  // namespace keel::app::internal
