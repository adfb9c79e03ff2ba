// keel/db/sqlite/connection.h — a synchronous connection to an SQLite database.
//
// Database (sqlite/database.h) is built on Connection; tools and migrations can use a Connection directly. A connection
// uses WAL mode, enforces foreign keys, does not map the file into memory, and opens the database in defensive mode
// with an untrusted schema.
//
// Errors:   AlreadyExists (unique, primary key), Conflict (foreign key, including a deferred one; busy snapshot),
//           InvalidArgument (check, not null, type, a value with which SQL cannot compute, wrong SQL in prepare() and
//           run_script()), Internal (wrong SQL in the program itself, such as a missing table; a value read as a type
//           that cannot hold it, db/row.h), Unavailable (busy, locked, read-only, cannot open, I/O), ResourceExhausted
//           (disk full, too big, no memory), DataLoss (corrupt, not a database), Cancelled (interrupted). The message
//           is SQLite's; the error is from the environment, and an error of a statement names the statement and the
//           place of the call (base/error.h).
// Threads:  one at a time.
// Lifetime: must outlive its statements.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/db/sqlite/statement.h"
#include "keel/db/sqlite/statement_cache.h"
#include "keel/db/sqlite/wal_watch.h"

namespace keel::db::sqlite {

// Whether a connection may write.
enum class Access : std::uint8_t {
  ReadWrite,  // Creates the file if it does not exist.
  ReadOnly,   // Every attempt to write fails.
};

// Whether the changes of a commit survive a crash of the machine.
enum class Synchronous : std::uint8_t {
  Off,     // A crash of the machine may corrupt the file: use this level only for tests and imports.
  Normal,  // A crash of the machine may lose the last commits.
  Full,    // The changes of a transaction are on the disk after its commit.
};

// The file, the access and the limits of a connection.
struct ConnectionOptions {
  // The path of the file; ":memory:" is for tests that use one connection. A new file and its WAL and index get mode
  // 0600; an existing file keeps its mode.
  std::string path = {};
  Access access = Access::ReadWrite;
  Synchronous synchronous = Synchronous::Full;
  Duration busy_timeout = 5_s;  // How long to wait for a lock that another process holds.
  // The size of the connection's page cache: a larger cache takes more memory and saves reads.
  int cache_kib = 4096;
  int statements_max = 128;  // Prepared statements kept.
  // After a commit that leaves at least this many pages in the WAL, the pages are moved into the file (wal_watch.h); 0:
  // commits do not move pages.
  int checkpoint_pages = 1000;
  const char* vfs = nullptr;  // The name of a registered VFS, for tests.
};

class Connection {
 public:
  // If a connection may write, it first rewrites and syncs the frames that it finds in the WAL, so that later commits
  // build on durable data; for this, it waits for other writers for at most busy_timeout.
  static Result<std::unique_ptr<Connection>> open(const ConnectionOptions& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Prepares one statement whose placeholders are $1, $2, … or $name. InvalidArgument: the text contains no statement
  // or more than one, or the statement would change transactions, settings or files without Database's knowledge
  // (begin, savepoint, pragma, attach, vacuum, …).
  Result<Statement> prepare(std::string_view text);
  // For Keel's own use: prepares any statement, including those that control transactions.
  Result<Statement> prepare_control(std::string_view text);
  StatementCache& statements() noexcept { return statements_; }

  // Runs a statement, which is kept in the cache.
  template <class... A>
  Result<> run(SqlOf<A...> sql, const A&... arguments) {
    return with_arguments(
        sql, [&](std::span<const Value> values) { return run_values(sql, values, nullptr); }, arguments...);
  }
  // Runs the statement and then calls `on_row` with each row. Returns their number.
  template <class... A>
  Result<std::size_t> query(SqlOf<A...> sql, FunctionRef<void(const Row&)> on_row, const A&... arguments) {
    Rows rows;
    KEEL_TRY_VOID(with_arguments(
        sql, [&](std::span<const Value> values) { return run_values(sql, values, &rows); }, arguments...));
    KEEL_TRY_VOID(rows.for_each(on_row));
    return rows.count();
  }
  Result<> run_values(Sql sql, std::span<const Value> values, Rows* rows);

  // Runs a trusted text that contains any number of statements without placeholders. After an error, `line` (if it is
  // not null) is set to the line of the failing statement, or of the mistake in this statement, counted from 1. With
  // Control::Refused, a statement that prepare() would reject, such as begin or pragma, fails with InvalidArgument.
  enum class Control : std::uint8_t { Allowed, Refused };
  Result<> run_script(std::string_view text, int* line = nullptr, Control control = Control::Allowed);

  // How many rows the last writing statement changed.
  std::int64_t changes() const noexcept;
  std::int64_t total_changes() const noexcept;
  std::int64_t last_insert_id() const noexcept;
  void forget_last_insert_id() noexcept;

  // Returns false within a transaction. After an error, SQLite may have ended the transaction by itself.
  bool is_autocommit() const noexcept;
  // How long a statement waits for a lock that another process holds; initially the value in the options.
  Duration busy_timeout() const noexcept { return busy_timeout_; }
  void set_busy_timeout(Duration timeout) noexcept;
  // Whether there are rows that currently violate a deferred foreign key.
  bool has_deferred_violations() const noexcept;

  // Interrupts a statement that runs between start_steps() and stop_steps() when the statement has taken `steps` steps
  // of SQLite's virtual machine; 0: never. step_limit_met() returns whether this limit has interrupted the statement.
  void limit_steps(int steps) noexcept;
  void start_steps(Statement& statement) noexcept;
  void stop_steps() noexcept { counts_steps_ = false; }
  bool step_limit_met() const noexcept { return step_limit_met_; }

  // Interrupts the running statement; may be called on any thread.
  void interrupt() noexcept;
  // Moves the pages of the WAL into the file, and empties the WAL. Fails with Unavailable while a reader still needs
  // the WAL.
  Result<> checkpoint();
  const WalWatch& wal() const noexcept { return wal_; }
  WalWatch& wal() noexcept { return wal_; }

  sqlite3* handle() const noexcept { return handle_; }

 private:
  Connection(sqlite3* handle, const ConnectionOptions& options);
  static int on_steps(void* connection) noexcept;
  Result<> sync_wal();

  sqlite3* handle_;
  WalWatch wal_;
  StatementCache statements_;
  Duration busy_timeout_;
  bool counts_steps_ = false;
  bool step_limit_met_ = false;
};

// Returns the position of the first statement in `text`, after white space, comments and empty statements.
std::size_t skip_blank(std::string_view text) noexcept;

// Makes the Error for `code`, which a function of SQLite has just returned for `handle`. `handle` may be null.
Error error_of(sqlite3* handle, int code);

}  // namespace keel::db::sqlite
