// keel/db/sqlite/connection.h — one SQLite connection, synchronous.
//
// Database (sqlite/database.h) is built on it; for tools and migrations it is sufficient alone. It uses WAL mode,
// enforces foreign keys, does not map the file into memory, and opens the database in defensive mode with an untrusted
// schema.
//
// Errors:   AlreadyExists (unique, primary key), Conflict (foreign key, including a deferred one; busy snapshot),
//           InvalidArgument (check, not null, type, a value with which SQL cannot compute, wrong SQL in prepare() and
//           run_script()), Internal (wrong SQL in the program itself, such as a missing table; a value read as a type
//           that cannot hold it, db/row.h), Unavailable (busy, locked, read-only, cannot open, I/O), ResourceExhausted
//           (disk full, too big, no memory), DataLoss (corrupt, not a database), Cancelled (interrupted). The message
//           is SQLite's; the error is from the environment, and the error of a statement names the statement and the
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

// When a commit is guaranteed to be on the disk.
enum class Synchronous : std::uint8_t {
  Off,     // A crash of the machine may corrupt the file: for tests and imports.
  Normal,  // A crash of the machine may lose the last commits.
  Full,    // The changes of a transaction are on the disk after its commit.
};

// File, access and limits of a connection.
struct ConnectionOptions {
  // The file; ":memory:" is for tests of one connection. A new file and its WAL and index get mode 0600; an existing
  // file keeps its mode.
  std::string path = {};
  Access access = Access::ReadWrite;
  Synchronous synchronous = Synchronous::Full;
  Duration busy_timeout = 5_s;  // How long to wait for a lock that another process holds.
  int cache_kib = 4096;         // The page cache of each connection: a larger one takes more memory and saves reads.
  int statements_max = 128;     // Prepared statements kept.
  // A commit that leaves at least this many pages in the WAL moves them to the file (wal_watch.h). 0: no commit moves
  // them.
  int checkpoint_pages = 1000;
  const char* vfs = nullptr;  // The name of a registered VFS, for tests.
};

class Connection {
 public:
  // A writing connection first rewrites and syncs the frames that it finds in the WAL, so that later commits build on
  // durable data; for this it waits for other writers for at most busy_timeout.
  static Result<std::unique_ptr<Connection>> open(const ConnectionOptions& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Prepares one statement with placeholders $1, $2, … or $name. InvalidArgument: the text has more than one statement
  // or none, or its statement would change transactions, settings or files without Database's knowledge (begin,
  // savepoint, pragma, attach, vacuum, …).
  Result<Statement> prepare(std::string_view text);
  // Prepares any statement, including those that control transactions: for Keel's own use.
  Result<Statement> prepare_control(std::string_view text);
  StatementCache& statements() noexcept { return statements_; }

  // Runs a cached statement.
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

  // Runs trusted text of any number of statements without placeholders. After an error, `line` (if given) is the line
  // of the failing statement, or of the mistake in it, counted from 1. With Control::Refused, the restriction of
  // prepare() applies.
  enum class Control : std::uint8_t { Allowed, Refused };
  Result<> run_script(std::string_view text, int* line = nullptr, Control control = Control::Allowed);

  // The number of rows that the last writing statement has changed.
  std::int64_t changes() const noexcept;
  std::int64_t total_changes() const noexcept;
  std::int64_t last_insert_id() const noexcept;
  void forget_last_insert_id() noexcept;

  // False within a transaction. SQLite may end a transaction by itself after an error.
  bool is_autocommit() const noexcept;
  // How long a statement waits for a lock that another process holds; initially the value in the options.
  Duration busy_timeout() const noexcept { return busy_timeout_; }
  void set_busy_timeout(Duration timeout) noexcept;
  // Whether any rows currently violate a deferred foreign key.
  bool has_deferred_violations() const noexcept;

  // Interrupts a statement that runs between start_steps() and stop_steps() after `steps` steps of SQLite's virtual
  // machine; 0: never. step_limit_met() tells whether this limit interrupted it.
  void limit_steps(int steps) noexcept;
  void start_steps(Statement& statement) noexcept;
  void stop_steps() noexcept { counts_steps_ = false; }
  bool step_limit_met() const noexcept { return step_limit_met_; }

  // Interrupts the running statement; may be called on any thread.
  void interrupt() noexcept;
  // Moves the WAL into the file and empties it. Unavailable while a reader still needs it.
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

// Makes the Error for `code`, which a function has just returned for `handle`. `handle` may be null.
Error error_of(sqlite3* handle, int code);

}  // namespace keel::db::sqlite
