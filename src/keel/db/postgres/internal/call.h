// keel/db/postgres/internal/call.h — what a task waits for: a statement, a transaction's beginning or its end.
//
// A call lies in a list of its pool, or of a connection, until it is sent; then a connection has it until finish().

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "keel/base/list.h"
#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/db/row.h"
#include "keel/db/session.h"
#include "keel/db/sql.h"
#include "keel/task/leaf.h"

namespace keel {
class StageClock;
}

namespace keel::db::postgres::internal {

class Connection;
class Pool;

class Call final : public Leaf, public Link {
 public:
  using Value = void;
  enum class Kind : std::uint8_t { Query, Execute, Begin, Commit, Script };

  Call(Pool& pool, Kind kind, std::uint64_t transaction = 0) noexcept
      : Leaf(&cancel), pool_(pool), kind_(kind), transaction_(transaction) {}

  bool start() noexcept;
  Result<> take() noexcept;

  Sql sql{""};
  std::span<const db::Value> values;
  std::string_view script;  // Of Begin and Script: what is sent.
  Rows rows;
  Written written;

  Kind kind() const noexcept { return kind_; }
  std::uint64_t transaction() const noexcept { return transaction_; }

  // For the pool and its connections.
  void set_transaction(std::uint64_t transaction) noexcept { transaction_ = transaction; }
  // Complete: the task goes on, or will. The call may be gone when this returns.
  void finish(Result<>&& result) noexcept;
  void note_sent() noexcept;
  // To be sent once more.
  void start_again() noexcept;

  bool is_read = false;              // TextFacts.
  bool is_group = false;             // The same.
  bool is_alone = false;             // Has its own Sync: what it was sent with has failed.
  bool was_lost = false;             // Its answer was lost once, with its connection.
  bool was_renewed = false;          // Its statement was prepared again for it.
  bool is_cancelled = false;         // Its task wants no answer any more.
  bool is_too_large = false;         // Its rows are dropped.
  Connection* connection = nullptr;  // That was sent it, or that it waits for.
  Instant since;                     // When it was asked for.

 private:
  static void cancel(Leaf& leaf) noexcept;

  Pool& pool_;
  const Kind kind_;
  std::uint64_t transaction_;
  StageClock* stages_ = nullptr;
  Instant asked_;  // Of a request that is measured, as the next:
  Instant sent_;
  bool is_starting_ = false;
  bool is_finished_ = false;
  Result<> result_;
};

// What the one who asked for `sql` is told of its failure.
Error failure_of(const Sql& sql, Error&& error) noexcept;

}  // namespace keel::db::postgres::internal
