#include "keel/db/database.h"

#include "keel/base/error.h"

namespace keel::db {

Task<> Database::backup(std::string) {
  co_await fail(Code::Unsupported, "this database is a server's, which has its own means for that, as pg_dump");
}

}  // namespace keel::db
