// A PostgreSQL database in which something is tried out, and which is gone afterwards.
//
// Where a URL is given, or KEEL_SCRATCH_POSTGRES_URL has one, it is a new database of that server, whose user may make
// databases. Else it is that of a server which is started for it in a temporary folder, of Debian's programs in
// /usr/lib/postgresql, and ends with it.
//
// Errors:  NotFound: no URL, and PostgreSQL is not installed. Those of the server.
// Threads: one. Blocks: a server of its own takes about a second to start.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "keel/base/result.h"
#include "keel/db/postgres/testing/real_server.h"
#include "postgres/link.h"

namespace keel::tool {

// "postgres://…" or "postgresql://…".
bool is_postgres_url(std::string_view text) noexcept;

class ScratchDatabase {
 public:
  static constexpr const char* variable = "KEEL_SCRATCH_POSTGRES_URL";

  static Result<std::unique_ptr<ScratchDatabase>> make(std::string url = {});
  ~ScratchDatabase();
  ScratchDatabase(const ScratchDatabase&) = delete;
  ScratchDatabase& operator=(const ScratchDatabase&) = delete;

  // Of the database: pairs key=value.
  const std::string& url() const noexcept { return url_; }
  // The same with nothing in it.
  Result<> clear();

 private:
  ScratchDatabase() = default;

  std::unique_ptr<db::postgres::testing::RealServer> server_;
  std::unique_ptr<PostgresLink> maker_;
  std::string name_;
  std::string url_;
};

}  // namespace keel::tool
