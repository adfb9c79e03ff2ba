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
// Each loop has `connections` sessions of its own, and replaces a session that ends. The reads that start within one
// iteration of a loop are sent as one group with one Sync; each read still sees all data that was committed before it
// began. A statement is a read if it begins with select, values, table, show or with, and contains no keyword that can
// change data. If a read calls a function that changes data, write `-- volatile` into the text of the statement. A
// write has a connection to itself, and is committed when it completes. But waiting writes whose texts contain
// `-- group` share one transaction: all of them complete after the commit, and if one fails, each is run separately.
//
// A statement is prepared when a connection first runs it, and stays prepared; a connection keeps at most
// `statements_max` prepared statements. An interactive transaction has a connection to itself for at most `hold_max`;
// after that time the transaction is rolled back, and its statements fail with DeadlineExceeded. Each statement of the
// transaction is sent together with a savepoint before it, so that the transaction can continue after a statement that
// fails.
//
// stream(), copy_in() and copy_out() keep a connection until they end; stream() and copy_out() also keep the snapshot
// of a read-only transaction. hold_max does not apply to these three functions. A connection that is older than
// `max_age` is replaced when it is no longer in use.
//
// Values:    types.h lists the types that are supported. Named parameters ($sku) are sent as $1, $2, ….
// Result:    as in db/session.h. Written::last_insert_id is the value of the first column in the first row that an
//            insert with `returning` returns, if that column is an integer; else 0.
// Ownership: as in db/session.h.
// Errors:    those of db/session.h; error.h lists the code for each SQLSTATE, and its class ServerError contains the
//            constraint and the detail. ResourceExhausted: no connection was free for `wait_max`, or `waiting_max`
//            calls are already waiting. Unavailable: no server can be reached at present (the message says which
//            server, and why), or the connection was lost during a write; in the latter case, it is unknown whether the
//            write took effect, and the message says so. FailedPrecondition: the calling task does not run on a loop.
//            Internal: the statement begins or ends a transaction, or sets a savepoint.
// Repeats:   a statement is sent again only if it had no effect: either the server skipped it after another statement
//            failed, or the server no longer has it prepared (26000). A read whose response was lost with its
//            connection is sent again once.
// Cancel:    a waiting statement is removed from the queue. If a statement has been sent, the server is asked to cancel
//            it, and the server's response decides: a write either takes effect, or fails with Cancelled and has no
//            effect. If a server does not respond within `cancel_grace`, the connection is closed. If a transaction's
//            connection is lost between two statements, the transaction ends with Unavailable and has no effect.
// Idle:      idle connections are not tested by sending statements. A server that shuts down closes its idle
//            connections; a server that vanishes is detected by TCP keep-alive (four probes 5 s apart after 30 s of
//            silence), and at the latest by `max_age`.
// Lifetime:  must outlive its tasks. The connections of a Database live on loops: before the loops end, call detach()
//            for each of them, or close(), and run the loops until is_detached() (an App does this).
// Threads:   any thread that runs a loop; a transaction stays on its loop.
// Cost:      a statement takes two messages, and a share of one send and one receive; no heap in steady state while
//            results are smaller than 64 KiB.

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

// The address of the server, the folder of migrations, and the limits for connections, calls, sizes and times.
struct DatabaseOptions {
  // The address of the server and the user to log in as: a URI or key=value pairs (options.h).
  std::string url = {};
  // Whether settings that the URL leaves out are taken from the PG… environment variables and the password file.
  bool uses_environment = true;
  std::string migrations = {};  // The folder of NNNN_name.sql files that open() applies; empty: none (db/migrations.h).
  // The number of connections of each loop, 1 to 256. With more connections, more statements can run at the same time;
  // but the server has a process for each connection.
  int connections = 2;
  Duration wait_max = 5_s;         // How long a call waits for a free connection before it fails.
  std::size_t waiting_max = 4096;  // Maximum number of waiting calls on each loop.
  // Maximum number of statements that share one Sync, 1 to 500; with 1, no statements share a Sync.
  std::size_t group_max = 256;
  std::size_t statements_max = 256;           // Maximum number of prepared statements of each connection, 1 or more.
  std::size_t rows_bytes_max = 64u << 20;     // A result larger than this is an error.
  std::size_t message_bytes_max = 64u << 20;  // A row larger than this is an error that ends the connection.
  Duration hold_max = 10_s;                   // The longest time that a transaction may keep its connection.
  // The server ends a statement that takes longer than this (statement_timeout). A server that sends nothing for
  // statement_timeout plus cancel_grace counts as lost. If zero, the server's own setting applies, and a server that
  // vanishes is detected by TCP alone.
  Duration statement_timeout = 60_s;
  // A connection that reaches this age is closed and replaced when it is no longer in use; each connection's age limit
  // is shortened by a random part of up to a fifth, so that connections are not all replaced at the same time. Zero:
  // never.
  Duration max_age = 30_min;
  // If a transaction is open for longer than this, that is logged at level warn, with the call that began the
  // transaction. Zero: nothing is logged.
#ifdef NDEBUG
  Duration held_warning = {};
#else
  Duration held_warning = 1_s;
#endif
  // How long to wait for the response to a cancelled statement; after that, the connection is closed.
  Duration cancel_grace = 5_s;
  // Whether a pooler in front of the server may run each transaction in a different session (pgbouncer in transaction
  // mode). With a pooler, statements are sent unnamed, and the server parses them each time.
  bool pooler = false;
  // After a failed attempt to connect, the wait before the next attempt is random: at least reconnect_min, and at most
  // the smaller of reconnect_max and three times the previous wait.
  Duration reconnect_min = 20_ms;
  Duration reconnect_max = 500_ms;
  // The executor for lookups of host names and other blocking calls; null: the database uses its own thread. A
  // simulation passes its own executor.
  Executor* executor = nullptr;
  // Resolves host names to addresses; if empty, the system's resolver is used.
  Function<Result<std::vector<Address>>(const std::string& host)> look_up = {};
};

