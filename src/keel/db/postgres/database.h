// keel/db/postgres/database.h — a PostgreSQL database for a whole process.
//
//   KEEL_TRY(auto database, db::postgres::Database::open({.url = "postgres://app@db.example/shop?sslmode=verify-full",
//                                                         .migrations = "db/migrations"}));
//
//   Task<User> find(db::Session& session, std::int64_t id) {
//     co_return co_await session.query_one<User>("select id, name from users where id = $1", id);
//   }
//   Task<std::int64_t> add(db::Session& session, std::string name) {
//     auto written = co_await session.execute("insert into users (name) values ($1) returning id", name);
//     co_return written.last_insert_id;                   // the first column of what is returned; committed
//   }
//
// Each loop has `connections` sessions of its own, and connects them again when they end. The reads that a loop is
// asked for within one iteration go out as one group with one Sync; each still sees what was committed when it began. A
// read is a statement that begins with select, values, table, show or with, and has no word that changes something;
// write
// `-- volatile` into one that calls a function which does. A write has a connection to itself and is committed when it
// completes. Writes with `-- group` in their text share a transaction with others of their kind that wait as well: all
// complete after its commit, and when one fails, each is run by itself.
//
// A statement is prepared at its first use on a connection, and stays prepared; `statements_max` of them. An
// interactive transaction has a connection to itself until it is over, at most `hold_max`; then it is rolled back, and
// its statements fail with DeadlineExceeded. Before each of its statements a savepoint is set, in the same packet, so
// that the transaction continues after one that fails.
//
// stream() and the two copies have a connection, and the snapshot of a read-only transaction, until they end; hold_max
// does not apply to them. A connection is made again when it is `max_age` old and nothing is under way on it.
//
// Values:    types.h has the types. Named parameters ($sku) are sent as $1, $2, ….
// Result,
// ownership: those of db/session.h. Written::last_insert_id is the first column of the first row of an insert that is
//            `returning` one, where that is an integer; else 0.
// Errors:    those of db/session.h, by SQLSTATE as error.h has them; ServerError (error.h) tells constraint and detail.
//            ResourceExhausted: no connection was free for `wait_max`, or `waiting_max` calls wait. Unavailable: no
//            server can be reached now (the message says which, and why), or the connection was lost while a write was
//            under way: then whether it happened is unknown, and the message says so. FailedPrecondition: the calling
//            task is on no loop.
// Repeats:   a statement is sent again only where it has not happened: what the server skipped behind one that failed,
//            or does not know any more (26000); and a read whose answer was lost with its connection, once.
// Cancel:    a statement that waits is taken back. One that was sent is cancelled at the server, and what the server
//            says is the result: a write either happened, or is Cancelled and has not. A server that does not say it
//            within `cancel_grace` loses the connection.
//            A transaction whose connection is lost between two statements ends with Unavailable, and did not happen.
// Idle:      a connection on which nothing is under way is not asked whether its server is still there. A server that
//            ends closes it; one that vanishes without a word is found out by TCP (four questions of 5 s after 30 s of
//            silence), and by `max_age`.
// Lifetime:  outlives its tasks. Its connections live on loops: detach() each loop, or close(), and let the loops turn
//            until is_detached(), before they end (an App does this).
// Threads:   any that runs a loop; a transaction stays on its loop.
// Cost:      a statement: two messages written and its share of one send and one receive; no heap in steady state while
//            a result has less than 64 KiB.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/time.h"
#include "keel/db/database.h"
#include "keel/db/postgres/copy.h"
#include "keel/db/postgres/notifications.h"
#include "keel/io/address.h"

namespace keel {
class Executor;
}

