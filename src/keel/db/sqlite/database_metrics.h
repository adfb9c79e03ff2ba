// keel/db/sqlite/database_metrics.h — publishes the counters of an SQLite database as metrics.

#pragma once

#include <vector>

#include "keel/observe/metric.h"

namespace keel::db::sqlite {

class Database;

// The metrics stay registered as long as the returned handles live; `database` and `registry` must outlive the handles.
std::vector<metrics::GaugeFunction> expose(const Database& database, metrics::Registry& registry);

}  // namespace keel::db::sqlite
