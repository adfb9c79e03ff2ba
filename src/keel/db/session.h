// keel/db/session.h — what every database takes: statements, and transactions of several.
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
// A back end derives from Session and implements its virtual functions; the typed calls pack their arguments into one
// flat array and stand on those. Each back end has a folder below db/ and a header that says what it adds.
//
// Result:    query: the number of rows, which are handed out on the awaiting executor, only when all are there.
//            execute: what was changed, once it is as durable as the database promises.
// Errors:    AlreadyExists (a unique key), Conflict (a foreign key; a transaction that an error has ended),
//            InvalidArgument (a check, a null, a type), NotFound (query_one without a row), ResourceExhausted (a queue
//            is full, a result too large), Unavailable (closing; no access to the data, and then whether a write
//            happened is unknown), DataLoss, Internal (wrong SQL; a value that its type cannot hold, row.h),
//            DeadlineExceeded and Cancelled. The message is the database's.
// Ownership: arguments are copied before the call returns; row callbacks are borrowed until the task completes and are
//            named on the line before, not written inside the awaiting expression (a compiler defect,
//            task/compiler_test.cc).
// Lifetime:  a session outlives its tasks and transactions.
// Threads:   any thread; tasks on executors.
// Cancel:    stop token and deadline are the awaiting task's. A write that waits is taken back and did not happen; one
//            that has begun is completed first. A read is ended.
// Cost:      an indirect call per statement, none per row or column beside `on_row`; no heap.

#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "keel/db/row.h"
#include "keel/db/sql.h"
#include "keel/db/value.h"
#include "keel/task/task.h"

namespace keel::db {

class Session;
class Transaction;

struct Written {
  std::int64_t changes = 0;         // Rows inserted, updated or deleted by the statement itself.
  std::int64_t last_insert_id = 0;  // 0 when it inserted nothing.
};

// The typed calls, of a Session and of a Transaction alike: a function that takes Queries& runs in either.
class Queries {
 public:
  // Calls `on_row` with each row, and gives the number of rows.
  template <class... A>
  Task<std::size_t> query(SqlFor<sizeof...(A)> sql, FunctionRef<void(const Row&)> on_row, const A&... arguments);
  // The first row, mapped by read_as<T> (row.h). NotFound when there is none.
  template <class T, class... A>
  Task<T> query_one(SqlFor<sizeof...(A)> sql, const A&... arguments);
  template <class T, class... A>
  Task<std::optional<T>> query_optional(SqlFor<sizeof...(A)> sql, const A&... arguments);
  template <class T, class... A>
  Task<std::vector<T>> query_many(SqlFor<sizeof...(A)> sql, const A&... arguments);
  // Runs the statement and drops its rows.
  template <class... A>
  Task<Written> execute(SqlFor<sizeof...(A)> sql, const A&... arguments);

 protected:
  // `transaction` is 0, or the number of the one that the statements belong to.
  Queries(Session& session, std::uint64_t transaction) noexcept : session_(&session), transaction_(transaction) {}
  Queries(const Queries&) = delete;
  Queries& operator=(const Queries&) = delete;
  ~Queries() = default;

 private:
  friend class Transaction;
  template <class... A>
  static Arguments pack(const A&... arguments) {
    const Value values[sizeof...(A) + 1] = {Value(arguments)...};
    return Arguments(std::span<const Value>(values, sizeof...(A)));
  }
  template <class T>
  Task<T> one(Sql sql, Arguments arguments);
  template <class T>
  Task<std::optional<T>> optional(Sql sql, Arguments arguments);
  template <class T>
  Task<std::vector<T>> many(Sql sql, Arguments arguments);

  Session* session_;  // Null: moved from.
  std::uint64_t transaction_;
};

// A transaction that is destroyed without commit() is rolled back. Its statements run one at a time, and it is not
// moved while one of them is awaited. Errors beside those of statements: Conflict when the transaction is over, or when
// an error in it has ended it; DeadlineExceeded when the back end has rolled it back because it took too long.
class [[nodiscard]] Transaction : public Queries {
 public:
  // For back ends: `number` names the transaction within `session` and is not 0.
  Transaction(Session& session, std::uint64_t number) noexcept : Queries(session, number) {}
  Transaction(Transaction&& other) noexcept : Queries(*std::exchange(other.session_, nullptr), other.transaction_) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction() {
    if (session_ != nullptr) roll_back();
  }

  // Success: the changes are as durable as the database promises. The transaction is over afterwards, whatever the
  // result, unless commit() was cancelled before it began.
  Task<> commit();
  // Undoes the changes. Returns immediately. No effect when the transaction is over.
  void roll_back() noexcept;
};

class Session : public Queries {
 public:
  virtual ~Session();

  virtual Task<Transaction> begin() = 0;

 protected:
  Session() noexcept : Queries(*this, 0) {}

 private:
  friend class Queries;
  friend class Transaction;
  // A back end implements these. `transaction` is 0, or the number of one that begin() gave.
  virtual Task<std::size_t> query_rows(Sql sql, Arguments arguments, FunctionRef<void(const Row&)> on_row,
                                       std::uint64_t transaction) = 0;
  virtual Task<Written> execute_values(Sql sql, Arguments arguments, std::uint64_t transaction) = 0;
  virtual Task<> commit(std::uint64_t transaction) = 0;
  // Returns immediately. No effect on a transaction that has ended.
  virtual void roll_back(std::uint64_t transaction) noexcept = 0;
};

inline Task<> Transaction::commit() { return session_->commit(transaction_); }
inline void Transaction::roll_back() noexcept { session_->roll_back(transaction_); }

template <class... A>
Task<std::size_t> Queries::query(SqlFor<sizeof...(A)> sql, FunctionRef<void(const Row&)> on_row,
                                 const A&... arguments) {
  return session_->query_rows(sql, pack(arguments...), on_row, transaction_);
}
template <class T, class... A>
Task<T> Queries::query_one(SqlFor<sizeof...(A)> sql, const A&... arguments) {
  return one<T>(sql, pack(arguments...));
}
template <class T, class... A>
Task<std::optional<T>> Queries::query_optional(SqlFor<sizeof...(A)> sql, const A&... arguments) {
  return optional<T>(sql, pack(arguments...));
}
template <class T, class... A>
Task<std::vector<T>> Queries::query_many(SqlFor<sizeof...(A)> sql, const A&... arguments) {
  return many<T>(sql, pack(arguments...));
}
template <class... A>
Task<Written> Queries::execute(SqlFor<sizeof...(A)> sql, const A&... arguments) {
  return session_->execute_values(sql, pack(arguments...), transaction_);
}

template <class T>
Task<T> Queries::one(Sql sql, Arguments arguments) {
  std::optional<T> found;
  auto keep = [&found](const Row& row) {
    if (!found) found.emplace(read_as<T>(row));
  };
  co_await session_->query_rows(sql, std::move(arguments), keep, transaction_);
  if (!found) co_return fail(Code::NotFound, "no such row");
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
  auto keep = [&found](const Row& row) { found.push_back(read_as<T>(row)); };
  co_await session_->query_rows(sql, std::move(arguments), keep, transaction_);
  co_return std::move(found);
}

}  // namespace keel::db