namespace keel::db::postgres {

// Where the server is, and the bounds of connections, waiting and time.
struct DatabaseOptions {
  // Where the server is and as which user to log in: a URI or key=value pairs (options.h).
  std::string url = {};
  // Whether PG… variables of the environment and the file of passwords give what the URL leaves out.
  bool uses_environment = true;
  std::string migrations = {};  // A folder of NNNN_name.sql, applied by open(); empty: none (db/migrations.h).
  // Of each loop, 1 to 256. More run more statements at the same time, and cost the server a process each.
  int connections = 2;
  Duration wait_max = 5_s;                    // How long a call waits for a connection that is free.
  std::size_t waiting_max = 4096;             // Calls that may wait, on each loop.
  std::size_t group_max = 256;                // Statements with one Sync; 1: each has its own. At most 500.
  std::size_t statements_max = 256;           // Prepared statements of each connection, 1 or more.
  std::size_t rows_bytes_max = 64u << 20;     // A larger result is an error.
  std::size_t message_bytes_max = 64u << 20;  // A larger row ends the connection.
  Duration hold_max = 10_s;                   // The longest time that a transaction has its connection.
  // The server ends a statement that takes longer (statement_timeout), and one that says nothing for cancel_grace more
  // is taken to be gone. Zero: as the server has it, and one that vanishes is found out by TCP alone.
  Duration statement_timeout = 60_s;
  // A connection is closed and made again when it is this old, at a random time up to a fifth earlier, and when nothing
  // is under way on it. Zero: never.
  Duration max_age = 30_min;
  // A transaction that is open for longer is a line of the log at level warn, with the call that began it. Zero: none.
#ifdef NDEBUG
  Duration held_warning = {};
#else
  Duration held_warning = 1_s;
#endif
  Duration cancel_grace = 5_s;  // How long the answer to a statement may take after it was cancelled.
  // A pooler stands before the server that gives each transaction another session (pgbouncer in transaction mode):
  // statements are sent unnamed, and parsed each time.
  bool pooler = false;
  // After a failure it is tried again at a random time between these two, three times as long as before at most.
  Duration reconnect_min = 20_ms;
  Duration reconnect_max = 500_ms;
  // Looks up host names, and whatever else blocks; null: a thread of its own. In a simulation its pool.
  Executor* executor = nullptr;
  // Host names to addresses; empty: the system's.
  Function<Result<std::vector<Address>>(const std::string& host)> look_up = {};
};

// The counters of a database.
struct DatabaseStats {
  std::uint64_t connections = 0;  // Now.
  std::uint64_t in_use = 0;       // Of these: a statement or a transaction is under way.
  std::uint64_t waiting = 0;      // Calls that wait for one now.
  std::uint64_t waits = 0;        // Calls that found no free connection.
  Duration wait_time;             // The sum of the times that they waited.
  std::uint64_t timeouts = 0;     // Calls that waited for wait_max.
  std::uint64_t refused = 0;      // Calls that were not queued because waiting_max waited, or no server was there.
  std::uint64_t connects = 0;     // Sessions begun.
  std::uint64_t connect_failures = 0;
  std::uint64_t lost = 0;          // Sessions that ended while they were in use.
  std::uint64_t retired = 0;       // Sessions closed because of max_age.
  std::uint64_t reads = 0;         // Statements completed.
  std::uint64_t writes = 0;        // The same.
  std::uint64_t groups = 0;        // Syncs that these took.
  std::uint64_t repeated = 0;      // Statements that were sent again.
  std::uint64_t failures = 0;      // Statements that the server rejected.
  std::uint64_t cancels = 0;       // Cancel requests sent.
  std::uint64_t prepared = 0;      // Statements prepared.
  std::uint64_t transactions = 0;  // Begun.
  std::uint64_t expired = 0;       // Rolled back after hold_max.
};

class Database final : public db::Database {
 public:
  // Connects once, which tells whether the server is there and lets us in, and applies the migrations. Blocks: where no
  // loop runs. The error names the server and the reason.
  static Result<std::unique_ptr<Database>> open(DatabaseOptions options);
  // Only looks at the options: loops connect later. InvalidArgument: of the URL, with what is wrong in it.
  static Result<std::unique_ptr<Database>> make(DatabaseOptions options);
  ~Database() override;  // is_detached() before.

  // Begins to connect, in place of the first statement.
  Result<> attach(io::Loop& loop) override;
  // On the loop's thread: completes what waits and ends the loop's connections. The loop turns until is_detached().
  void detach(io::Loop& loop) noexcept override;
  // Detaches all loops. On a thread without a loop it waits until that is done, for 10 s at most.
  void close() noexcept override;
  // No connection is left, on any loop.
  bool is_detached() const override;
  bool is_idle() const override;

  // Several statements in one text, without parameters; their rows are dropped. One transaction, unless the text says
  // something else, as "create database". InvalidArgument: within a transaction, a text that begins or ends one.
  Task<> run_script(std::string script);
  Task<> run_script(Transaction& transaction, std::string script);

  // What others notify on `channel`, from when this completes (notifications.h).
  Task<Notifications> listen(std::string channel);

