#include "keel/db/session.h"

#include <algorithm>

#include "keel/base/bug.h"
#include "keel/base/host.h"
#include "keel/task/timing.h"

namespace keel::db {

Session::~Session() = default;

Task<std::size_t> Session::stream_rows(Sql sql, Arguments, FunctionRef<Task<>(Rows&)>) {
  Error error = Error::text(Code::Unsupported, "this database cannot return a result in parts: use query_many()");
  co_return std::unexpected(std::move(error).during(sql.text(), sql.place()));
}

bool Session::may_retry(const Error&) const noexcept { return false; }

// Waits for a random time, so that transactions that conflicted do not conflict again; the maximum of this time doubles
// with each attempt.
Task<> Session::pause(int attempts, RetryOptions retry) {
  const std::int64_t most = std::max<std::int64_t>(
      std::min(retry.pause_max.count_ns(), retry.pause_min.count_ns() << std::min(attempts, 20)), 1);
  const std::uint64_t random = Host::current().random() % static_cast<std::uint64_t>(most);
  co_await sleep_for(Duration::nanoseconds(static_cast<std::int64_t>(random)));
}

void Queries::is_moved_from(std::source_location place) {
  throw_bug("a Transaction is used after it was moved from", place);
}

}  // namespace keel::db
