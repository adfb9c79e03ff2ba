#include "keel/db/postgres/migrations.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "keel/base/host.h"
#include "keel/db/postgres/error.h"
#include "keel/db/postgres/internal/one_loop.h"
#include "keel/db/postgres/internal/statement_text.h"

namespace keel::db::postgres {
namespace {

class Target final : public MigrationTarget {
 public:
  Target(Database& database, internal::OneLoop& loop, Duration lock_max) noexcept
      : database_(database), loop_(loop), lock_max_(lock_max) {}

  std::string_view database() const override { return "postgres"; }

  Result<> prepare() override { return {}; }
  Result<> finish() override { return {}; }

  Result<> begin() override {
    KEEL_TRY_VOID(wait_for_lock([this] { return try_begin(); }));
    return loop_.run(database_.run_script(
        *transaction_,
        "create table if not exists keel_migrations (version integer primary key, name text not null, "
        "checksum text not null, applied_at bigint not null)"));
  }
  Result<> commit() override {
    Result<> committed = loop_.run(transaction_->commit());
    transaction_.reset();
    return committed;
  }
  Result<> roll_back() override {
    transaction_.reset();
    return {};
  }

  Result<> for_each_applied(OnApplied on_applied) override {
    auto pass = [&](const Row& row) { on_applied(static_cast<int>(row.integer(0)), row.text(1), row.text(2)); };
    KEEL_TRY_VOID(
        loop_.run(transaction_->query("select version, name, checksum from keel_migrations order by version", pass)));
    return {};
  }
  Result<> set_checksum(const Migration& migration) override {
    KEEL_TRY_VOID(loop_.run(transaction_->execute("update keel_migrations set checksum = $1 where version = $2",
                                                  migration.checksum, migration.version)));
    return {};
  }
  Result<> run(const Migration& migration, int& line) override {
    KEEL_TRY_VOID(refuse_control(migration.text, line));
    return in_script(loop_.run(database_.run_script(*transaction_, migration.text)), migration.text, 1, line);
  }
  Result<> record(const Migration& migration, std::int64_t applied_at) override {
    if (!migration.has_transaction) {
      KEEL_TRY(const int steps, steps_done(migration));
      if (steps != 0) {
        KEEL_TRY_VOID(
            loop_.run(transaction_->execute("delete from keel_migration_steps where version = $1", migration.version)));
      }
    }
    KEEL_TRY_VOID(loop_.run(transaction_->execute(
        "insert into keel_migrations (version, name, checksum, applied_at) values ($1, $2, $3, $4)", migration.version,
        migration.name, migration.checksum, applied_at)));
    return {};
  }

  Result<> forget(const Migration& migration) override {
    KEEL_TRY_VOID(
        loop_.run(transaction_->execute("delete from keel_migrations where version = $1", migration.version)));
    return {};
  }
  Result<std::int64_t> applied_at(const Migration& migration) override {
    std::int64_t at = 0;
    auto keep = [&](const Row& row) { at = row.integer(0); };
    KEEL_TRY_VOID(loop_.run(
        transaction_->query("select applied_at from keel_migrations where version = $1", keep, migration.version)));
    return at;
  }

  Result<bool> run_step(const Migration& migration, int& line) override {
    // The lock belongs to a session; a pooler might use another session for the transaction that waits for the lock.
    if (database_.options().pooler) {
      return Error::text(Code::FailedPrecondition,
                         "a file that runs without a transaction cannot be applied through a pooler: apply the file "
                         "directly to the server, with keel migrate up --database and the server's URL");
    }
    KEEL_TRY_VOID(wait_for_lock([this] { return try_lock(); }));
    Result<bool> done = [&]() -> Result<bool> {
      KEEL_TRY_VOID(begin());
      KEEL_TRY(const bool has_run, step(migration, line));
      KEEL_TRY_VOID(commit());
      return has_run;
    }();
    KEEL_TRY_VOID(roll_back());
    Result<> unlocked = unlock();
    if (done && !unlocked) return std::move(unlocked).error();
    return done;
  }
  Result<int> steps_done(const Migration& migration) override {
    bool is_there = false;
    auto found = [&](const Row& row) { is_there = row.boolean(0); };
    KEEL_TRY_VOID(loop_.run(transaction_->query("select to_regclass('keel_migration_steps') is not null", found)));
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
    KEEL_TRY_VOID(loop_.run(transaction_->query("select done, checksum from keel_migration_steps where version = $1",
                                                keep, migration.version)));
    KEEL_TRY_VOID(std::move(agrees));
    return done;
  }

