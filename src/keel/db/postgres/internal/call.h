// keel/db/postgres/internal/call.h — one operation that a task awaits: a statement, or a transaction's begin or end.
//
// A call is in a list of its pool, or of a connection, until it is sent; then a connection holds it until finish().

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
  std::string_view script;     // The SQL text of Begin, Script and CopyIn.
  std::source_location place;  // The place of the call, only for Begin.
  bool is_unbounded = false;   // Set only for Begin: hold_max does not end the transaction.
  std::uint32_t rows_max = 0;  // Set only for Fetch: the number of rows to fetch.
  bool is_first = false;       // Set only for Fetch: this call creates the portal.
  bool has_more = false;       // Set only for Fetch: the portal has more rows after this call.
  Copy* copy = nullptr;        // The COPY of CopyIn and CopyOut, which has begun when the call completes.
  Rows rows;
  Written written;

  Kind kind() const noexcept { return kind_; }
  // Whether it has a prepared statement.
  bool has_statement() const noexcept {
    return kind_ == Kind::Query || kind_ == Kind::Execute || kind_ == Kind::Fetch || kind_ == Kind::CopyOut;
  }
  // Whether the call has no portal yet, so that a Bind must be sent.
  bool binds() const noexcept { return kind_ != Kind::Fetch || is_first; }
  // Whether it is sent as a Query message, which forms its own group.
  bool is_simple() const noexcept {
    return kind_ == Kind::Script || kind_ == Kind::Commit || kind_ == Kind::CopyIn || kind_ == Kind::CopyOut;
  }
  std::uint64_t transaction() const noexcept { return transaction_; }

  // Used by the pool and its connections.
  void set_transaction(std::uint64_t transaction) noexcept { transaction_ = transaction; }
  // Completes the call: its task continues, now or later. The call may be destroyed when this returns.
  void finish(Result<>&& result) noexcept;
  void note_sent() noexcept;
  // Prepares it for being sent again.
  void start_again() noexcept;

  bool is_read = false;              // From TextFacts.
  bool is_group = false;             // The same.
  bool is_alone = false;             // It gets its own Sync: a statement of its group has failed, or it is slow.
  bool was_lost = false;             // Its response was lost once, with its connection.
  bool was_renewed = false;          // Its statement was prepared again for it.
  bool is_cancelled = false;         // Its task no longer waits for a response.
  bool is_too_large = false;         // Its rows are dropped.
  bool is_check = false;             // It only finds out whether the server can write.
  Connection* connection = nullptr;  // The connection that it was sent on, or that it waits for.
  Instant since;                     // The time at which the task made the call.

 private:
  static void cancel(Leaf& leaf) noexcept;

  Pool& pool_;
  const Kind kind_;
  std::uint64_t transaction_;
  StageClock* stages_ = nullptr;
  Instant asked_;  // asked_ and sent_ are set for a measured request.
  Instant sent_;
  bool is_starting_ = false;
  bool is_finished_ = false;
  Result<> result_;
};

// The error that the caller of `sql` gets for a failure.
Error failure_of(const Sql& sql, Error&& error) noexcept;
// The error of a statement in a read-only transaction that the caller did not begin.
Error failure_of_reading(Error&& error);

}  // namespace keel::db::postgres::internal
