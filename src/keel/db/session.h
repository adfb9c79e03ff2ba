// keel/db/session.h — the interface that all databases share: statements, and transactions of several statements.
//
//   Task<User> find(db::Session& session, std::int64_t id) {
//     co_return co_await session.query_one<User>("select id, name from users where id = $1", id);
//   }
//   Task<> transfer(db::Session& session, std::int64_t from, std::int64_t to, std::int64_t cents) {
//     db::Transaction transaction = co_await session.begin();
//     auto taken = co_await transaction.execute(
//         "update accounts set cents = cents - $1 where id = $2 and cents >= $1", cents, from);
//     if (taken.changes == 0) co_await fail(Code::Conflict, "the account does not have that much");
//     co_await transaction.execute("update accounts set cents = cents + $1 where id = $2", cents, to);
//     co_await transaction.commit();                 // destroyed without it: rolled back
//   }
//
// When a row is read into a struct, each field is read from the column of the same name (row.h). If the only argument
// of a statement is a struct, its fields are the named parameters (sql.h):
//
//   const auto orders = co_await session.query_many<Order>("select id, customer from orders where state = $1", state);
//   co_await session.execute("insert into lines (sku, quantity) values ($sku, $quantity)", line);
//
// A result larger than memory is read in parts; the next part is read after the callback for the previous part has
// completed:
//
//   Task<> write(std::span<const Order> orders);
//   co_await session.stream<Order>("select id, customer from orders order by id", write);
//
// With a savepoint, a part of a transaction can fail while the rest of the transaction continues:
//
//   db::Savepoint point = co_await transaction.savepoint();
//   const auto booked = co_await attempt(book(transaction, seat));
//   if (booked) co_await point.release();            // destroyed without it: what was done since is undone
//
// A transaction may have an isolation level, and may be read-only. If the database aborts a transaction because of a
// concurrent transaction, transact() runs the body again from its beginning:
//
//   auto move = [&](db::Transaction& transaction) -> Task<> { co_await transaction.execute(…); };
//   co_await session.transact({.isolation = db::Isolation::Serializable}, move);
//   // One snapshot for all its queries:
//   auto report = co_await session.begin({.isolation = db::Isolation::RepeatableRead, .read_only = true});
//
// A back end derives from Session and implements its virtual functions; the typed calls pack their arguments into one
// flat array and call these virtual functions. Each back end has a folder below db/, and a header there that documents
// what the back end adds.
//
// Result:    query() returns the number of rows; it calls `on_row` on the executor of the awaiting task, after all rows
//            have arrived. execute() returns the number of changed rows, as soon as the change is as durable as the
//            database promises. stream() returns the number of rows, which all belong to one snapshot.
// Errors:    AlreadyExists (a unique key), Conflict (a foreign key; a transaction that has been ended by an error),
//            InvalidArgument (a check, a null, a type), NotFound (query_one without a row), ResourceExhausted (a queue
//            is full, or a result is too large), Unavailable (the database is closing, or the data cannot be accessed;
//            in the latter case it may be unknown whether a write took effect), DataLoss, Internal (wrong SQL; a value
//            that is read as another type, row.h; a write of the session that would wait for a transaction that its own
//            task holds), DeadlineExceeded, Cancelled, and Unsupported (stream() of a database that cannot stream). The
//            message is that of the database. All errors except NotFound, Cancelled and a full queue are from the
//            environment (base/error.h), so a server responds to them with a status of 500 or above. These errors name
//            the statement and the place of the call. on_error() (task/on_error.h) can turn the error of a unique key
//            into a 409.
// Bugs:      a statement is run on a Transaction that was moved from (base/bug.h).
// Ownership: arguments are copied before the call returns; row callbacks are borrowed until the task completes. A
//            callback whose captures have destructors must be a named variable, and so must a struct of arguments that
//            has a destructor: a temporary within an awaited expression does not compile, because GCC 12 would destroy
//            it twice (task/compiler_test.cc).
// Lifetime:  a session must outlive its tasks and transactions.
// Threads:   any thread; tasks run on executors.
// Cancel:    the stop token or the deadline of the awaiting task cancels a call. A write that waits is removed and has
//            no effect; a write that has begun is completed. A running read is interrupted.
// Cost:      one indirect call for each statement, and one call of `on_row` for each row; reading a column makes no
//            indirect call. No heap.

