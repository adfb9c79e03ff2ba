#include "migrate/target.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "keel/db/postgres/migrations.h"
#include "keel/db/postgres/options.h"
#include "keel/db/sqlite/connection.h"
#include "keel/db/sqlite/migrations.h"
#include "postgres/scratch.h"

namespace keel::migrate {
namespace {

using db::Migrated;
using db::MigrationStatus;
using db::sqlite::Connection;

// Implements `up`, `down` and `status` for one database.
template <class Up, class Down, class Status>
Result<> rehearse_with(Up up, Down down, Status status) {
  KEEL_TRY_VOID(up());
  KEEL_TRY(const auto files, status());
  for (std::size_t i = files.size(); i-- != 0 && files[i].has_down;) KEEL_TRY_VOID(down());
  KEEL_TRY_VOID(up());
  return {};
}

// Creates each missing folder above `path`; only this user can access the new folders. A failure is not reported here,
// because opening the file will report it.
void make_folders_above(const std::filesystem::path& path) {
  std::filesystem::path made;
  for (const std::filesystem::path& part : path.parent_path()) {
    made /= part;
    ::mkdir(made.c_str(), S_IRWXU);
  }
}

class SqliteTarget final : public Target {
 public:
  SqliteTarget(std::string path, Duration lock_max) : path_(std::move(path)), lock_max_(lock_max) {}

  std::string name() const override { return path_; }
  bool exists() const override {
    std::error_code error;
    return std::filesystem::exists(path_, error);
  }

  Result<Migrated> up(const std::string& folder, int last) override {
    if (!exists()) make_folders_above(path_);
    KEEL_TRY(auto connection, Connection::open({.path = path_, .busy_timeout = lock_max_}));
    return db::sqlite::migrate(*connection, folder, last);
  }
  Result<Migrated> down(const std::string& folder, int count) override {
    KEEL_TRY(auto connection, open());
    return db::sqlite::migrate_down(*connection, folder, count);
  }
  Result<Migrated> redo(const std::string& folder) override {
    KEEL_TRY(auto connection, open());
    return db::sqlite::migrate_redo(*connection, folder);
  }
  Result<std::vector<MigrationStatus>> status(const std::string& folder) override {
    KEEL_TRY(auto connection, exists() ? open() : in_memory());
    return db::sqlite::migration_status(*connection, folder);
  }
  Result<> rehearse(const std::string& folder) override {
    KEEL_TRY(auto connection, in_memory());
    return rehearse_with([&] { return db::sqlite::migrate(*connection, folder); },
                         [&] { return db::sqlite::migrate_down(*connection, folder); },
                         [&] { return db::sqlite::migration_status(*connection, folder); });
  }

 private:
  Result<std::unique_ptr<Connection>> open() const {
    if (!exists()) return Error::text(Code::NotFound, path_ + ": there is no such database");
    return Connection::open({.path = path_, .busy_timeout = lock_max_});
  }
  static Result<std::unique_ptr<Connection>> in_memory() {
    return Connection::open({.path = ":memory:", .synchronous = db::sqlite::Synchronous::Off});
  }

  const std::string path_;
  const Duration lock_max_;
};

class PostgresTarget final : public Target {
 public:
  PostgresTarget(std::string url, std::string name, Duration lock_max, bool has_pooler)
      : url_(std::move(url)), name_(std::move(name)), lock_max_(lock_max), has_pooler_(has_pooler) {}

  std::string name() const override { return name_; }
  bool exists() const override { return true; }

  Result<Migrated> up(const std::string& folder, int last) override {
    return db::postgres::migrate(options(url_, folder, has_pooler_), last, lock_max_);
  }
  Result<Migrated> down(const std::string& folder, int count) override {
    return db::postgres::migrate_down(options(url_, folder, has_pooler_), count, lock_max_);
  }
  Result<Migrated> redo(const std::string& folder) override {
    return db::postgres::migrate_redo(options(url_, folder, has_pooler_), lock_max_);
  }
  Result<std::vector<MigrationStatus>> status(const std::string& folder) override {
    return db::postgres::migration_status(options(url_, folder, has_pooler_), lock_max_);
  }
  Result<> rehearse(const std::string& folder) override {
    KEEL_TRY(const auto scratch, tool::ScratchDatabase::make());
    return rehearse_with([&] { return db::postgres::migrate(options(scratch->url(), folder)); },
                         [&] { return db::postgres::migrate_down(options(scratch->url(), folder)); },
                         [&] { return db::postgres::migration_status(options(scratch->url(), folder)); });
  }

 private:
  static db::postgres::DatabaseOptions options(const std::string& url, const std::string& folder,
                                               bool has_pooler = false) {
    db::postgres::DatabaseOptions options;
    options.pooler = has_pooler;
    options.url = url;
    options.migrations = folder;
    return options;
  }

  const std::string url_;
  const std::string name_;
  const Duration lock_max_;
  const bool has_pooler_;
};

}  // namespace

Result<std::unique_ptr<Target>> make_target(const std::string& where, bool is_postgres, Duration lock_max,
                                            bool has_pooler) {
  if (!is_postgres && !tool::is_postgres_url(where)) return std::make_unique<SqliteTarget>(where, lock_max);
  KEEL_TRY(const auto options, db::postgres::ConnectOptions::parse(where, db::postgres::process_environment));
  return std::make_unique<PostgresTarget>(where, options.describe(), lock_max, has_pooler);
}

}  // namespace keel::migrate
