#include "keel/db/postgres/database_metrics.h"

#include <string_view>

#include "keel/db/pool_metrics.h"
#include "keel/db/postgres/database.h"
#include "keel/observe/metric.h"

namespace keel::db::postgres {
namespace {

struct PostgresMeasure {
  std::string_view name;
  std::string_view help;
  double (*of)(const DatabaseStats& stats);
};

using Stats = DatabaseStats;
double number(std::uint64_t value) { return static_cast<double>(value); }

constexpr PostgresMeasure postgres_measures[] = {
    {"db_refused_total",
     "Statements that failed immediately because too many were waiting or no server could be reached",
     [](const Stats& s) { return number(s.refused); }},
    {"db_connects_total", "Connections begun", [](const Stats& s) { return number(s.connects); }},
    {"db_connect_failures_total", "Attempts to connect that failed",
     [](const Stats& s) { return number(s.connect_failures); }},
    {"db_connections_lost_total", "Connections that ended while they were in use",
     [](const Stats& s) { return number(s.lost); }},
    {"db_connections_retired_total", "Connections replaced because of their age",
     [](const Stats& s) { return number(s.retired); }},
    {"db_reads_total", "Completed statements that only read", [](const Stats& s) { return number(s.reads); }},
    {"db_writes_total", "Completed statements that may write", [](const Stats& s) { return number(s.writes); }},
    {"db_groups_total", "Groups of statements sent with one Sync", [](const Stats& s) { return number(s.groups); }},
    {"db_repeated_total", "Statements sent again because the server had not executed them",
     [](const Stats& s) { return number(s.repeated); }},
    {"db_failures_total", "Statements that the server rejected", [](const Stats& s) { return number(s.failures); }},
    {"db_disk_errors_total", "Statements that failed because the server's disk was full or failed",
     [](const Stats& s) { return number(s.disk_errors); }},
    {"db_write_checks_failed_total",
     "Health checks that failed because the server still could not write after a failed statement",
     [](const Stats& s) { return number(s.checks_failed); }},
    {"db_cancels_total", "Statements cancelled at the server", [](const Stats& s) { return number(s.cancels); }},
    {"db_prepared_total", "Statements prepared", [](const Stats& s) { return number(s.prepared); }},
    {"db_transactions_total", "Interactive transactions begun", [](const Stats& s) { return number(s.transactions); }},
    {"db_transactions_expired_total", "Transactions rolled back because they kept a connection for too long",
     [](const Stats& s) { return number(s.expired); }},
};

}  // namespace

std::vector<metrics::GaugeFunction> expose(const Database& database, metrics::Registry& registry) {
  std::vector<metrics::GaugeFunction> exposed = expose_pool(database, registry);
  for (const PostgresMeasure& measure : postgres_measures) {
    auto read = [&database, of = measure.of] { return of(database.stats()); };
    exposed.push_back(registry.counter(measure.name, measure.help, {}, read));
  }
  return exposed;
}

}  // namespace keel::db::postgres
