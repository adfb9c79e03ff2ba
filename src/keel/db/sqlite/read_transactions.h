// keel/db/sqlite/read_transactions.h — the read-only transactions of a database; each has a connection that holds a
// snapshot.
//
// A statement takes the transaction's connection, runs on the pool, and gives the connection back. Savepoints are only
// counted, because a read-only transaction has nothing to undo.
//
// A transaction that is open for a long time keeps the WAL from being emptied, and is logged once, with the call that
// began the transaction.
//
// Errors:   Conflict if the transaction, or its savepoint, has ended. ResourceExhausted: transactions_max transactions
//           are open.
// Threads:  any.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <source_location>
#include <vector>

#include "keel/db/sqlite/connection.h"

namespace keel::db::sqlite {

class ReadTransactions {
 public:
  static constexpr std::size_t transactions_max = 64;

  // A read-only transaction is recognized by the highest bit of its number; the writer's numbers are too small to have
  // that bit.
  static bool has(std::uint64_t transaction) noexcept { return (transaction & bit) != 0; }

  // Begins a transaction on `connection`; if that fails, the caller keeps the connection. The snapshot of the
  // transaction is taken in this call.
  Result<std::uint64_t> begin(std::unique_ptr<Connection>& connection, std::source_location place);
  // Takes the transaction's connection for one statement; call give_back() after the statement.
  Result<std::unique_ptr<Connection>> take(std::uint64_t transaction);
  // If the transaction was ended while the statement ran, returns the connection to the caller; otherwise returns null.
  std::unique_ptr<Connection> give_back(std::uint64_t transaction, std::unique_ptr<Connection> connection);
  // Ends the transaction. Returns null if the transaction has already ended, or if a statement has the connection and
  // will give it back.
  std::unique_ptr<Connection> end(std::uint64_t transaction) noexcept;
  bool is_open(std::uint64_t transaction) const noexcept;
  Result<std::uint64_t> savepoint(std::uint64_t transaction);
  // Returns false if the savepoint has already ended.
  bool release(std::uint64_t transaction, std::uint64_t savepoint) noexcept;
  std::size_t count() const noexcept;
  // How long the oldest open transaction has been open; zero if none is open.
  Duration age() const noexcept;
  // Logs the transactions that have been open for `limit` or longer. Returns the time until the next transaction
  // reaches `limit`; zero if there is none.
  Duration warn_of_held(Duration limit) noexcept;
  // Ends all transactions.
  void clear() noexcept;

 private:
  struct Open {
    std::unique_ptr<Connection> connection;  // Null while a statement has the connection.
    bool has_ended = false;
    std::vector<std::uint64_t> savepoints = {};
    std::uint64_t next_savepoint = 1;
    std::source_location place = {};  // The call that began the transaction.
    Instant begun = {};
    bool is_logged = false;
  };
  static constexpr std::uint64_t bit = std::uint64_t{1} << 63;
  Open* find(std::uint64_t transaction) noexcept;

  mutable std::mutex mutex_;
  std::map<std::uint64_t, Open> open_;
  std::uint64_t begun_ = 0;
};

}  // namespace keel::db::sqlite
