#include "keel/db/postgres/migrations.h"

#include <optional>
#include <utility>

#include "keel/db/postgres/error.h"
#include "keel/db/postgres/internal/one_loop.h"
#include "keel/db/postgres/internal/statement_text.h"

namespace keel::db::postgres {
namespace {

class Target final : public MigrationTarget {
 public:
  Target(Database& database, internal::OneLoop& loop) noexcept : database_(database), loop_(loop) {}

  Result<> prepare() override { return {}; }
  Result<> finish() override { return {}; }

  Result<> begin() override {
    transaction_.reset();
    KEEL_TRY(Transaction begun, loop_.run(database_.begin()));
    transaction_.emplace(std::move(begun));
    return loop_.run(database_.run_script(
        *transaction_,
        "select pg_advisory_xact_lock(7308327812017350002);"
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
    const std::string_view control = internal::find_transaction_control(migration.text);
    if (!control.empty()) {
      line = 1;
      for (const char* at = migration.text.data(); at != control.data(); ++at) line += *at == '\n' ? 1 : 0;
      return Error::text(Code::InvalidArgument,
                         "a migration is one transaction: leave out '" + std::string(control) + '\'');
    }
    Result<> done = loop_.run(database_.run_script(*transaction_, migration.text));
    if (done) return done;
    if (const ServerError* const error = server_error(done.error())) {
      line = internal::line_of(migration.text, error->position);
    }
    // Whatever is wrong with it, the file is what has to be corrected.
    if (done.error().code() == Code::Internal) return std::move(done).error().as(Code::InvalidArgument);
    return done;
  }
  Result<> record(const Migration& migration, std::int64_t applied_at) override {
    KEEL_TRY_VOID(loop_.run(transaction_->execute(
        "insert into keel_migrations (version, name, checksum, applied_at) values ($1, $2, $3, $4)", migration.version,
        migration.name, migration.checksum, applied_at)));
    return {};
  }

 private:
  Database& database_;
  internal::OneLoop& loop_;
  std::optional<Transaction> transaction_;
};

}  // namespace

Result<Migrated> migrate(DatabaseOptions options) {
  const std::string folder = std::move(options.migrations);
  options.migrations.clear();
  options.connections = 1;
  options.hold_max = 24_h;
  options.statement_timeout = Duration();
  options.wait_max = 1_h;
  KEEL_TRY(const std::unique_ptr<internal::OneLoop> loop, internal::OneLoop::make());
  KEEL_TRY(const std::unique_ptr<Database> database, Database::make(std::move(options)));
  Result<Migrated> migrated = [&] {
    Target target(*database, *loop);
    return db::migrate(target, folder);
  }();
  database->detach(loop->loop());
  loop->turn_until([&] { return database->is_detached(); });
  return migrated;
}

}  // namespace keel::db::postgres
