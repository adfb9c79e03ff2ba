// keel/db/sqlite/read_transactions.h — the read-only transactions of a database: each has a connection with a snapshot.
//
// A statement takes the connection, runs on the pool, and gives it back. Savepoints are only counted, because there is
// nothing to undo.
//
// A transaction that is open for a long time keeps the WAL from being emptied, and is logged once, with the call that
// began it.
//
// Errors:   Conflict: the transaction, or its savepoint, is over. ResourceExhausted: transactions_max are open.
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

  // A read-only transaction is recognised by the high bit of its number: the writer's numbers are small.
  static bool has(std::uint64_t transaction) noexcept { return (transaction & bit) != 0; }

  // Begins a transaction on `connection`, which the caller keeps if this fails. Its snapshot is taken in this call.
  Result<std::uint64_t> begin(std::unique_ptr<Connection>& connection, std::source_location place);
  // Takes the connection for one statement; call give_back() after the statement.
  Result<std::unique_ptr<Connection>> take(std::uint64_t transaction);
  // Returns the connection to the caller if the transaction was ended in the meantime.
  std::unique_ptr<Connection> give_back(std::uint64_t transaction, std::unique_ptr<Connection> connection);
  // Ends it. Returns null when the transaction is already over, or a statement has the connection and will give it
  // back.
  std::unique_ptr<Connection> end(std::uint64_t transaction) noexcept;
  bool is_open(std::uint64_t transaction) const noexcept;
  Result<std::uint64_t> savepoint(std::uint64_t transaction);
  // False when the savepoint is already over.
  bool release(std::uint64_t transaction, std::uint64_t savepoint) noexcept;
  std::size_t count() const noexcept;
  // How long the oldest transaction has been open; zero when none is open.
  Duration age() const noexcept;
  // Logs the transactions that have been open for `limit`. Returns the time until the next one will have been; zero
  // when there is none.
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
