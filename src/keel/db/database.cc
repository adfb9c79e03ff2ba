#include "keel/db/database.h"

#include "keel/base/error.h"

namespace keel::db {

Task<> Database::backup(std::string) {
  co_await fail(Code::Unsupported, "this database is on a server: use its own tools for that, such as pg_dump");
}

}  // namespace keel::db
