// keel/db/postgres/internal/call.h — what a task waits for: a statement, a transaction's beginning or its end.
//
// A call lies in a list of its pool, or of a connection, until it is sent; then a connection has it until finish().

#pragma once

#include <cstdint>
#include <source_location>
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
struct Copy;
class Pool;

class Call final : public Leaf, public Link {
 public:
  using Value = void;
  enum class Kind : std::uint8_t { Query, Execute, Begin, Commit, Script, Fetch, CopyIn, CopyOut };

  Call(Pool& pool, Kind kind, std::uint64_t transaction = 0) noexcept
      : Leaf(&cancel), pool_(pool), kind_(kind), transaction_(transaction) {}

  bool start() noexcept;
  Result<> take() noexcept;

  Sql sql{""};
  std::span<const db::Value> values;
  std::string_view script;     // Of Begin, Script and CopyIn: what is sent.
  std::source_location place;  // Of Begin: the call that began it.
  bool is_unbounded = false;   // Of Begin: hold_max does not end it.
  std::uint32_t rows_max = 0;  // Of Fetch: how many of the portal's rows.
  bool is_first = false;       // Of Fetch: it makes the portal.
  bool has_more = false;       // Of Fetch, after it.
  Copy* copy = nullptr;        // Of CopyIn and CopyOut: begun when the call completes.
  Rows rows;
  Written written;

  Kind kind() const noexcept { return kind_; }
  // It has a statement that is prepared.
  bool has_statement() const noexcept {
    return kind_ == Kind::Query || kind_ == Kind::Execute || kind_ == Kind::Fetch || kind_ == Kind::CopyOut;
  }
  // It has no portal yet.
  bool binds() const noexcept { return kind_ != Kind::Fetch || is_first; }
  // It leaves as a Query, and is a group by itself.
  bool is_simple() const noexcept {
    return kind_ == Kind::Script || kind_ == Kind::Commit || kind_ == Kind::CopyIn || kind_ == Kind::CopyOut;
  }
  std::uint64_t transaction() const noexcept { return transaction_; }

  // For the pool and its connections.
  void set_transaction(std::uint64_t transaction) noexcept { transaction_ = transaction; }
  // Complete: the task continues, now or later. The call may be gone when this returns.
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
// What a statement of a read-only transaction that is not its caller's has failed with.
Error failure_of_reading(Error&& error);

}  // namespace keel::db::postgres::internal
