#include "keel/db/pool_metrics.h"

#include <string_view>

#include "keel/db/database.h"
#include "keel/observe/metric.h"

namespace keel::db {
namespace {

struct PoolMeasure {
  metrics::Kind kind;
  std::string_view name;
  std::string_view help;
  double (*of)(const PoolStats& stats);
};

double number(std::uint64_t value) { return static_cast<double>(value); }

constexpr PoolMeasure pool_measures[] = {
    {metrics::Kind::Gauge, "db_connections", "Connections to the database",
     [](const PoolStats& s) { return number(s.connections); }},
    {metrics::Kind::Gauge, "db_connections_in_use", "Connections on which a statement or a transaction is running",
     [](const PoolStats& s) { return number(s.in_use); }},
    {metrics::Kind::Gauge, "db_waiting", "Statements that are waiting for a connection",
     [](const PoolStats& s) { return number(s.waiting); }},
    {metrics::Kind::Counter, "db_waits_total", "Statements that had to wait for a connection",
     [](const PoolStats& s) { return number(s.waits); }},
    {metrics::Kind::Counter, "db_wait_seconds_total",
     "Waiting time of statements for a connection, summed over all statements",
     [](const PoolStats& s) { return s.wait_time.count_seconds(); }},
    {metrics::Kind::Counter, "db_wait_timeouts_total", "Statements that failed because no connection was free in time",
     [](const PoolStats& s) { return number(s.timeouts); }},
    {metrics::Kind::Gauge, "db_connections_max",
     "Maximum number of connections to the database; 0: there is no fixed limit",
     [](const PoolStats& s) { return number(s.connections_max); }},
    {metrics::Kind::Gauge, "db_wait_max_seconds",
     "Longest wait of a statement for a connection, after which the statement fails",
     [](const PoolStats& s) { return s.wait_max.count_seconds(); }},
    {metrics::Kind::Gauge, "db_connection_age_seconds", "Age of the oldest open connection to the database",
     [](const PoolStats& s) { return s.age.count_seconds(); }},
};

}  // namespace

std::vector<metrics::GaugeFunction> expose_pool(const Database& database, metrics::Registry& registry) {
  std::vector<metrics::GaugeFunction> exposed;
  for (const PoolMeasure& measure : pool_measures) {
    auto read = [&database, of = measure.of] { return of(database.pool()); };
    exposed.push_back(measure.kind == metrics::Kind::Counter ? registry.counter(measure.name, measure.help, {}, read)
                                                             : registry.gauge(measure.name, measure.help, {}, read));
  }
  return exposed;
}

}  // namespace keel::db
