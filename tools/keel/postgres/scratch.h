// A temporary PostgreSQL database for experiments.
//
// If a URL is given, as an argument or in KEEL_SCRATCH_POSTGRES_URL, the database is created on the URL's server; the
// URL's user must be allowed to create databases. If no URL is given, a server is started in a temporary folder, with
// Debian's programs in /usr/lib/postgresql; the server ends when the database ends.
//
// Errors:  NotFound if there is no URL and PostgreSQL is not installed. All errors except this NotFound come from the
//          server.
// Threads: one. Blocks: starting a server takes about one second.

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

  // The address of the database, as key=value pairs.
  const std::string& url() const noexcept { return url_; }
  // Empties the database.
  Result<> clear();

 private:
  ScratchDatabase() = default;

  std::unique_ptr<db::postgres::testing::RealServer> server_;
  std::unique_ptr<PostgresLink> maker_;
  std::string name_;
  std::string url_;
};

}  // namespace keel::tool