  // Rows of T into the columns of `table` ("lines", "sales.lines") that its fields name, by COPY: all of them, or none.
  // Awaits `body`, Task<>(CopyRows<T>&) (copy.h), and then the server, and gives the number of rows. An error of the
  // body gives the COPY up. It is a transaction of its own, to which hold_max and statement_timeout do not apply, or a
  // part of one.
  template <class T, class F>
    requires std::is_invocable_v<F&, CopyRows<T>&>
  Task<std::size_t> copy_in(std::string_view table, F&& body) {
    return copy_in_as<T>(internal::copy_text(table, Fields<T>::names), body, 0);
  }
  template <class T, class F>
    requires std::is_invocable_v<F&, CopyRows<T>&>
  Task<std::size_t> copy_in(Transaction& transaction, std::string_view table, F&& body) {
    return copy_in_as<T>(internal::copy_text(table, Fields<T>::names), body, number_of(transaction));
  }
  // What stream() does, by COPY: faster for many rows, without parameters. The server sends no faster than `on_rows`
  // takes. Unsupported: a column of a type that types.h reads as text; the message names it.
  template <class T, class F>
  Task<std::size_t> copy_out(SqlFor<0> sql, F&& on_rows) {
    return copy_out_as<T>(sql, on_rows, 0);
  }
  template <class T, class F>
  Task<std::size_t> copy_out(Transaction& transaction, SqlFor<0> sql, F&& on_rows) {
    return copy_out_as<T>(sql, on_rows, number_of(transaction));
  }

  Task<> check_reads() override;
  // Success: whether writes are taken, each says by itself.
  Task<> check_writes() override;

  PoolStats pool() const override;
  void watch(Function<void()> on_change) override;
  std::vector<metrics::GaugeFunction> expose(metrics::Registry& registry) override;
  DatabaseStats stats() const;
  const DatabaseOptions& options() const noexcept;
  // For logs: "app@db.example:5432/shop".
  const std::string& where() const noexcept;

 private:
  struct State;
  friend class Migrating;
  explicit Database(std::unique_ptr<State> state);

  Task<Transaction> begin_transaction(TransactionOptions options, std::source_location place) override;
  Task<std::size_t> query_rows(Sql sql, Arguments arguments, FunctionRef<void(const Row&)> on_row,
                               std::uint64_t transaction) override;
  bool may_retry(const Error& error) const noexcept override;
  Task<Written> execute_values(Sql sql, Arguments arguments, std::uint64_t transaction) override;
  Task<> commit(std::uint64_t transaction) override;
  void roll_back(std::uint64_t transaction) noexcept override;
  Task<Savepoint> savepoint(std::uint64_t transaction) override;
  Task<> release(std::uint64_t transaction, std::uint64_t savepoint) override;
  void roll_back_to(std::uint64_t transaction, std::uint64_t savepoint) noexcept override;
  Task<std::size_t> stream_rows(Sql sql, Arguments arguments, FunctionRef<Task<>(Rows&)> on_rows) override;
  // Without hold_max.
  Task<Transaction> begin_unbounded(std::string_view begin);
  Task<> script(std::string script, std::uint64_t transaction);
  template <class T>
  Task<std::size_t> copy_in_as(std::string sql, FunctionRef<Task<>(CopyRows<T>&)> body, std::uint64_t transaction) {
    auto pass = [body](CopySink& sink) { return pass_sink<T>(sink, body); };
    co_return co_await copy_rows_in(std::move(sql), pass, transaction);
  }
  template <class T>
  static Task<> pass_sink(CopySink& sink, FunctionRef<Task<>(CopyRows<T>&)> body) {
    CopyRows<T> rows(sink);
    co_await body(rows);
  }
  template <class T>
  Task<std::size_t> copy_out_as(Sql sql, FunctionRef<Task<>(std::span<const T>)> on_rows, std::uint64_t transaction) {
    std::vector<T> batch;
    auto pass = [&batch, on_rows](Rows& rows) { return db::internal::pass_on<T>(rows, batch, on_rows); };
    co_return co_await copy_rows_out(sql, pass, transaction);
  }
  Task<std::size_t> copy_rows_in(std::string sql, FunctionRef<Task<>(CopySink&)> body, std::uint64_t transaction);
  Task<std::size_t> copy_rows_out(Sql sql, FunctionRef<Task<>(Rows&)> on_rows, std::uint64_t transaction);

  std::unique_ptr<State> state_;
};

}  // namespace keel::db::postgres
