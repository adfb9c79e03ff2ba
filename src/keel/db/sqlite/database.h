// keel/db/sqlite/database.h — an SQLite data base for a whole process.
//
//   KEEL_TRY(auto database, db::Database::open({.path = "data/app.db", .migrations = "db/migrations"}));
//
//   Task<User> find(db::Database& database, std::int64_t id) {
//     co_return co_await database.query_one<User>("select id, name from users where id = $1", id);
//   }
//   Task<std::int64_t> add(db::Database& database, std::string name) {
//     auto written = co_await database.execute("insert into users (name) values ($1)", name);
//     co_return written.last_insert_id;                   // on disk
//   }
//
// Reads run on the loop that asks, on a connection of its own; reads of one turn share a snapshot, and no read is older
// than any acknowledged write (reader.h). A read that takes more than `loop_steps_max` steps is interrupted, gives
// nothing, and runs again on the `database` pool. Writes go to one thread that commits them in groups (writer.h); a
// write that has completed is on disk. Whether a statement reads or writes is asked of SQLite: `query…` takes `insert …
// returning` too.
//
// Result:    query: the number of rows; rows are handed out on the awaiting executor, only when all are there.
// Errors:    those of sqlite/connection.h; NotFound (query_one without a row); ResourceExhausted (queue or pool full,
//            result too large); Unavailable (closing; after an I/O error or full disk: outcome unknown).
// Ownership: arguments are copied before the call returns; row callbacks are borrowed until the task completes and are
//            named on the line before, not written inside the awaiting expression (a compiler defect,
//            task/compiler_test.cc).
// Lifetime:  outlives its tasks. Loops that have read have stopped when it is destroyed.
// Threads:   any thread; tasks on executors.
// Cancel:    a write that waits is taken back and did not happen; one that has begun is completed first. A read on the
//            pool is interrupted.
// Cost:      a read on the loop: no heap; the first one of a turn pays for the snapshot as well. A write: its share of
//            one fsync. sqlite_bench has the figures.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "keel/db/row.h"
#include "keel/db/sql.h"
#include "keel/db/sqlite/connection.h"
#include "keel/db/sqlite/writer.h"
#include "keel/db/value.h"
#include "keel/task/task.h"

namespace keel::io {
class Loop;
}

namespace keel::db {

struct DatabaseOptions {
  std::string path = "data/app.db";  // The file; its folder exists. In memory is not offered: connections share it.
  std::string migrations = {};       // A folder of NNNN_name.sql, applied by open(); empty: none (migrations.h).
  sqlite::Synchronous synchronous = sqlite::Synchronous::Full;
  Duration busy_timeout = 5_s;         // Waiting for other processes.
  int cache_kib = 4096;                // Per connection.
  int statements_max = 128;            // Prepared statements per connection.
  int checkpoint_pages = 1000;         // See ConnectionOptions.
  int pool_size = 2;                   // Threads, each with a connection, for reads that are too long for a loop.
  std::size_t pool_queued_max = 1024;  // Reads that may wait for them.
  int loop_steps_max = 20'000;         // Budget of a read on the loop, well below 1 ms. 0: all reads on the pool.
  std::size_t loop_rows_bytes_max = 256 * 1024;  // A larger result is read on the pool.
  std::size_t rows_bytes_max = 64u << 20;        // A larger result is an error.
  sqlite::WriterOptions writer = {};
  const char* vfs = nullptr;  // See ConnectionOptions.
  // Runs the writer and the long reads instead of threads, `pool_size` or not: the pool of a simulation (writer.h).
  // Then the data base is closed when it is idle.
  Executor* executor = nullptr;
};

struct DatabaseStats {
  std::uint64_t loop_reads = 0;         // Completed on the loop that asked.
  std::uint64_t budget_exceeded = 0;    // Begun there and interrupted.
  std::uint64_t known_long = 0;         // Sent to the pool at once.
  std::uint64_t pool_reads = 0;         // Completed on the pool.
  std::uint64_t snapshots = 0;          // Begun by loops.
  std::uint64_t snapshots_renewed = 0;  // Of these: because of a commit within the turn.
  std::size_t pool_queued = 0;          // Waiting for the pool now.
  std::uint64_t pool_refused = 0;       // Not run because too many waited for it.
  int readers = 0;                      // Connections of loops and threads.
  sqlite::WriterStats writer;
};

class Transaction;

class Database {
 public:
  // Opens or creates the file, applies the migrations and starts the writer.
  static Result<std::unique_ptr<Database>> open(const DatabaseOptions& options);
  ~Database();  // close()

  // Commits what is queued and ends the threads; an interactive transaction is waited for until its time is over. Moves
  // the WAL into the file as far as snapshots allow. Later writes fail with Unavailable. Idempotent.
  void close() noexcept;

  // Opens `loop`'s connection now instead of at its first read.
  Result<> attach(io::Loop& loop);

