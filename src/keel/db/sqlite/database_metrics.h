// keel/db/sqlite/database_metrics.h — what an SQLite database counts, as metrics.

#pragma once

#include <vector>

#include "keel/observe/metric.h"

namespace keel::db::sqlite {

class Database;

// For as long as what is returned lives; `database` and `registry` outlive it.
std::vector<metrics::GaugeFunction> expose(const Database& database, metrics::Registry& registry);

}  // namespace keel::db::sqlite