#pragma once

#include <optional>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

#include "keel/base/time.h"
#include "keel/db/row.h"
#include "keel/db/sql.h"
#include "keel/db/value.h"
#include "keel/task/task.h"

namespace keel::db {

class Savepoint;
class Session;
class Transaction;

namespace internal {
// Whether a T that is created within an awaited expression must be rejected, because GCC 12 would destroy the object
// twice (task/compiler_test.cc).
template <class T>
concept MadeInCall =
    !std::is_reference_v<T> && StructArgument<std::remove_const_t<T>> && !std::is_trivially_destructible_v<T>;
template <class T>
[[noreturn]] void refuse_made_in_call() {
  static_assert(!MadeInCall<T>,
                "the struct of the arguments must be a named variable, not a temporary: const Line line{...}; "
                "co_await session.execute(sql, line)");
  __builtin_unreachable();
}
}  // namespace internal

// Called by the functions that `keel gen sql` writes, so that the compiler shows this message.
template <class T>
void refuse_made_in_call() noexcept {
  static_assert(std::is_trivially_destructible_v<T>,
                "the struct of a query's parameters must be a named variable, not a temporary: const "
                "queries::AddOrderParams order{...}; "
                "co_await queries::add_order(session, order)");
}

// The result of execute(): the number of changed rows, and the last inserted id.
struct Written {
  std::int64_t changes = 0;         // The rows that the statement itself inserted, updated or deleted.
  std::int64_t last_insert_id = 0;  // 0 if the statement inserted nothing.
};

// Which changes of other transactions a transaction sees. A database may use a stronger level than the one requested:
// SQLite always uses Serializable.
enum class Isolation : std::uint8_t {
  Default,        // The database's own default.
  ReadCommitted,  // Each statement sees the data that was committed before the statement began.
  // All statements see the data that was committed before the transaction's first statement began. Conflict: another
  // transaction has changed a row that this transaction also changes.
  RepeatableRead,
  // Transactions behave as if they ran one after the other in some order. Conflict: no serial order of the transactions
  // has the same effect.
  Serializable,
};

// How a transaction is isolated from concurrent transactions.
struct TransactionOptions {
  Isolation isolation = Isolation::Default;
  // If true, the transaction only reads: a statement that would change data fails with FailedPrecondition. A read-only
  // transaction never waits for a writer, and no writer waits for it.
  bool read_only = false;
  // If true, the first statement of a transaction that is Serializable and read_only may wait until a Conflict is no
  // longer possible.
  bool deferrable = false;
};

// Options of transact(): the maximum number of attempts, and the limits of the pause between two attempts. The pause is
// random; its maximum grows from pause_min to pause_max.
struct RetryOptions {
  int attempts_max = 10;
  Duration pause_min = 2_ms;
  Duration pause_max = 200_ms;
};

// The typed calls that Session and Transaction share: a function that takes a Queries& works with both.
class Queries {
 public:
  // Calls `on_row`, a void(const Row&), with each row; returns the number of rows.
  template <class F, class... A>
  Task<std::size_t> query(SqlOf<A...> sql, F&& on_row, const A&... arguments);
  // Returns the first row, converted by read_as<T> (row.h). NotFound if there is no row: an HTTP client then gets 404
  // "not found", and the log line names the statement and its place.
  template <class T, class... A>
  Task<T> query_one(SqlOf<A...> sql, const A&... arguments);
  template <class T, class... A>
  Task<std::optional<T>> query_optional(SqlOf<A...> sql, const A&... arguments);
  template <class T, class... A>
  Task<std::vector<T>> query_many(SqlOf<A...> sql, const A&... arguments);
  // Runs the statement, and discards the rows that it returns.
  template <class... A>
  Task<Written> execute(SqlOf<A...> sql, const A&... arguments);

