#include "keel/app/internal/database.h"

#include <utility>

#include "keel/app/internal/options.h"

namespace keel::app::internal {
namespace {

db::sqlite::Synchronous synchronous_of(Synchronous synchronous) {
  switch (synchronous) {
    case Synchronous::Full:
      return db::sqlite::Synchronous::Full;
    case Synchronous::Normal:
      return db::sqlite::Synchronous::Normal;
    case Synchronous::Off:
      return db::sqlite::Synchronous::Off;
  }
  return db::sqlite::Synchronous::Full;
}

}  // namespace

db::sqlite::DatabaseOptions sqlite_options(const Settings& settings) {
  const DatabaseSettings& from = settings.database;
  db::sqlite::DatabaseOptions options;
  options.path = from.path;
  options.migrations = from.migrations;
  options.synchronous = synchronous_of(from.synchronous);
  options.busy_timeout = from.timeout;
  options.cache_kib = static_cast<int>(from.cache_size.bytes / 1024);
  options.buffer_bytes = from.buffer_size.bytes;
  options.pool_size = static_cast<int>(settings.thread.size_of("database", from.pool_size));
  if (!from.loop_reads) options.loop_steps_max = 0;
  options.writer.group_max = static_cast<int>(from.group_max);
  options.writer.queued_max = from.queue_max;
  return options;
}

Result<std::unique_ptr<db::Database>> open_database(const Settings& settings) {
  const std::string& path = settings.database.path;
  if (auto made = make_folder_of(path); !made) {
    return std::unexpected(std::move(made).error().because("database.path"));
  }
  switch (settings.database.type) {
    case DatabaseType::Sqlite: {
      auto opened = db::sqlite::Database::open(sqlite_options(settings));
      if (!opened) return std::unexpected(std::move(opened).error().because("database '" + path + "'"));
      return std::unique_ptr<db::Database>(*std::move(opened));
    }
  }
  return fail(Code::Unsupported, "database.type names a kind of database that there is");
}

}  // namespace keel::app::internal
