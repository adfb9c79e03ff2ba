#include "keel/db/database.h"

#include "keel/base/error.h"

namespace keel::db {

Task<> Database::backup(std::string) {
  co_await fail(Code::Unsupported,
                "this database is on a server: back it up with the server's own tools, such as pg_dump");
}

}  // namespace keel::db