  // This overload exists only so that the compiler gives a clear message when the struct is created within the call.
  template <class F, internal::MadeInCall A>
  Task<std::size_t> query(const auto&, F&&, A&&) {
    internal::refuse_made_in_call<A>();
  }
  template <class T, internal::MadeInCall A>
  Task<T> query_one(const auto&, A&&) {
    internal::refuse_made_in_call<A>();
  }
  template <class T, internal::MadeInCall A>
  Task<std::optional<T>> query_optional(const auto&, A&&) {
    internal::refuse_made_in_call<A>();
  }
  template <class T, internal::MadeInCall A>
  Task<std::vector<T>> query_many(const auto&, A&&) {
    internal::refuse_made_in_call<A>();
  }
  template <internal::MadeInCall A>
  Task<Written> execute(const auto&, A&&) {
    internal::refuse_made_in_call<A>();
  }

 protected:
  // `transaction` is the number of the transaction to which the statements belong, or 0.
  Queries(Session& session, std::uint64_t transaction) noexcept : session_(&session), transaction_(transaction) {}
  Queries(const Queries&) = delete;
  Queries& operator=(const Queries&) = delete;
  ~Queries() = default;

 private:
  friend class Session;
  friend class Transaction;
  template <class... A>
  static Arguments pack(const SqlOf<A...>& sql, const A&... arguments) {
    return with_arguments(sql, [](std::span<const Value> values) { return Arguments(values); }, arguments...);
  }
  Session& session(std::source_location place) const {
    if (session_ == nullptr) [[unlikely]]
      is_moved_from(place);
    return *session_;
  }
  [[noreturn, gnu::cold]] static void is_moved_from(std::source_location place);
  template <class T>
  Task<T> one(Sql sql, Arguments arguments);
  template <class T>
  Task<std::optional<T>> optional(Sql sql, Arguments arguments);
  template <class T>
  Task<std::vector<T>> many(Sql sql, Arguments arguments);

  Session* session_;  // Null: moved from.
  std::uint64_t transaction_;
};

// A Transaction that is destroyed without commit() is rolled back. The statements of a Transaction run one at a time,
// and the Transaction must not be moved while one of them is awaited. A statement that fails has no effect, and the
// transaction continues. Errors, in addition to those of statements: Conflict if the transaction has ended, even if an
// error in the transaction has ended it; DeadlineExceeded if the back end has rolled the transaction back because the
// transaction took too long.
//
// From begin() until the transaction ends, the task that called begin() must write through the transaction. In a back
// end with one writer at a time (SQLite), a write of the session fails immediately with Internal if it would wait for a
// transaction that its own task has begun. For this rule, the tasks that a task awaits, and the tasks of its
// with_timeout(), all() and any(), count as the task itself. Writes of other tasks, such as those of a Scope, wait
// until the writer is free.
class [[nodiscard]] Transaction : public Queries {
 public:
  // For back ends: `number` identifies the transaction within `session`, and must not be 0.
  Transaction(Session& session, std::uint64_t number) noexcept : Queries(session, number) {}
  Transaction(Transaction&& other) noexcept : Queries(*std::exchange(other.session_, nullptr), other.transaction_) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction() { roll_back(); }

  // After a success, the changes are as durable as the database promises. commit() ends the transaction, whatever the
  // result; only a commit() that is cancelled before it begins leaves the transaction open.
  Task<> commit(std::source_location place = std::source_location::current());
  // Undoes the changes. Returns immediately. Does nothing if the transaction has ended, or was moved from.
  void roll_back() noexcept;

