// keel/db/postgres/database_metrics.h — the counters of Database::stats() as metrics.

#pragma once

#include <vector>

namespace keel::metrics {
class GaugeFunction;
class Registry;
}  // namespace keel::metrics

namespace keel::db::postgres {

class Database;

// Registers the db_… metrics; Database::expose() calls it.
std::vector<metrics::GaugeFunction> expose(const Database& database, metrics::Registry& registry);

}  // namespace keel::db::postgres
