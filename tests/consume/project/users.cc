// Statements that keel_sql() of the package checks.

#include "keel/db/session.h"

using namespace keel;

Task<std::int64_t> count_users(db::Session& session) {
  co_return co_await session.query_one<std::int64_t>("select count(*) from users where name > $1", "a");
}
