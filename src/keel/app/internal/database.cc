#include "keel/app/internal/database.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

#include "keel/app/internal/database_options.h"
#include "keel/app/internal/options.h"

namespace keel::app::internal {
namespace {

constexpr const char* names_file = "database.path";

// Whether the error comes from the migrations; the message of such an error names their folder or one of their files
// (db/migrations.h).
bool is_of_migrations(const Error& error) { return error.message().starts_with("migrations: "); }

// Adds a remedy to an error about a database file that the user of this process may not use. SQLite's own message says
// only that the file cannot be opened.
Error with_remedy(Error error, const std::string& path) {
  const bool may_be_denied = error.errno_value() == EACCES || error.message().contains("readonly database");
  if (!may_be_denied) return error;
  const std::string folder = std::filesystem::absolute(path).parent_path().string();
  const auto is_denied = [](const std::string& what, int way) {
    return ::access(what.c_str(), way) != 0 && (errno == EACCES || errno == EROFS);
  };
  if (is_denied(path, R_OK | W_OK)) {
    return std::move(error).because("this user may not read and write the file: make the service's user its owner");
  }
  if (is_denied(folder, W_OK | X_OK)) {
    return std::move(error).because("this user may not create files in " + folder +
                                    ", where the database keeps its log: make the service's user its owner");
  }
  return error;
}

}  // namespace

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
        return fail(Code::Unsupported, "a simulated App has no PostgreSQL: leave database.type at sqlite");
      }
      auto opened = db::postgres::Database::open(postgres_options(settings));
      if (!opened && is_of_migrations(opened.error())) return std::move(opened).error();
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
      if (!opened && is_of_migrations(opened.error())) {
        return std::move(opened).error().because("database '" + path + "'");
      }
      if (!opened && !platform.is_simulated()) return with_remedy(std::move(opened).error(), path).because(names_file);
      if (!opened) return std::move(opened).error().because(names_file);
      return std::unique_ptr<db::Database>(*std::move(opened));
    }
  }
  return fail(Code::Unsupported, "database.type must be a known kind of database");
}

}  // namespace keel::app::internal
