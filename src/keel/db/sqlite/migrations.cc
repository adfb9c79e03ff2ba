#include "keel/db/sqlite/migrations.h"

#include <fmt/core.h>

#include "keel/db/sqlite/connection.h"

namespace keel::db::sqlite {
namespace {

class Target final : public MigrationTarget {
 public:
  explicit Target(Connection& connection) noexcept : connection_(connection) {}

  // Tables can be built anew only while foreign keys are off, and that cannot change within a transaction.
  Result<> prepare() override { return connection_.run_script("pragma foreign_keys=off"); }
  Result<> finish() override { return connection_.run_script("pragma foreign_keys=on"); }

  Result<> begin() override {
    KEEL_TRY_VOID(connection_.run_script("begin immediate"));
    return connection_.run_script(
        "create table if not exists keel_migrations ("
        "version integer primary key, name text not null, checksum text not null, applied_at "
        "integer not null) strict");
  }
  Result<> commit() override { return connection_.run_script("commit"); }
  Result<> roll_back() override {
    if (connection_.is_autocommit()) return {};
    return connection_.run_script("rollback");
  }

  Result<> for_each_applied(OnApplied on_applied) override {
    auto pass = [&](const Row& row) { on_applied(static_cast<int>(row.integer(0)), row.text(1), row.text(2)); };
    KEEL_TRY_VOID(connection_.query("select version, name, checksum from keel_migrations order by version", pass));
    return {};
  }
  Result<> set_checksum(const Migration& migration) override {
    return connection_.run("update keel_migrations set checksum = $1 where version = $2", migration.checksum,
                           migration.version);
  }
  Result<> run(const Migration& migration, int& line) override {
    KEEL_TRY_VOID(connection_.run_script(migration.text, &line, Connection::Control::Refused));
    Result<> sound;
    auto violated = [&](const Row& row) {
      sound = Error::text(Code::InvalidArgument,
                          fmt::format("leaves rows in {} that refer to none in {}", row.text(0), row.text(1)));
    };
    KEEL_TRY_VOID(connection_.query("select \"table\", parent from pragma_foreign_key_check", violated));
    return sound;
  }
  Result<> record(const Migration& migration, std::int64_t applied_at) override {
    return connection_.run("insert into keel_migrations (version, name, checksum, applied_at) values ($1, $2, $3, $4)",
                           migration.version, migration.name, migration.checksum, applied_at);
  }

 private:
  Connection& connection_;
};

}  // namespace

Result<Migrated> migrate(Connection& connection, const std::string& folder) {
  Target target(connection);
  return db::migrate(target, folder);
}

}  // namespace keel::db::sqlite