// The counters of a database.
struct DatabaseStats {
  std::uint64_t connections = 0;  // Connections open now.
  std::uint64_t in_use = 0;       // Connections that run a statement or a transaction.
  std::uint64_t waiting = 0;      // Calls that are waiting for a connection now.
  std::uint64_t waits = 0;        // Calls that found no free connection, and had to wait.
  Duration wait_time;             // The total time that calls waited.
  std::uint64_t timeouts = 0;     // Calls that failed because no connection became free within wait_max.
  // Calls that were rejected because waiting_max calls were already waiting, or because no server was reachable.
  std::uint64_t refused = 0;
  std::uint64_t connects = 0;  // Sessions begun.
  std::uint64_t connect_failures = 0;
  std::uint64_t lost = 0;      // Connections that were lost while they were in use.
  std::uint64_t retired = 0;   // Connections that were replaced because of max_age.
  std::uint64_t reads = 0;     // Reads completed.
  std::uint64_t writes = 0;    // Writes completed.
  std::uint64_t groups = 0;    // Syncs that were sent for reads and writes.
  std::uint64_t repeated = 0;  // Statements that were sent again.
  std::uint64_t failures = 0;  // Statements that the server rejected, except those of check_writes().
  // The failures that occurred because the server's disk was full or failed.
  std::uint64_t disk_errors = 0;
  std::uint64_t checks_failed = 0;    // Calls of check_writes() that the server rejected.
  std::uint64_t cancels = 0;          // Statements cancelled at the server.
  std::uint64_t prepared = 0;         // Statements prepared.
  std::uint64_t transactions = 0;     // Transactions begun.
  std::uint64_t expired = 0;          // Transactions that were rolled back because they had lasted for hold_max.
  std::uint64_t connections_max = 0;  // The sum of `connections` over all attached loops.
  Duration age;                       // The age of the oldest open connection.
};

class Database final : public db::Database {
 public:
  // Connects once, to check that the server is reachable and accepts the login, and then applies the migrations.
  // Blocks: call it on a thread that runs no loop. The error names the server and the reason.
  static Result<std::unique_ptr<Database>> open(DatabaseOptions options);
  // Makes a database without connecting: only the options are checked, and loops connect later. InvalidArgument: the
  // URL is malformed; the message says where.
  static Result<std::unique_ptr<Database>> make(DatabaseOptions options);
  ~Database() override;  // Requires is_detached().

  // Begins to connect immediately; without this call, the loop connects at its first statement.
  Result<> attach(io::Loop& loop) override;
  // Call it on the loop's thread. Fails the waiting calls, and ends the loop's connections; keep the loop running until
  // is_detached().
  void detach(io::Loop& loop) noexcept override;
  // Detaches all loops. On a thread without a loop, close() blocks until the loops are detached, for at most 10 s.
  void close() noexcept override;
  // True if no loop has a connection left.
  bool is_detached() const override;
  bool is_idle() const override;

  // Runs a text that contains several statements without parameters; the rows that they return are dropped. The
  // statements run in one transaction, unless the text contains a statement that cannot be in a transaction, such as
  // "create database". InvalidArgument: the script is run within a transaction, and contains a statement that begins or
  // ends a transaction.
  Task<> run_script(std::string script);
  Task<> run_script(Transaction& transaction, std::string script);

  // Receives the notifications on `channel` that are committed after this call completes (notifications.h).
  Task<Notifications> listen(std::string channel);

  // Writes rows of T by COPY into those columns of `table` ("lines", "sales.lines") that have the names of T's fields:
  // either all rows, or none. Calls `body`, a Task<>(CopyRows<T>&) that writes the rows (copy.h); completes with the
  // number of rows when the server has stored them. If the body fails, the COPY is abandoned. The COPY runs in its own
  // transaction, to which hold_max and statement_timeout do not apply, or within the given transaction.
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
  // Does the same as stream(), but with COPY, which is faster for many rows and takes no parameters. The server sends
  // rows no faster than `on_rows` processes them. Unsupported: a column has a type that types.h reads as text; the
  // message names the column.
  template <class T, class F>
  Task<std::size_t> copy_out(SqlFor<0> sql, F&& on_rows) {
    return copy_out_as<T>(sql, on_rows, 0);
  }
  template <class T, class F>
  Task<std::size_t> copy_out(Transaction& transaction, SqlFor<0> sql, F&& on_rows) {
    return copy_out_as<T>(sql, on_rows, number_of(transaction));
  }

  Task<> check_reads() override;
  // If a statement has failed because the server's disk was full or failed, or because the server is read-only, inserts
  // a row into a temporary table, and returns an error if that fails. The user needs the privilege TEMPORARY; without
  // this privilege, the check fails once after each statement that could not write. Sends nothing otherwise.
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
  // Begins a transaction to which hold_max does not apply.
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
