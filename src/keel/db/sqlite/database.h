// keel/db/sqlite/database.h — an SQLite database for a whole process.
//
//   KEEL_TRY(auto database, db::sqlite::Database::open({.path = "data/app.db", .migrations = "db/migrations"}));
//
//   Task<User> find(db::Session& session, std::int64_t id) {
//     co_return co_await session.query_one<User>("select id, name from users where id = $1", id);
//   }
//   Task<std::int64_t> add(db::Session& session, std::string name) {
//     auto written = co_await session.execute("insert into users (name) values ($1)", name);
//     co_return written.last_insert_id;                   // on disk
//   }
//
// Reads run on the loop that requests them, on the loop's own connection; the reads of one event-loop iteration share a
// snapshot, and every read sees all acknowledged writes (reader.h). A read that takes more than `loop_steps_max` steps
// is interrupted, returns nothing, and runs again on the `database` pool. All writes go to one thread, which commits
// them in groups (writer.h); when a write completes, it is on the disk. SQLite itself determines whether a statement
// reads or writes; therefore `query…` also accepts `insert … returning`. An interactive transaction holds the writer
// exclusively until the transaction ends, for at most `writer.hold_max`; after that time its statements fail with
// DeadlineExceeded. The statements of the transaction run on the writer's thread. An error ends the transaction if
// SQLite rolls it back because of the error (`on conflict rollback`, an I/O error, a full disk).
//
// Transactions are always serializable. A read-only transaction does not use the writer: its statements run on the
// pool, on a separate connection, which keeps one snapshot from the beginning of the transaction to its end. At most 64
// read-only transactions can be open. While a read-only transaction is open, the WAL cannot be emptied.
//
// stream() reads on the pool, 64 KiB of rows at a time, with a separate connection and one snapshot; until the stream
// ends, the WAL cannot be emptied. stream() accepts only statements that read, and cannot be part of a transaction.
// backup() also runs on the pool with one snapshot, and copies 1 MiB at a time (backup.h).
//
// Result:    as in db/session.h, which also states the ownership.
// Errors:    those of db/session.h. The codes of single statements are those of sqlite/connection.h. In addition:
//            ResourceExhausted (the queue or the pool is full, or the result is too large) and Unavailable (the
//            database is closing; or there was an I/O error or a full disk: the message says that the write did
//            not take effect, or that this is unknown).
// Lifetime:  must outlive its tasks. All loops on which a read has run must have stopped before the database is
//            destroyed.
// Threads:   any thread; tasks run on executors.
// Cancel:    a waiting write is removed from the queue and has no effect; a write that has begun is completed. A read
//            that runs on the pool is interrupted.
// Cost:      a read on the loop takes no heap; the first read of an iteration also begins the snapshot. A write costs a
//            share of one fsync. sqlite_bench has the figures.

#pragma once

#include <memory>
#include <string>

#include "keel/db/database.h"
#include "keel/db/sqlite/connection.h"
#include "keel/db/sqlite/writer.h"

