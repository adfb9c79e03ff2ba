// keel/app/internal/database.h — the database that the settings name.

#pragma once

#include <memory>

#include "keel/app/internal/platform.h"
#include "keel/app/settings.h"
#include "keel/base/result.h"
#include "keel/db/database.h"
#include "keel/db/postgres/database.h"
#include "keel/db/sqlite/database.h"

namespace keel::app::internal {

// Opens the database and applies its migrations; for SQLite, also creates the folder of the file.
Result<std::unique_ptr<db::Database>> open_database(const Settings& settings, const Platform& platform);

db::sqlite::DatabaseOptions sqlite_options(const Settings& settings);
db::postgres::DatabaseOptions postgres_options(const Settings& settings);

}  // namespace keel::app::internal
