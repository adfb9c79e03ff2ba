#include "keel/app/internal/database.h"

#include <utility>

#include "keel/app/internal/database_options.h"
#include "keel/app/internal/options.h"

namespace keel::app::internal {

db::sqlite::DatabaseOptions sqlite_options(const Settings& settings) {
  const DatabaseSettings& from = settings.database;
  db::sqlite::DatabaseOptions options;
  each_database_option(from, options, [](const auto& setting, auto& option) { option = setting; });
  options.migrations = from.migrations;
  options.pool_size = settings.thread.size_of("database", from.pool_size);
  if (!from.loop_reads) options.loop_steps_max = 0;
  return options;
}

db::postgres::DatabaseOptions postgres_options(const Settings& settings) {
  const DatabaseSettings& from = settings.database;
  db::postgres::DatabaseOptions options;
  each_postgres_option(from, options, [](const auto& setting, auto& option) { option = setting; });
  options.url = from.url.reveal();
  options.migrations = from.migrations;
  options.hold_max = from.hold_max;
  options.waiting_max = from.queue_max;
  return options;
}

Result<std::unique_ptr<db::Database>> open_database(const Settings& settings, const Platform& platform) {
  switch (settings.database.type) {
    case DatabaseType::Postgres: {
      if (platform.is_simulated()) {
        return fail(Code::Unsupported, "a simulated App has no PostgreSQL: leave database.type to be sqlite");
      }
      auto opened = db::postgres::Database::open(postgres_options(settings));
      if (!opened) return std::move(opened).error().because("database.url");
      return std::unique_ptr<db::Database>(*std::move(opened));
    }
    case DatabaseType::Sqlite: {
      const std::string& path = settings.database.path;
      if (!platform.is_simulated()) KEEL_TRY_VOID(make_folder_of(path).because("database.path"));
      db::sqlite::DatabaseOptions options = sqlite_options(settings);
      options.vfs = platform.vfs;
      options.executor = platform.executor;
      auto opened = db::sqlite::Database::open(options);
      if (!opened) return std::move(opened).error().because("database '" + path + "'");
      return std::unique_ptr<db::Database>(*std::move(opened));
    }
  }
  return fail(Code::Unsupported, "database.type must be a known kind of database");
}

}  // namespace keel::app::internal