namespace keel::db::sqlite {

// The file, the pool and the limits of a database.
struct DatabaseOptions {
  // The path of the file, which is created with mode 0600; its folder must exist. A database in memory is not
  // supported, because the connections of a Database must share the data.
  std::string path = "data/app.db";
  std::string migrations = {};  // The folder of NNNN_name.sql files that open() applies; empty: none (migrations.h).
  Synchronous synchronous = Synchronous::Full;
  // How long a write waits for a lock that another process holds, counted from the call; after that time the write
  // fails with Unavailable and has no effect.
  Duration busy_timeout = 5_s;
  int cache_kib = 4096;         // Per connection.
  int statements_max = 128;     // The maximum number of prepared statements that each connection keeps.
  int checkpoint_pages = 1000;  // See ConnectionOptions.
  // The number of threads, each with a connection, for reads that are too long for a loop.
  int pool_size = 2;
  std::size_t pool_queued_max = 1024;  // The maximum number of reads that may wait for the pool.
  // The maximum number of steps of a read on the loop; the default number of steps takes much less than 1 ms. 0: all
  // reads run on the pool.
  int loop_steps_max = 20'000;
  std::size_t loop_rows_bytes_max = 256 * 1024;  // A read with a larger result than this runs on the pool.
  std::size_t rows_bytes_max = 64u << 20;        // A result larger than this is an error.
  // Between its reads, each loop keeps the memory of its rows if that memory has at most this size; larger memory is
  // freed after the read. A larger value avoids the allocations for large results, but takes that much memory for each
  // loop.
  std::size_t buffer_bytes = 64 * 1024;
  WriterOptions writer = {};
  // A read-only transaction that is open for longer than this is logged at level warn, with the call that began the
  // transaction.
  // If held_warning is zero, no such transaction is logged.
#ifdef NDEBUG
  Duration held_warning = {};
#else
  Duration held_warning = 1_s;
#endif
  const char* vfs = nullptr;  // See ConnectionOptions.
  // If this executor is set, the writer and the long reads run on it instead of on threads, whatever `pool_size` is;
  // simulations use this (writer.h). If an executor is set, the database must be idle when it is closed.
  // InvalidArgument: the executor has no clock, as is the case for InlineExecutor.
  Executor* executor = nullptr;
};

// The counters of a database.
struct DatabaseStats {
  std::uint64_t loop_reads = 0;  // Reads that were completed on the loop that requested them.
  // Reads that began on a loop, and were interrupted because they exceeded the loop's limits.
  std::uint64_t budget_exceeded = 0;
  std::uint64_t known_long = 0;  // Reads that were sent directly to the pool, because they are known to be long.
  std::uint64_t pool_reads = 0;  // Reads that were completed on the pool.
  std::uint64_t snapshots = 0;   // Snapshots that loops have begun.
  // Snapshots that replaced another snapshot within an event-loop iteration, because a write had been committed.
  std::uint64_t snapshots_renewed = 0;
  std::size_t pool_queued = 0;        // Reads that are waiting for the pool now.
  std::uint64_t pool_refused = 0;     // Reads that were rejected because too many reads were waiting for the pool.
  int readers = 0;                    // The connections of loops and of the pool's threads.
  std::uint64_t backups = 0;          // Copies completed.
  std::size_t read_transactions = 0;  // Read-only transactions that are open now.
  Duration read_transaction_age;      // How long the oldest open read-only transaction has been open.
  WriterStats writer;
};

class Database final : public db::Database {
 public:
  // Opens or creates the file, applies the migrations and starts the writer. Logs a warning for each file of the
  // database that users other than the file's owner and group may read or write.
  static Result<std::unique_ptr<Database>> open(const DatabaseOptions& options);
  ~Database() override;  // close()

  // Commits the queued writes and ends the threads; if an interactive transaction is open, waits until the transaction
  // ends or reaches its time limit. Moves the pages of the WAL into the file as far as snapshots allow.
  void close() noexcept override;
  Result<> attach(io::Loop& loop) override;

  // Reads synchronously on the calling thread, for handlers that are not tasks. Errors: Unavailable if the read exceeds
  // the loop's limit of steps or bytes (await query() instead); InvalidArgument if the statement writes.
  template <class... A>
  Result<std::size_t> read_now(SqlOf<A...> sql, FunctionRef<void(const Row&)> on_row, const A&... arguments) {
    return with_arguments(
        sql, [&](std::span<const Value> values) { return read_values_now(sql, values, on_row); }, arguments...);
  }

  // Runs several statements as one write: `body` runs on the writer's thread within one savepoint; if `body` returns
  // success, the changes are committed; otherwise they are rolled back. `body` must be fast, because all writes wait
  // for it. If the group of the write is lost, `body` is called a second time, after the changes of the first call have
  // been rolled back.
  Task<> transact(FunctionRef<Result<>(Connection&)> body);
  using Session::transact;

  Task<> check_reads() override;
  Task<> check_writes() override;
  // Commits a write that changes nothing, to find out whether the disk accepts writes.
  Task<> try_write();

  PoolStats pool() const override;
  void watch(Function<void()> on_change) override;
  Task<> backup(std::string path) override;

  std::vector<metrics::GaugeFunction> expose(metrics::Registry& registry) override;
  DatabaseStats stats() const;
  const DatabaseOptions& options() const noexcept;
  bool is_idle() const override;

 private:
  friend class DatabaseCall;
  struct State;
  explicit Database(std::unique_ptr<State> state);

  Task<Transaction> begin_transaction(TransactionOptions options, std::source_location place) override;
  Task<std::size_t> query_rows(Sql sql, Arguments arguments, FunctionRef<void(const Row&)> on_row,
                               std::uint64_t transaction) override;
  Task<Written> execute_values(Sql sql, Arguments arguments, std::uint64_t transaction) override;
  Task<std::size_t> stream_rows(Sql sql, Arguments arguments, FunctionRef<Task<>(Rows&)> on_rows) override;
  Task<> commit(std::uint64_t transaction) override;
  void roll_back(std::uint64_t transaction) noexcept override;
  Task<Savepoint> savepoint(std::uint64_t transaction) override;
  Task<> release(std::uint64_t transaction, std::uint64_t savepoint) override;
  void roll_back_to(std::uint64_t transaction, std::uint64_t savepoint) noexcept override;
  Result<std::size_t> read_values_now(Sql sql, std::span<const Value> values, FunctionRef<void(const Row&)> on_row);

  std::unique_ptr<State> state_;
};

}  // namespace keel::db::sqlite