 private:
  // Calls `attempt` until it has taken the lock or the time is up; between two attempts, no transaction is open.
  template <class F>
  Result<> wait_for_lock(F attempt) {
    const Instant until = Host::system().now() + lock_max_;
    while (true) {
      KEEL_TRY(const bool has_lock, attempt());
      if (has_lock) return {};
      if (Host::system().now() >= until) {
        return Error::text(Code::Unavailable, "migrations: the database is locked: another program applies migrations");
      }
      Host::system().sleep(lock_pause);
    }
  }
  Result<bool> try_begin() {
    transaction_.reset();
    KEEL_TRY(Transaction begun, loop_.run(database_.begin()));
    transaction_.emplace(std::move(begun));
    bool has_lock = false;
    auto keep = [&](const Row& row) { has_lock = row.boolean(0); };
    KEEL_TRY_VOID(loop_.run(transaction_->query("select pg_try_advisory_xact_lock(7308327812017350002)", keep)));
    if (!has_lock) transaction_.reset();
    return has_lock;
  }
  // Takes the lock for the session; this database object has no other session.
  Result<bool> try_lock() {
    transaction_.reset();
    bool has_lock = false;
    auto keep = [&](const Row& row) { has_lock = row.boolean(0); };
    KEEL_TRY_VOID(loop_.run(database_.query("-- volatile\nselect pg_try_advisory_lock(7308327812017350002)", keep)));
    return has_lock;
  }
  Result<> unlock() { return loop_.run(database_.run_script("select pg_advisory_unlock(7308327812017350002)")); }

  static Result<> refuse_control(const std::string& text, int& line) {
    const std::string_view control = internal::find_transaction_control(text);
    if (control.empty()) return {};
    line = line_at(text, control.data());
    return Error::text(Code::InvalidArgument,
                       "a migration runs in one transaction: remove "
                       "'" +
                           std::string(control) + '\'');
  }
  static int line_at(const std::string& text, const char* at) {
    return 1 + static_cast<int>(std::count(text.data(), at, '\n'));
  }
  static Result<> in_script(Result<> done, std::string_view script, int first_line, int& line) {
    if (done) return done;
    const Code code = done.error().code();
    bool is_of_file = code == Code::Internal || code == Code::Unsupported;
    if (const ServerError* const error = server_error(done.error())) {
      const int within = internal::line_of(script, error->position);
      if (within != 0) line = first_line + within - 1;
      // 54xxx: the statement is too complex, has too many columns, and so on.
      is_of_file = is_of_file || error->sqlstate.starts_with("54");
    }
    // Errors that must be corrected in the file become InvalidArgument.
    if (is_of_file) return std::move(done).error().as(Code::InvalidArgument);
    if (code == Code::PermissionDenied) return std::move(done).error().as(Code::FailedPrecondition);
    return done;
  }