  // Marks the current state of the transaction, so that all later changes can be undone together. Savepoints can be
  // nested.
  Task<Savepoint> savepoint(std::source_location place = std::source_location::current());
};

// A Savepoint that is destroyed without release() undoes the changes that the transaction has made since the savepoint
// was made; the transaction continues. When a savepoint ends, all savepoints that were made after it end, too; when the
// transaction ends, all of its savepoints end. A Savepoint may be moved, and must not outlive the session.
class [[nodiscard]] Savepoint {
 public:
  // For back ends: `number` identifies the savepoint within the transaction, and must not be 0.
  Savepoint(Session& session, std::uint64_t transaction, std::uint64_t number) noexcept
      : session_(&session), transaction_(transaction), number_(number) {}
  Savepoint(Savepoint&& other) noexcept
      : session_(std::exchange(other.session_, nullptr)), transaction_(other.transaction_), number_(other.number_) {}
  Savepoint& operator=(Savepoint&&) = delete;
  ~Savepoint() {
    if (session_ != nullptr) roll_back();
  }

  // Ends the savepoint. The changes since the savepoint was made become a part of the transaction, which can still be
  // committed or rolled back.
  // Conflict: the savepoint or its transaction has ended. If release() is cancelled before it begins, the savepoint
  // stays open.
  Task<> release();
  // Ends the savepoint. The changes since the savepoint was made are undone before the next statement of the
  // transaction runs. Returns immediately. Does nothing if the savepoint has ended.
  void roll_back() noexcept;

 private:
  Session* session_;  // Null: moved from.
  std::uint64_t transaction_;
  std::uint64_t number_;
};

class Session : public Queries {
 public:
  virtual ~Session();

  // Log entries about the transaction name `place`.
  Task<Transaction> begin(TransactionOptions options = {},
                          std::source_location place = std::source_location::current()) {
    return begin_transaction(options, place);
  }

  // Awaits `body`, a Task<T>(Transaction&), commits the transaction, and returns the T; if `body` fails, the
  // transaction is rolled back. If the database aborts the transaction because of a concurrent transaction (a
  // serialization failure, a deadlock), even at the commit, `body` is called again from its beginning with a new
  // transaction, so its other effects happen again, too. After attempts_max calls of `body`, the result is the last
  // Conflict. If the outcome of a commit is unknown, `body` is not called again. SQLite never aborts a transaction
  // because of a concurrent transaction.
  template <class F>
    requires std::is_invocable_v<F&, Transaction&>
  std::invoke_result_t<F&, Transaction&> transact(TransactionOptions options, F&& body, RetryOptions retry = {},
                                                  std::source_location place = std::source_location::current());
  template <class F>
    requires std::is_invocable_v<F&, Transaction&>
  std::invoke_result_t<F&, Transaction&> transact(F&& body,
                                                  std::source_location place = std::source_location::current()) {
    return transact(TransactionOptions(), body, {}, place);
  }

  // Reads the rows in parts, converted by read_as<T> (row.h): awaits `on_rows`, a Task<>(std::span<const T>), for each
  // part, and returns the number of rows. The rows are valid until `on_rows` completes; if `on_rows` fails, the stream
  // ends with the error of `on_rows`. The stream holds a connection and a snapshot until it ends, so give the task a
  // deadline.
  template <class T, class F, class... A>
  Task<std::size_t> stream(SqlOf<A...> sql, F&& on_rows, const A&... arguments);

 protected:
  Session() noexcept : Queries(*this, 0) {}
  // For functions that a back end adds to transactions: the number with which the back end made the Transaction.
  static std::uint64_t number_of(const Transaction& transaction) noexcept { return transaction.transaction_; }

