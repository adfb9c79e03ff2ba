// keel/app/internal/database_metrics.h — what a database counts, as metrics.

#pragma once

#include <vector>

#include "keel/app/settings.h"
#include "keel/db/sqlite/database.h"
#include "keel/observe/metric.h"

namespace keel::app::internal {

// For as long as what is returned lives; `database` and `registry` outlive it.
std::vector<metrics::GaugeFunction> expose(db::Database& database, const DatabaseSettings& settings,
                                           metrics::Registry& registry);

}  // namespace keel::app::internal