  // Runs the next statement in the current transaction; a statement that cannot be in a transaction runs after that
  // transaction is committed.
  Result<bool> step(const Migration& migration, int& line) {
    KEEL_TRY_VOID(refuse_control(migration.text, line));
    KEEL_TRY(const std::int64_t applied, applied_at(migration));
    if (applied != 0) return false;
    KEEL_TRY(const int done, steps_done(migration));
    const std::vector<std::string_view> parts = internal::statements_of(migration.text);
    if (static_cast<std::size_t>(done) >= parts.size()) return false;
    const std::string_view part = parts[static_cast<std::size_t>(done)];
    line = line_at(migration.text, part.data());
    const internal::AloneFacts facts = internal::alone_facts_of(part);
    if (facts.is_alone) {
      KEEL_TRY_VOID(roll_back());
      KEEL_TRY_VOID(run_alone(part, facts, line));
      KEEL_TRY_VOID(begin());
    } else {
      KEEL_TRY_VOID(in_script(loop_.run(database_.run_script(*transaction_, std::string(part))), part, line, line));
    }
    KEEL_TRY_VOID(loop_.run(database_.run_script(
        *transaction_,
        "create table if not exists keel_migration_steps (version integer primary key, name text not null, "
        "checksum text not null, done integer not null)")));
    KEEL_TRY_VOID(loop_.run(
        transaction_->execute("insert into keel_migration_steps (version, name, checksum, done) values ($1, $2, $3, 1) "
                              "on conflict (version) do update set done = keel_migration_steps.done + 1",
                              migration.version, migration.name, migration.checksum)));
    return true;
  }
  Result<> run_alone(std::string_view statement, const internal::AloneFacts& facts, int& line) {
    if (!facts.is_repeatable) {
      return fail(Code::InvalidArgument,
                  "must be able to run again after an interruption: create the object `if not exists`, and drop it `if "
                  "exists`");
    }
    if (!facts.index.empty()) {
      // An index is in the same schema as its table. The server itself parses both names, so that quotes, case, and the
      // truncation of long names have their usual effect.
      std::string invalid;
      auto found = [&](const Row& row) { invalid = row.text(0); };
      KEEL_TRY_VOID(loop_.run(database_.query(
          "select format('%I.%I', n.nspname, c.relname) from pg_index i join pg_class c on c.oid = i.indexrelid join "
          "pg_namespace n on n.oid = c.relnamespace where c.relname = (parse_ident($1))[1]::name and not i.indisvalid "
          "and c.relnamespace = (select t.relnamespace from pg_class t where t.oid = to_regclass($2))",
          found, facts.index, facts.table)));
      if (!invalid.empty()) {
        KEEL_TRY_VOID(loop_.run(database_.run_script("drop index concurrently if exists " + invalid)));
      }
    }
    return in_script(loop_.run(database_.run_script(std::string(statement))), statement, line, line);
  }

  static constexpr Duration lock_pause = 100_ms;

  Database& database_;
  internal::OneLoop& loop_;
  const Duration lock_max_;
  std::optional<Transaction> transaction_;
};

// Opens a separate database object, and runs `work` with it.
template <class F>
auto on_target(DatabaseOptions options, Duration lock_max, F work) -> decltype(work(std::declval<Target&>(), "")) {
  const std::string folder = std::move(options.migrations);
  options.migrations.clear();
  options.connections = 1;
  options.hold_max = 24_h;
  options.statement_timeout = Duration();
  options.wait_max = 1_h;
  KEEL_TRY(const std::unique_ptr<internal::OneLoop> loop, internal::OneLoop::make());
  KEEL_TRY(const std::unique_ptr<Database> database, Database::make(std::move(options)));
  auto done = [&] {
    Target target(*database, *loop, lock_max);
    return work(target, folder);
  }();
  database->detach(loop->loop());
  loop->turn_until([&] { return database->is_detached(); });
  return done;
}

}  // namespace

Result<Migrated> migrate(DatabaseOptions options, int last, Duration lock_max) {
  return on_target(std::move(options), lock_max,
                   [&](Target& target, const std::string& folder) { return db::migrate(target, folder, last); });
}
Result<Migrated> migrate_down(DatabaseOptions options, int count, Duration lock_max) {
  return on_target(std::move(options), lock_max,
                   [&](Target& target, const std::string& folder) { return db::migrate_down(target, folder, count); });
}
Result<Migrated> migrate_redo(DatabaseOptions options, Duration lock_max) {
  return on_target(std::move(options), lock_max,
                   [&](Target& target, const std::string& folder) { return db::migrate_redo(target, folder); });
}
Result<std::vector<MigrationStatus>> migration_status(DatabaseOptions options, Duration lock_max) {
  return on_target(std::move(options), lock_max,
                   [&](Target& target, const std::string& folder) { return db::migration_status(target, folder); });
}

}  // namespace keel::db::postgres
