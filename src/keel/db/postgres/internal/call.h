// keel/db/postgres/internal/call.h — one operation that a task awaits: a statement, or a transaction's begin or end.
//
// Until a call is sent, it is in a list of its pool or of a connection; from then until finish(), a connection refers
// to the call.

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
  std::source_location place;  // Set only for Begin: the source location of the call of begin().
  bool is_unbounded = false;   // True if hold_max does not end the transaction; set only for Begin.
  std::uint32_t rows_max = 0;  // Set only for Fetch: the number of rows to fetch.
  bool is_first = false;       // True only for the first Fetch of a result, which creates the portal.
  bool has_more = false;       // Set only for Fetch, when the call completes: whether the portal has more rows.
  // The COPY of a CopyIn or a CopyOut, else null. When the call completes, the COPY has begun.
  Copy* copy = nullptr;
  Rows rows;
  Written written;

  Kind kind() const noexcept { return kind_; }
  // Whether the call uses a prepared statement.
  bool has_statement() const noexcept {
    return kind_ == Kind::Query || kind_ == Kind::Execute || kind_ == Kind::Fetch || kind_ == Kind::CopyOut;
  }
  // Whether a Bind must be sent, because the call has no portal yet.
  bool binds() const noexcept { return kind_ != Kind::Fetch || is_first; }
  // Whether the call is sent as a Query message, and must therefore be the only call of its group.
  bool is_simple() const noexcept {
    return kind_ == Kind::Script || kind_ == Kind::Commit || kind_ == Kind::CopyIn || kind_ == Kind::CopyOut;
  }
  std::uint64_t transaction() const noexcept { return transaction_; }

  // The functions below are for the pool and its connections.
  void set_transaction(std::uint64_t transaction) noexcept { transaction_ = transaction; }
  // Completes the call: its task continues, immediately or later. The call may be destroyed before this function
  // returns.
  void finish(Result<>&& result) noexcept;
  void note_sent() noexcept;
  // Resets the call so that it can be sent again.
  void start_again() noexcept;

  bool is_read = false;   // From TextFacts.
  bool is_group = false;  // The same.
  // The call must have a Sync to itself, because a statement of its former group failed, or because its statement is
  // slow.
  bool is_alone = false;
  // The response was lost once, because the connection ended or a cancellation hit the wrong call.
  bool was_lost = false;
  bool was_renewed = false;   // The statement has already been prepared again for this call.
  bool is_cancelled = false;  // The task was cancelled, and no longer waits for a response.
  bool is_too_large = false;  // The rows exceed the limit, and further rows are dropped.
  // The call comes from check_writes(), which only checks whether the server can write.
  bool is_check = false;
  Connection* connection = nullptr;  // The connection on which the call was sent, or on which it waits.
  Instant since;                     // The time at which the task made the call.

 private:
  static void cancel(Leaf& leaf) noexcept;

  Pool& pool_;
  const Kind kind_;
  std::uint64_t transaction_;
  StageClock* stages_ = nullptr;
  Instant asked_;  // asked_ and sent_ are set only if the request is being measured.
  Instant sent_;
  bool is_starting_ = false;
  bool is_finished_ = false;
  Result<> result_;
};

// Makes the error that the caller of `sql` gets: it names the statement and its place in the source.
Error failure_of(const Sql& sql, Error&& error) noexcept;
// Returns the error of a statement in the read-only transaction of a stream() or copy_out(), with an explanation if the
// statement tried to write.
Error failure_of_reading(Error&& error);

}  // namespace keel::db::postgres::internal
