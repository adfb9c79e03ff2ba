#include "migrate/command.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "keel/base/result.h"
#include "keel/config/secret.h"
#include "keel/data/json_write.h"
#include "keel/data/timestamp.h"
#include "keel/db/migrations.h"
#include "keel/db/postgres/error.h"
#include "migrate/target.h"

namespace keel::migrate {
namespace {

using db::Migrated;
using db::MigrationStatus;

constexpr int was_done = 0;
constexpr int was_refused = 1;
constexpr int was_wrong = 2;

constexpr std::string_view help_text =
    R"(keel migrate status|up|down|redo|check|new [options]

Applies the files NNNN_name.sql of a folder to a database, and undoes them with their NNNN_name.down.sql.
A service with database.migrations applies them itself when it starts.

  status   prints each file, and when it was applied
  up       applies the files that are not applied, each once
  down     undoes the last applied file, or several (--steps)
  redo     undoes the last applied file and applies it again; the file may have been edited
  check    applies and undoes all files in a temporary database (SQLite: in memory; PostgreSQL: on the server of
           KEEL_SCRATCH_POSTGRES_URL, or on one that Debian's programs start). If the database exists, also checks
           whether it agrees with the files. Does not change the database.
  new      creates the next file: keel migrate new add_orders [--down]

  --database PLACE   the file of the SQLite database, which up creates; or a PostgreSQL database,
                     postgres://user@host/name, with the password in PGPASSWORD or .pgpass. Default: the database of
                     KEEL_DATABASE__TYPE and KEEL_DATABASE__URL, KEEL_DATABASE__URL_FILE or KEEL_DATABASE__PATH, as for
                     a service; else data/app.db
  --pooler           the connection goes through a pooler such as pgbouncer, as KEEL_DATABASE__POOLER=true says of
                     KEEL_DATABASE__URL. A file with "-- keel: no transaction" needs a direct connection.
  --migrations DIR   the folder (default: db/migrations)
  --to N             up: applies files up to number N
  --steps N          down: how many files (default: 1)
  --down             new: also creates NNNN_name.down.sql
  --timeout SEC      how long to wait for another process that writes (default: 5)
  --json             prints one JSON object, also for an error

On PostgreSQL, 0002_orders.postgres.sql is applied instead of 0002_orders.sql; on SQLite, 0002_orders.sqlite.sql.

One transaction applies a file and records it, and processes that start together wait for each other. A file
whose first line is "-- keel: no transaction" runs statement by statement; if it is interrupted, up continues
with the next statement.

Ends with 0 on success, with 1 when a file or the database does not allow the action (a file was edited, is missing,
has a mistake, or has no file that undoes it; check: a file is not applied), and with 2 when a file cannot be opened,
the server cannot be reached, the database stays locked, or the command line is wrong.
)";

struct Options {
  std::string action;
  std::string database = "data/app.db";
  bool has_database = false;
  std::string database_from = {};  // The environment variable that names the database.
  // Whether the environment says that the database is PostgreSQL; if so, `database` may also be key=value pairs.
  bool is_postgres = false;
  std::string migrations = "db/migrations";
  std::string name;
  int last = 0;
  int steps = 1;
  int timeout_sec = 5;
  bool has_down = false;
  bool is_json = false;
  bool has_pooler = false;
};

Error wrong_use(std::string text) { return Error::text(Code::InvalidArgument, text); }

Result<int> number_of(const std::string& option, std::string_view text, int least, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= least && number <= most) return number;
  return wrong_use(option + ' ' + std::string(text) + ": expected a number from " + std::to_string(least) + " to " +
                   std::to_string(most));
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Reads the settings of the database from the environment, as a service does.
Result<> take_environment(Options& options) {
  const std::string type = variable("KEEL_DATABASE__TYPE");
  if (!type.empty() && type != "sqlite" && type != "postgres") {
    return wrong_use("KEEL_DATABASE__TYPE " + type + ": expected sqlite or postgres");
  }
  options.is_postgres = type == "postgres";
  options.database_from = options.is_postgres ? "KEEL_DATABASE__URL" : "KEEL_DATABASE__PATH";
  std::string place = variable(options.database_from.c_str());
  if (const std::string file = variable("KEEL_DATABASE__URL_FILE"); options.is_postgres && !file.empty()) {
    if (!place.empty()) return wrong_use("KEEL_DATABASE__URL and KEEL_DATABASE__URL_FILE: only one of them may be set");
    constexpr const char* name = "KEEL_DATABASE__URL_FILE";
    KEEL_TRY(const std::string path, config::expand_credentials(file, environ).because(name));
    KEEL_TRY(const config::Secret url, config::Secret::from_file(path).because(name));
    place = url.reveal();
    options.database_from = name + (' ' + file);
  }
  if (options.is_postgres && place.empty()) place = "postgres://";  // The PG… variables name the server.
  if (place.empty()) return {};
  options.database = place;
  options.has_database = true;
  if (options.is_postgres && variable("KEEL_DATABASE__POOLER") == "true") options.has_pooler = true;
  return {};
}

Result<Options> parse(const std::vector<std::string>& arguments) {
  static constexpr std::string_view actions[] = {"status", "up", "down", "redo", "check", "new"};
  Options options;
  if (arguments.empty() || std::ranges::find(actions, arguments[0]) == std::end(actions)) {
    return wrong_use("expected: keel migrate status, up, down, redo, check or new; keel migrate --help says more");
  }
  options.action = arguments[0];
  const auto only_for = [&](std::string_view action, const std::string& option) -> Result<> {
    if (options.action == action) return {};
    return wrong_use(option + ": belongs to keel migrate " + std::string(action));
  };
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--json") {
      options.is_json = true;
    } else if (argument == "--pooler") {
      options.has_pooler = true;
    } else if (argument == "--down") {
      KEEL_TRY_VOID(only_for("new", argument));
      options.has_down = true;
    } else if (argument == "--database" || argument == "--migrations" || argument == "--to" || argument == "--steps" ||
               argument == "--timeout") {
      if (i + 1 == arguments.size()) return wrong_use(argument + ": needs a value");
      const std::string& value = arguments[++i];
      if (argument == "--database") {
        options.database = value;
        options.has_database = true;
      } else if (argument == "--migrations") {
        options.migrations = value;
      } else if (argument == "--to") {
        KEEL_TRY_VOID(only_for("up", argument));
        KEEL_TRY(options.last, number_of(argument, value, 1, 9999));
      } else if (argument == "--steps") {
        KEEL_TRY_VOID(only_for("down", argument));
        KEEL_TRY(options.steps, number_of(argument, value, 1, 9999));
      } else {
        KEEL_TRY(options.timeout_sec, number_of(argument, value, 0, 3600));
      }
    } else if (argument.starts_with('-')) {
      return wrong_use(argument + ": there is no such option; keel migrate --help lists them");
    } else if (options.action == "new" && options.name.empty()) {
      options.name = argument;
    } else {
      return wrong_use(argument + ": unexpected argument; keel migrate --help lists the arguments");
    }
  }
  if (!options.has_database && options.action != "new") KEEL_TRY_VOID(take_environment(options));
  if (options.action == "new" && options.name.empty())
    return wrong_use("expected: keel migrate new NAME, such as add_orders");
  return options;
}

