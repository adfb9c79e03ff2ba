#include "keel/db/postgres/database_metrics.h"

#include <string_view>

#include "keel/db/postgres/database.h"
#include "keel/observe/metric.h"

namespace keel::db::postgres {
namespace {

struct PostgresMeasure {
  metrics::Kind kind;
  std::string_view name;
  std::string_view help;
  double (*of)(const DatabaseStats& stats);
};

using Stats = DatabaseStats;
constexpr auto counter = metrics::Kind::Counter;
constexpr auto level = metrics::Kind::Gauge;
double number(std::uint64_t value) { return static_cast<double>(value); }

constexpr PostgresMeasure postgres_measures[] = {
    {level, "db_connections", "Connections to the database", [](const Stats& s) { return number(s.connections); }},
    {level, "db_connections_in_use", "Connections on which a statement or a transaction is under way",
     [](const Stats& s) { return number(s.in_use); }},
    {level, "db_waiting", "Statements that wait for a connection now",
     [](const Stats& s) { return number(s.waiting); }},
    {counter, "db_waits_total", "Statements that had to wait for a connection",
     [](const Stats& s) { return number(s.waits); }},
    {counter, "db_wait_seconds_total", "How long statements have waited for a connection, together",
     [](const Stats& s) { return static_cast<double>(s.wait_time.count_ns()) / 1e9; }},
    {counter, "db_wait_timeouts_total", "Statements that failed because no connection was free in time",
     [](const Stats& s) { return number(s.timeouts); }},
    {counter, "db_refused_total", "Statements that failed at once: too many waited, or no server could be reached",
     [](const Stats& s) { return number(s.refused); }},
    {counter, "db_connects_total", "Connections begun", [](const Stats& s) { return number(s.connects); }},
    {counter, "db_connect_failures_total", "Attempts to connect that failed",
     [](const Stats& s) { return number(s.connect_failures); }},
    {counter, "db_connections_lost_total", "Connections that ended while they were in use",
     [](const Stats& s) { return number(s.lost); }},
    {counter, "db_reads_total", "Statements completed that only read", [](const Stats& s) { return number(s.reads); }},
    {counter, "db_writes_total", "Statements completed that may write",
     [](const Stats& s) { return number(s.writes); }},
    {counter, "db_groups_total", "Groups of statements sent with one Sync",
     [](const Stats& s) { return number(s.groups); }},
    {counter, "db_repeated_total", "Statements sent again, which had not happened",
     [](const Stats& s) { return number(s.repeated); }},
    {counter, "db_failures_total", "Statements that the server rejected",
     [](const Stats& s) { return number(s.failures); }},
    {counter, "db_cancels_total", "Statements cancelled at the server",
     [](const Stats& s) { return number(s.cancels); }},
    {counter, "db_prepared_total", "Statements prepared", [](const Stats& s) { return number(s.prepared); }},
    {counter, "db_transactions_total", "Interactive transactions begun",
     [](const Stats& s) { return number(s.transactions); }},
    {counter, "db_transactions_expired_total", "Transactions rolled back because they kept a connection for too long",
     [](const Stats& s) { return number(s.expired); }},
};

}  // namespace

std::vector<metrics::GaugeFunction> expose(const Database& database, metrics::Registry& registry) {
  std::vector<metrics::GaugeFunction> exposed;
  for (const PostgresMeasure& measure : postgres_measures) {
    auto read = [&database, of = measure.of] { return of(database.stats()); };
    exposed.push_back(measure.kind == metrics::Kind::Counter ? registry.counter(measure.name, measure.help, {}, read)
                                                             : registry.gauge(measure.name, measure.help, {}, read));
  }
  return exposed;
}

}  // namespace keel::db::postgres
