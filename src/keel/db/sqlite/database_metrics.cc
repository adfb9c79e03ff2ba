#include "keel/db/sqlite/database_metrics.h"

#include <string_view>

#include "keel/db/pool_metrics.h"
#include "keel/db/sqlite/database.h"

namespace keel::db::sqlite {
namespace {

struct Measure {
  metrics::Kind kind;
  std::string_view name;
  std::string_view help;
  std::uint64_t (*of)(const DatabaseStats& stats, const DatabaseOptions& options);
};

using S = DatabaseStats;
using O = DatabaseOptions;
constexpr auto total = metrics::Kind::Counter;
constexpr auto gauge = metrics::Kind::Gauge;

constexpr Measure measures[] = {
    {total, "db_writes_total", "Writes committed", [](const S& s, const O&) { return s.writer.writes; }},
    {total, "db_write_groups_total", "Commits; every commit stores a group of writes with one fsync",
     [](const S& s, const O&) { return s.writer.groups; }},
    {total, "db_write_failures_total", "Writes that ended with an error",
     [](const S& s, const O&) { return s.writer.failed; }},
    {total, "db_writes_refused_total", "Writes not queued because the queue was full",
     [](const S& s, const O&) { return s.writer.refused; }},
    {total, "db_transactions_expired_total", "Transactions rolled back because they kept other writes waiting too long",
     [](const S& s, const O&) { return s.writer.expired; }},
    {total, "db_disk_errors_total", "I/O errors and full disks",
     [](const S& s, const O&) { return s.writer.disk_errors; }},
    {total, "db_write_checks_failed_total",
     "Health checks that failed because the database still could not write "
     "after an I/O error or a full disk",
     [](const S& s, const O&) { return s.writer.checks_failed; }},
    {total, "db_checkpoints_total", "Number of times that the whole write-ahead log was moved into the database file",
     [](const S& s, const O&) { return s.writer.checkpoints; }},
    {gauge, "db_wal_pages", "Pages in the write-ahead log after the last commit",
     [](const S& s, const O&) { return s.writer.wal_pages; }},
    {total, "db_backups_total", "Completed backups of the database", [](const S& s, const O&) { return s.backups; }},
    {total, "db_loop_reads_total", "Reads completed on the worker that requested them",
     [](const S& s, const O&) { return s.loop_reads; }},
    {total, "db_pool_reads_total", "Reads completed on the database pool",
     [](const S& s, const O&) { return s.pool_reads; }},
    {total, "db_read_budget_exceeded_total", "Reads interrupted on a worker and run again on the pool",
     [](const S& s, const O&) { return s.budget_exceeded; }},
    {total, "db_snapshots_total", "Read snapshots begun", [](const S& s, const O&) { return s.snapshots; }},
    {total, "db_reads_refused_total", "Reads rejected because too many were waiting for the pool",
     [](const S& s, const O&) { return s.pool_refused; }},
    {gauge, "db_read_transactions", "Read-only transactions that are open",
     [](const S& s, const O&) -> std::uint64_t { return s.read_transactions; }},
    {gauge, "db_read_transaction_age_seconds", "Age of the oldest open read-only transaction",
     [](const S& s, const O&) { return static_cast<std::uint64_t>(s.read_transaction_age.count_seconds()); }},
    {gauge, "db_reads_queued", "Reads waiting for the pool now",
     [](const S& s, const O&) -> std::uint64_t { return s.pool_queued; }},
    {gauge, "db_reads_queued_max", "Maximum number of waiting reads",
     [](const S&, const O& o) -> std::uint64_t { return o.pool_queued_max; }},
    {gauge, "db_writes_queued_max", "Maximum number of waiting writes",
     [](const S&, const O& o) -> std::uint64_t { return o.writer.queued_max; }},
    {gauge, "db_writes_queued", "Writes waiting now",
     [](const S& s, const O&) -> std::uint64_t { return s.writer.queued; }},
};

}  // namespace

std::vector<metrics::GaugeFunction> expose(const Database& database, metrics::Registry& registry) {
  std::vector<metrics::GaugeFunction> exposed = expose_pool(database, registry);
  for (const Measure& measure : measures) {
    auto read = [&database, of = measure.of] { return static_cast<double>(of(database.stats(), database.options())); };
    exposed.push_back(measure.kind == metrics::Kind::Counter ? registry.counter(measure.name, measure.help, {}, read)
                                                             : registry.gauge(measure.name, measure.help, {}, read));
  }
  return exposed;
}

}  // namespace keel::db::sqlite
