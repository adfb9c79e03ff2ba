#include "keel/db/session.h"

#include "keel/base/bug.h"

namespace keel::db {

Session::~Session() = default;

Task<std::size_t> Session::stream_rows(Sql sql, Arguments, FunctionRef<Task<>(Rows&)>) {
  Error error = Error::text(Code::Unsupported, "this database gives all rows of a result together: use query_many()");
  co_return std::unexpected(std::move(error).during(sql.text(), sql.place()));
}

void Queries::is_moved_from(std::source_location place) {
  throw_bug("a Transaction is used after it was moved from", place);
}

}  // namespace keel::db
