#include "backup/command.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "keel/base/host.h"
#include "keel/base/result.h"
#include "keel/db/sqlite/backup.h"
#include "keel/db/sqlite/connection.h"

namespace keel::backup {
namespace {

constexpr int was_done = 0;
constexpr int was_refused = 1;
constexpr int was_wrong = 2;

constexpr std::string_view help_text =
    R"(keel backup TARGET [options]

Copies an SQLite database to the file TARGET while a service reads and writes it. The copy shows the database at one
moment. It is written to TARGET.part, which is renamed when all of it is on the disk, so TARGET is either a complete
copy or the file that was there before. Writers do not wait; what they write during the copy stays in the write-ahead
log until the copy is done. While a copy is made, another one to the same TARGET is refused.
A PostgreSQL database is copied by pg_dump or pg_basebackup.

  --database FILE   the database (default: KEEL_DATABASE__PATH, as for a service; else data/app.db)
  --check           reads the whole copy before it is renamed, and refuses a damaged one
  --pause-ms N      waits N ms after each MiB that it copies, which leaves the disk to others (default: 0)

To restore a copy: stop the service, replace the database with the copy, and remove the database's -wal and -shm files.

Ends with 0 when the copy is complete, with 1 when the database cannot be copied or is damaged, and with 2 when the
command line is wrong.
)";

struct Options {
  std::string database;
  std::string target;
  bool is_check = false;
  int pause_ms = 0;
};

Error wrong_use(const std::string& text) { return Error::text(Code::InvalidArgument, text); }

Error is_postgres(const std::string& who) {
  return wrong_use(who + " names a PostgreSQL database, but keel backup copies only SQLite databases: use pg_dump " +
                   "--format=custom --file=TARGET, or pg_basebackup");
}

// The database that a service would use with the environment variables of this process.
Result<std::string> database_of_environment() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string type = variable("KEEL_DATABASE__TYPE");
  if (type == "postgres") return is_postgres("KEEL_DATABASE__TYPE");
  if (!type.empty() && type != "sqlite") {
    return wrong_use("KEEL_DATABASE__TYPE " + type + ": expected sqlite or postgres");
  }
  std::string path = variable("KEEL_DATABASE__PATH");
  return path.empty() ? "data/app.db" : std::move(path);
}

Result<Options> parse(const std::vector<std::string>& arguments) {
  constexpr int pause_max = 60'000;
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--check") {
      options.is_check = true;
    } else if (argument == "--database" || argument == "--pause-ms") {
      if (i + 1 == arguments.size()) return wrong_use(argument + ": needs a value");
      const std::string& value = arguments[++i];
      if (argument == "--database") {
        options.database = value;
        continue;
      }
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), options.pause_ms);
      if (error != std::errc() || end != value.data() + value.size() || options.pause_ms < 0 ||
          options.pause_ms > pause_max) {
        return wrong_use("--pause-ms " + value + ": expected a number from 0 to " + std::to_string(pause_max));
      }
    } else if (argument.starts_with('-')) {
      return wrong_use(argument + ": there is no such option; keel backup --help lists them");
    } else if (options.target.empty()) {
      options.target = argument;
    } else {
      return wrong_use(argument + ": unexpected argument; keel backup --help lists the arguments");
    }
  }
  if (options.target.empty()) return wrong_use("expected: keel backup TARGET; keel backup --help says more");
  if (options.database.starts_with("postgres://") || options.database.starts_with("postgresql://")) {
    return is_postgres("--database");
  }
  if (options.database.empty()) {
    KEEL_TRY(options.database, database_of_environment());
  }
  return options;
}

Result<> check(const std::string& copy) {
  KEEL_TRY(auto connection, db::sqlite::Connection::open({.path = copy, .access = db::sqlite::Access::ReadOnly}));
  std::string found;
  auto keep = [&](const db::Row& row) {
    if (found.empty() && row.text(0) != "ok") found = row.text(0);
  };
  KEEL_TRY_VOID(connection->query("select integrity_check from pragma_integrity_check limit 1", keep));
  if (!found.empty()) return Error::text(Code::DataLoss, "the database is damaged: " + found);
  return {};
}

Result<std::int64_t> copy(const Options& options) {
  KEEL_TRY(const auto backup, db::sqlite::Backup::begin({.source = options.database, .target = options.target}));
  if (options.is_check) backup->check_with(&check);
  while (true) {
    KEEL_TRY(const bool is_done, backup->step());
    if (is_done) return backup->pages();
    if (options.pause_ms != 0) Host::system().sleep(Duration::milliseconds(options.pause_ms));
  }
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  if (std::ranges::any_of(arguments, [](const std::string& one) { return one == "--help" || one == "-h"; })) {
    std::fputs(std::string(help_text).c_str(), stdout);
    return was_done;
  }
  const auto options = parse(arguments);
  if (!options) {
    std::fprintf(stderr, "keel backup: %s\n", options.error().describe().c_str());
    return was_wrong;
  }
  const Result<std::int64_t> pages = copy(*options);
  if (!pages) {
    std::fprintf(stderr, "keel backup: %s\n", pages.error().describe().c_str());
    return was_refused;
  }
  std::printf("keel backup: %s is a copy of %s, %lld pages\n", options->target.c_str(), options->database.c_str(),
              static_cast<long long>(*pages));
  return was_done;
}

}  // namespace keel::backup
