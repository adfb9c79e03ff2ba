#include "keel/db/sqlite/migrations.h"

#include <fmt/core.h>
#include <sqlite3.h>
#include <strings.h>

#include <algorithm>

#include "keel/db/sqlite/connection.h"

namespace keel::db::sqlite {
namespace {

class Target final : public MigrationTarget {
 public:
  explicit Target(Connection& connection) noexcept : connection_(connection) {}

  std::string_view database() const override { return "sqlite"; }

  // Tables can be rebuilt only while foreign keys are off, and foreign keys cannot be turned off within a transaction.
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
    return check_references();
  }
  Result<> record(const Migration& migration, std::int64_t applied_at) override {
    if (!migration.has_transaction) {
      KEEL_TRY(const int steps, steps_done(migration));
      if (steps != 0) {
        KEEL_TRY_VOID(connection_.run("delete from keel_migration_steps where version = $1", migration.version));
      }
    }
    return connection_.run("insert into keel_migrations (version, name, checksum, applied_at) values ($1, $2, $3, $4)",
                           migration.version, migration.name, migration.checksum, applied_at);
  }

  Result<> forget(const Migration& migration) override {
    return connection_.run("delete from keel_migrations where version = $1", migration.version);
  }
  Result<std::int64_t> applied_at(const Migration& migration) override {
    std::int64_t at = 0;
    auto keep = [&](const Row& row) { at = row.integer(0); };
    KEEL_TRY_VOID(
        connection_.query("select applied_at from keel_migrations where version = $1", keep, migration.version));
    return at;
  }

  Result<bool> run_step(const Migration& migration, int& line) override {
    KEEL_TRY_VOID(begin());
    Result<bool> done = step(migration, line);
    if (done) {
      if (Result<> committed = commit(); !committed) done = std::move(committed).error();
    }
    KEEL_TRY_VOID(roll_back());
    return done;
  }
  Result<int> steps_done(const Migration& migration) override {
    bool is_there = false;
    auto found = [&](const Row&) { is_there = true; };
    KEEL_TRY_VOID(connection_.query("select 1 from sqlite_schema where name = 'keel_migration_steps'", found));
    if (!is_there) return 0;
    int done = 0;
    Result<> agrees;
    auto keep = [&](const Row& row) {
      done = static_cast<int>(row.integer(0));
      if (row.text(1) == migration.checksum) return;
      agrees = Error::text(Code::FailedPrecondition,
                           fmt::format("has changed since the first {} of its statements ran: restore the file, for "
                                       "example with git checkout, and continue with keel migrate up",
                                       done));
    };
    KEEL_TRY_VOID(connection_.query("select done, checksum from keel_migration_steps where version = $1", keep,
                                    migration.version));
    KEEL_TRY_VOID(std::move(agrees));
    return done;
  }

 private:
  Result<> check_references() {
    Result<> sound;
    auto violated = [&](const Row& row) {
      sound = Error::text(Code::InvalidArgument,
                          fmt::format("leaves rows in {} that refer to no row of {}", row.text(0), row.text(1)));
    };
    KEEL_TRY_VOID(connection_.query("select \"table\", parent from pragma_foreign_key_check", violated));
    return sound;
  }

  // Runs the next statement within the current transaction, except a `vacuum`, which runs after that transaction has
  // been committed.
  Result<bool> step(const Migration& migration, int& line) {
    KEEL_TRY(const std::int64_t applied, applied_at(migration));
    if (applied != 0) return false;
    KEEL_TRY(const int done, steps_done(migration));
    const std::vector<Part> parts = parts_of(migration.text);
    if (static_cast<std::size_t>(done) >= parts.size()) return false;
    const Part& part = parts[static_cast<std::size_t>(done)];
    line = part.line;
    if (is_vacuum(part.text)) {
      KEEL_TRY_VOID(roll_back());
      KEEL_TRY_VOID(connection_.run_script(part.text));
      KEEL_TRY_VOID(begin());
      // While `vacuum` ran, this process did not hold the lock, so another process may have run and recorded this step,
      // or the whole file.
      KEEL_TRY(const std::int64_t applied_now, applied_at(migration));
      KEEL_TRY(const int done_now, steps_done(migration));
      if (applied_now != 0 || done_now != done) return true;
    } else {
      int within = 1;
      if (Result<> ran = connection_.run_script(part.text, &within, Connection::Control::Refused); !ran) {
        line = part.line + within - 1;
        return std::move(ran).error();
      }
      KEEL_TRY_VOID(check_references());
    }
    KEEL_TRY_VOID(
        connection_.run_script("create table if not exists keel_migration_steps (version integer primary key, name "
                               "text not null, checksum text "
                               "not null, done integer not null) strict"));
    KEEL_TRY_VOID(
        connection_.run("insert into keel_migration_steps (version, name, checksum, done) values ($1, $2, $3, 1) on "
                        "conflict (version) do "
                        "update set done = done + 1",
                        migration.version, migration.name, migration.checksum));
    return true;
  }

  // A statement of a file, and its line.
  struct Part {
    std::string text;
    int line = 1;
  };
  static std::vector<Part> parts_of(const std::string& text) {
    std::vector<Part> parts;
    std::size_t begin = 0;
    while (begin < text.size()) {
      std::size_t end = text.find(';', begin);
      // Semicolons in a trigger, a string or a comment do not end the statement.
      while (end != text.npos && sqlite3_complete(text.substr(begin, end + 1 - begin).c_str()) == 0) {
        end = text.find(';', end + 1);
      }
      end = end == text.npos ? text.size() : end + 1;
      std::string part = text.substr(begin, end - begin);
      const std::size_t blank = skip_blank(part);
      if (blank != part.size()) {
        const auto before = text.begin() + static_cast<std::ptrdiff_t>(begin + blank);
        parts.push_back({part.substr(blank), 1 + static_cast<int>(std::count(text.begin(), before, '\n'))});
      }
      begin = end;
    }
    return parts;
  }
  static bool is_vacuum(std::string_view text) { return strncasecmp(text.data(), "vacuum", 6) == 0; }

  Connection& connection_;
};

}  // namespace

Result<Migrated> migrate(Connection& connection, const std::string& folder, int last) {
  Target target(connection);
  return db::migrate(target, folder, last);
}
Result<Migrated> migrate_down(Connection& connection, const std::string& folder, int count) {
  Target target(connection);
  return db::migrate_down(target, folder, count);
}
Result<Migrated> migrate_redo(Connection& connection, const std::string& folder) {
  Target target(connection);
  return db::migrate_redo(target, folder);
}
Result<std::vector<MigrationStatus>> migration_status(Connection& connection, const std::string& folder) {
  Target target(connection);
  return db::migration_status(target, folder);
}

}  // namespace keel::db::sqlite