 private:
  template <class T>
  Task<std::size_t> stream_as(Sql sql, Arguments arguments, FunctionRef<Task<>(std::span<const T>)> on_rows);
  template <class T>
  Task<T> transact_as(TransactionOptions options, FunctionRef<Task<T>(Transaction&)> body, RetryOptions retry,
                      std::source_location place);
  template <class T>
  Task<T> transact_once(TransactionOptions options, FunctionRef<Task<T>(Transaction&)> body,
                        std::source_location place);
  static Task<> pause(int attempts, RetryOptions retry);
  friend class Queries;
  friend class Savepoint;
  friend class Transaction;
  // Each back end implements the functions below. `transaction` is the number of a Transaction that begin() has made,
  // or 0; `savepoint` is the number of a Savepoint that savepoint() has made; `place` is the call that began the
  // transaction, for log entries about the transaction.
  virtual Task<Transaction> begin_transaction(TransactionOptions options, std::source_location place) = 0;
  // Whether a transaction that failed with this error may succeed if the whole transaction is repeated.
  virtual bool may_retry(const Error& error) const noexcept;
  virtual Task<std::size_t> query_rows(Sql sql, Arguments arguments, FunctionRef<void(const Row&)> on_row,
                                       std::uint64_t transaction) = 0;
  virtual Task<Written> execute_values(Sql sql, Arguments arguments, std::uint64_t transaction) = 0;
  // Awaits `on_rows` with one or more rows at a time, and reads the next rows only after `on_rows` has completed.
  virtual Task<std::size_t> stream_rows(Sql sql, Arguments arguments, FunctionRef<Task<>(Rows&)> on_rows);
  virtual Task<> commit(std::uint64_t transaction) = 0;
  // Returns immediately. Does nothing if the transaction has ended.
  virtual void roll_back(std::uint64_t transaction) noexcept = 0;
  virtual Task<Savepoint> savepoint(std::uint64_t transaction) = 0;
  virtual Task<> release(std::uint64_t transaction, std::uint64_t savepoint) = 0;
  // Returns immediately; the rollback happens before the transaction's next statement. Does nothing if the savepoint
  // has ended.
  virtual void roll_back_to(std::uint64_t transaction, std::uint64_t savepoint) noexcept = 0;
};

inline Task<> Transaction::commit(std::source_location place) { return session(place).commit(transaction_); }
inline void Transaction::roll_back() noexcept {
  if (session_ != nullptr) session_->roll_back(transaction_);
}
inline Task<Savepoint> Transaction::savepoint(std::source_location place) {
  return session(place).savepoint(transaction_);
}
inline Task<> Savepoint::release() { return session_->release(transaction_, number_); }
inline void Savepoint::roll_back() noexcept { session_->roll_back_to(transaction_, number_); }

template <class F, class... A>
Task<std::size_t> Queries::query(SqlOf<A...> sql, F&& on_row, const A&... arguments) {
  static_assert(std::is_invocable_r_v<void, F&, const Row&>,
                "the second argument of query() must be callable with each row, as void(const db::Row&)");
  static_assert(
      !requires { typename std::invoke_result_t<F&, const Row&>::promise_type; },
      "a row callback cannot be a task: copy what you need of the row, and await after query()");
  static_assert(
      std::is_lvalue_reference_v<F> || std::is_trivially_destructible_v<F>,
      "a row callback that captures by value must be a named variable, not a temporary: auto on_row = [...] { ... }; "
      "co_await session.query(sql, on_row)");
  return session(sql.place()).query_rows(sql, pack(sql, arguments...), on_row, transaction_);
}
template <class T, class... A>
Task<T> Queries::query_one(SqlOf<A...> sql, const A&... arguments) {
  session(sql.place());
  return one<T>(sql, pack(sql, arguments...));
}
template <class T, class... A>
Task<std::optional<T>> Queries::query_optional(SqlOf<A...> sql, const A&... arguments) {
  session(sql.place());
  return optional<T>(sql, pack(sql, arguments...));
}
template <class T, class... A>
Task<std::vector<T>> Queries::query_many(SqlOf<A...> sql, const A&... arguments) {
  session(sql.place());
  return many<T>(sql, pack(sql, arguments...));
}
template <class... A>
Task<Written> Queries::execute(SqlOf<A...> sql, const A&... arguments) {
  return session(sql.place()).execute_values(sql, pack(sql, arguments...), transaction_);
}

template <class T>
Task<T> Queries::one(Sql sql, Arguments arguments) {
  std::optional<T> found;
  auto keep = [&found](const Row& row) {
    if (!found) found.emplace(read_as<T>(row));
  };
  co_await session_->query_rows(sql, std::move(arguments), keep, transaction_);
  if (!found) co_return Error(Code::NotFound, "not found").during(sql.text(), sql.place());
  co_return *std::move(found);
}
template <class T>
Task<std::optional<T>> Queries::optional(Sql sql, Arguments arguments) {
  std::optional<T> found;
  auto keep = [&found](const Row& row) {
    if (!found) found.emplace(read_as<T>(row));
  };
  co_await session_->query_rows(sql, std::move(arguments), keep, transaction_);
  co_return std::move(found);
}
template <class T>
Task<std::vector<T>> Queries::many(Sql sql, Arguments arguments) {
  std::vector<T> found;
  auto keep = [&found](const Row& row) {
    if constexpr (internal::ReadByFields<T>) {
      internal::require_no_views<T>();
      internal::read_fields(row, found.emplace_back());
    } else {
      found.push_back(read_as<T>(row));
    }
  };
  co_await session_->query_rows(sql, std::move(arguments), keep, transaction_);
  co_return std::move(found);
}

namespace internal {
template <class T>
Task<> pass_on(Rows& rows, std::vector<T>& batch, FunctionRef<Task<>(std::span<const T>)> on_rows) {
  batch.clear();
  auto keep = [&batch](const Row& row) { batch.push_back(read_as<T>(row)); };
  co_await rows.for_each(keep);
  co_await on_rows(batch);
}
}  // namespace internal

template <class T, class F, class... A>
Task<std::size_t> Session::stream(SqlOf<A...> sql, F&& on_rows, const A&... arguments) {
  static_assert(
      std::is_invocable_v<F&, std::span<const T>>,
      "the second argument of stream<T>() must be callable with a batch of rows, as Task<>(std::span<const T>)");
  static_assert(
      std::is_lvalue_reference_v<F> || std::is_trivially_destructible_v<F>,
      "a callback that captures by value must be a named variable, not a temporary: auto on_rows = [...] { ... }; "
      "co_await session.stream<T>(sql, on_rows)");
  return stream_as<T>(sql, pack(sql, arguments...), on_rows);
}
template <class T>
Task<std::size_t> Session::stream_as(Sql sql, Arguments arguments, FunctionRef<Task<>(std::span<const T>)> on_rows) {
  std::vector<T> batch;
  auto pass = [&batch, on_rows](Rows& rows) { return internal::pass_on<T>(rows, batch, on_rows); };
  const std::size_t count = co_await stream_rows(sql, std::move(arguments), pass);
  co_return count;
}

template <class F>
  requires std::is_invocable_v<F&, Transaction&>
std::invoke_result_t<F&, Transaction&> Session::transact(TransactionOptions options, F&& body, RetryOptions retry,
                                                         std::source_location place) {
  static_assert(
      requires { typename std::invoke_result_t<F&, Transaction&>::promise_type; },
      "the body of transact() must be callable as Task<T>(db::Transaction&)");
  static_assert(std::is_lvalue_reference_v<F> || std::is_trivially_destructible_v<F>,
                "a body that captures by value must be a named variable, not a temporary: auto body = [...] { ... }; "
                "co_await session.transact(options, body)");
  return transact_as<typename std::invoke_result_t<F&, Transaction&>::Value>(options, body, retry, place);
}
template <class T>
Task<T> Session::transact_as(TransactionOptions options, FunctionRef<Task<T>(Transaction&)> body, RetryOptions retry,
                             std::source_location place) {
  for (int attempts = 1;; ++attempts) {
    Result<T> done = co_await attempt(transact_once<T>(options, body, place));
    if (done || attempts >= retry.attempts_max || !may_retry(done.error())) {
      if constexpr (std::is_void_v<T>) {
        co_await std::move(done);
        co_return;
      } else {
        co_return std::move(done);
      }
    }
    co_await pause(attempts, retry);
  }
}
template <class T>
Task<T> Session::transact_once(TransactionOptions options, FunctionRef<Task<T>(Transaction&)> body,
                               std::source_location place) {
  Transaction transaction = co_await begin(options, place);
  if constexpr (std::is_void_v<T>) {
    co_await body(transaction);
    co_await transaction.commit(place);
  } else {
    T value = co_await body(transaction);
    co_await transaction.commit(place);
    co_return std::move(value);
  }
}

}  // namespace keel::db
