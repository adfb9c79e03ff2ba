// keel/db/pool_metrics.h — metrics about the connections of a database, with the same names for every database.
//
// Lifetime: `database` and `registry` must outlive the returned handles.

#pragma once

#include <vector>

namespace keel::metrics {
class GaugeFunction;
class Registry;
}  // namespace keel::metrics

namespace keel::db {

class Database;

// Registers db_connections, db_connections_in_use, db_connections_max, db_connection_age_seconds, db_waiting,
// db_waits_total, db_wait_seconds_total, db_wait_max_seconds, db_wait_timeouts_total.
std::vector<metrics::GaugeFunction> expose_pool(const Database& database, metrics::Registry& registry);

}  // namespace keel::db