// What --json prints.
struct FileReport {
  int version = 0;
  std::string name;
  bool applied = false;
  std::optional<Timestamp> applied_at;
  bool down = false;
  int steps_done = 0;
};
struct Report {
  int version = 0;  // The version reached.
  std::optional<int> applied;
  std::optional<int> undone;
  std::optional<int> pending;
  std::optional<std::string> file;
  std::optional<std::vector<FileReport>> migrations;
  std::optional<std::string> error;
};

void print(const Report& report) { std::printf("%s\n", json::write(report).c_str()); }

std::string counted(int count, const char* noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

Report report_of(const std::vector<MigrationStatus>& files) {
  Report report;
  report.pending = 0;
  report.migrations.emplace();
  for (const MigrationStatus& file : files) {
    if (file.is_applied) report.version = file.version;
    if (!file.is_applied) ++*report.pending;
    FileReport one{file.version, file.name, file.is_applied, std::nullopt, file.has_down, file.steps_done};
    if (file.applied_at != 0) one.applied_at = Timestamp::from_unix_seconds(file.applied_at);
    report.migrations->push_back(std::move(one));
  }
  return report;
}

Result<Report> look(const Options& options, Target& target) {
  KEEL_TRY(const auto files, target.status(options.migrations));
  return report_of(files);
}

Result<Report> status(const Options& options, Target& target) {
  KEEL_TRY(Report report, look(options, target));
  if (options.is_json) return report;
  for (const FileReport& file : *report.migrations) {
    const std::string state = file.applied_at ? "applied " + std::string(std::string_view(file.applied_at->text()))
                              : file.applied  ? "applied"
                              : file.steps_done != 0 ? "half applied: " + counted(file.steps_done, "statement")
                                                     : "not applied";
    std::printf("%-40s %s%s\n", file.name.c_str(), state.c_str(), file.down ? "" : ", cannot be undone");
  }
  std::printf("keel migrate: %s is at version %04d, %s not applied\n", target.name().c_str(), report.version,
              counted(*report.pending, "file").c_str());
  return report;
}

Result<Report> up(const Options& options, Target& target) {
  // Finds mistakes in the folder before target.up() creates a database.
  KEEL_TRY_VOID(db::count_migrations(options.migrations));
  KEEL_TRY(const Migrated migrated, target.up(options.migrations, options.last));
  Report report;
  report.version = migrated.version;
  report.applied = migrated.applied;
  if (!options.is_json) {
    std::printf("keel migrate: %s applied, %s is at version %04d\n", counted(migrated.applied, "file").c_str(),
                target.name().c_str(), migrated.version);
  }
  return report;
}

Result<Report> undo(const Options& options, Target& target) {
  const bool is_redo = options.action == "redo";
  Report report;
  Migrated migrated;
  if (is_redo) {
    KEEL_TRY(migrated, target.redo(options.migrations));
    report.applied = migrated.applied;
  } else {
    KEEL_TRY(migrated, target.down(options.migrations, options.steps));
  }
  report.undone = migrated.applied;
  report.version = migrated.version;
  if (!options.is_json) {
    std::printf("keel migrate: %s %s, %s is at version %04d\n", counted(migrated.applied, "file").c_str(),
                is_redo ? "applied anew" : "undone", target.name().c_str(), migrated.version);
  }
  return report;
}

Result<Report> check(const Options& options, Target& target) {
  KEEL_TRY_VOID(target.rehearse(options.migrations));
  const bool is_there = target.exists();
  if (!is_there && options.has_database) {
    return Error::text(Code::NotFound, target.name() + ": there is no such database");
  }
  KEEL_TRY(Report report, look(options, target));
  if (is_there && *report.pending != 0) {
    return Error::text(Code::FailedPrecondition, counted(*report.pending, "file") + " of " + options.migrations +
                                                     " not applied to " + target.name() +
                                                     ": keel migrate up applies them");
  }
  if (!options.is_json) {
    std::printf("keel migrate: %s of %s good%s\n", counted(static_cast<int>(report.migrations->size()), "file").c_str(),
                options.migrations.c_str(), is_there ? (", and applied to " + target.name()).c_str() : "");
  }
  return report;
}

Result<Report> make_new(const Options& options) {
  KEEL_TRY(std::string path, db::new_migration(options.migrations, options.name, options.has_down));
  if (!options.is_json) std::printf("%s\n", path.c_str());
  Report report;
  report.file = std::move(path);
  return report;
}

Result<Report> run(const Options& options) {
  if (options.action == "new") return make_new(options);
  auto made =
      make_target(options.database, options.is_postgres, Duration::seconds(options.timeout_sec), options.has_pooler);
  if (!made && !options.database_from.empty()) return std::move(made).error().because(options.database_from);
  KEEL_TRY(const auto target, std::move(made));
  if (options.action == "status") return status(options, *target);
  if (options.action == "up") return up(options, *target);
  if (options.action == "check") return check(options, *target);
  return undo(options, *target);
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  if (std::ranges::any_of(arguments, [](const std::string& one) { return one == "--help" || one == "-h"; })) {
    std::fputs(std::string(help_text).c_str(), stdout);
    return was_done;
  }
  const bool is_json = std::ranges::find(arguments, "--json") != arguments.end();
  const auto tell = [&](std::string text) {
    if (is_json) {
      Report report;
      report.error = std::move(text);
      print(report);
    } else {
      std::fprintf(stderr, "keel migrate: %s\n", text.c_str());
    }
  };
  const auto options = parse(arguments);
  if (!options) {
    tell(options.error().describe());
    return was_wrong;
  }
  const Result<Report> done = run(*options);
  if (done) {
    if (options->is_json) print(*done);
    return was_done;
  }
  const Error& error = done.error();
  std::string text = error.describe();
  if (error.code() == Code::Unavailable && text.find("locked") != std::string::npos) {
    text += "; another process has been writing for " + counted(options->timeout_sec, "second") +
            ": wait until it ends, or give more time with --timeout";
  }
  tell(std::move(text));
  const bool is_of_files = error.code() == Code::FailedPrecondition || error.code() == Code::InvalidArgument ||
                           error.code() == Code::AlreadyExists || error.code() == Code::Conflict ||
                           error.code() == Code::Internal ||
                           (error.code() == Code::PermissionDenied && db::postgres::server_error(error) != nullptr);
  return is_of_files ? was_refused : was_wrong;
}

}  // namespace keel::migrate