  // Calls `on_row` with each row; the number of rows.
  template <class... A>
  Task<std::size_t> query(SqlFor<sizeof...(A)> sql, FunctionRef<void(const Row&)> on_row, const A&... arguments) {
    return query_rows(sql, pack(arguments...), on_row, 0);
  }
  // The first row, mapped by read_as<T> (row.h). NotFound when there is none.
  template <class T, class... A>
  Task<T> query_one(SqlFor<sizeof...(A)> sql, const A&... arguments) {
    return one<T>(sql, pack(arguments...));
  }
  template <class T, class... A>
  Task<std::optional<T>> query_optional(SqlFor<sizeof...(A)> sql, const A&... arguments) {
    return optional<T>(sql, pack(arguments...));
  }
  template <class T, class... A>
  Task<std::vector<T>> query_many(SqlFor<sizeof...(A)> sql, const A&... arguments) {
    return many<T>(sql, pack(arguments...));
  }
  // Runs it on the writer; rows are dropped.
  template <class... A>
  Task<Written> execute(SqlFor<sizeof...(A)> sql, const A&... arguments) {
    return execute_values(sql, pack(arguments...), 0);
  }

  // A read at once, for handlers that are not tasks. Only on the thread that asks: Unavailable when it takes more than
  // the loop's budget (await query() instead), InvalidArgument when the statement writes.
  template <class... A>
  Result<std::size_t> read_now(SqlFor<sizeof...(A)> sql, FunctionRef<void(const Row&)> on_row, const A&... arguments) {
    const Value values[sizeof...(A) + 1] = {Value(arguments)...};
    return read_values_now(sql, {values, sizeof...(A)}, on_row);
  }

  // Several statements as one write: `body` runs on the writer's thread under one savepoint, and what it did is
  // committed when it returns success, else rolled back. It must be quick, because all writes wait for it, and may be
  // called twice: when a group is lost, after the first call was rolled back.
  Task<> transact(FunctionRef<Result<>(sqlite::Connection&)> body);

  // An interactive transaction: it has the writer alone until it is committed, destroyed, or `writer.hold_max` is over.
  Task<Transaction> begin();

  // Commits something that changes nothing: whether the disk takes writes. For a health check while it did not.
  Task<> try_write();

  DatabaseStats stats() const;
  // No write and no long read waits or runs.
  bool is_idle() const;

 private:
  friend class Transaction;
  friend class DatabaseCall;
  struct State;
  explicit Database(std::unique_ptr<State> state);

  template <class... A>
  static Arguments pack(const A&... arguments) {
    const Value values[sizeof...(A) + 1] = {Value(arguments)...};
    return Arguments(std::span<const Value>(values, sizeof...(A)));
  }
  template <class T>
  Task<T> one(Sql sql, Arguments arguments) {
    std::optional<T> found;
    auto keep = [&found](const Row& row) {
      if (!found) found.emplace(read_as<T>(row));
    };
    co_await query_rows(sql, std::move(arguments), keep, 0);
    if (!found) co_return fail(Code::NotFound, "no such row");
    co_return *std::move(found);
  }
  template <class T>
  Task<std::optional<T>> optional(Sql sql, Arguments arguments) {
    std::optional<T> found;
    auto keep = [&found](const Row& row) {
      if (!found) found.emplace(read_as<T>(row));
    };
    co_await query_rows(sql, std::move(arguments), keep, 0);
    co_return std::move(found);
  }
  template <class T>
  Task<std::vector<T>> many(Sql sql, Arguments arguments) {
    std::vector<T> found;
    auto keep = [&found](const Row& row) { found.push_back(read_as<T>(row)); };
    co_await query_rows(sql, std::move(arguments), keep, 0);
    co_return std::move(found);
  }
  // `transaction`: 0, or the interactive one.
  Task<std::size_t> query_rows(Sql sql, Arguments arguments, FunctionRef<void(const Row&)> on_row,
                               std::uint64_t transaction);
  Task<Written> execute_values(Sql sql, Arguments arguments, std::uint64_t transaction);
  Result<std::size_t> read_values_now(Sql sql, std::span<const Value> values, FunctionRef<void(const Row&)> on_row);

  std::unique_ptr<State> state_;
};

// Destroyed without commit() it is rolled back. Movable. Errors: DeadlineExceeded once it held the writer for too long;
// Conflict when an error inside has ended it. Its statements run on the writer's thread, one at a time.
class [[nodiscard]] Transaction {
 public:
  Transaction(Transaction&& other) noexcept : database_(other.database_), id_(std::exchange(other.id_, 0)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  template <class... A>
  Task<std::size_t> query(SqlFor<sizeof...(A)> sql, FunctionRef<void(const Row&)> on_row, const A&... arguments) {
    return database_->query_rows(sql, Database::pack(arguments...), on_row, id_);
  }
  template <class... A>
  Task<Written> execute(SqlFor<sizeof...(A)> sql, const A&... arguments) {
    return database_->execute_values(sql, Database::pack(arguments...), id_);
  }
  // Success: on disk. Afterwards the transaction is over, whatever the result.
  Task<> commit();

 private:
  friend class Database;
  Transaction(Database& database, std::uint64_t id) noexcept : database_(&database), id_(id) {}
  Database* database_;
  std::uint64_t id_;
};

}  // namespace keel::db
