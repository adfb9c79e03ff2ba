#include "sql/gen_command.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "gen/folder.h"
#include "gen/names.h"
#include "keel/base/result.h"
#include "sql/both_checker.h"
#include "sql/catalog.h"
#include "sql/contract_places.h"
#include "sql/postgres_checker.h"
#include "sql/query_writer.h"
#include "sql/sqlite_checker.h"
#include "sql/verdicts.h"
#include "sql/words.h"

namespace keel::sql {
namespace {

namespace fs = std::filesystem;

constexpr int gen_is_good = 0;
constexpr int gen_is_bad = 1;
constexpr int gen_was_wrong = 2;

constexpr std::string_view gen_help =
    R"(keel gen sql --migrations DIR --out FOLDER [--namespace NAME] [--contract DOCUMENT]
             [--database NAMES] [--lock FILE] [--check] FILE...
keel gen sql --migrations DIR --database postgres --prepare [--lock FILE] [--server URL] FILE...

Generates C++ from SQL queries: for each query a function whose parameters and rows have the types that the
database reports. Every statement is prepared on a database to which the migrations of DIR are applied.
CMake's keel_sql(TARGET QUERIES FILE... MIGRATIONS DIR) runs this command.

    -- name: find_user :optional User
    select id, name from users where email = $email;

  :one       the row, or the error NotFound         :exec    what was changed
  :optional  the row, or nothing                    :batch   runs for each of several structs, all or none
  :many      all rows                               :stream  awaits a callback for each batch of rows

  --migrations DIR     the folder of the files NNNN_name.sql
  --out FOLDER         where the files go: FOLDER/NAME/rows.h, and users.h and users.cc for a FILE users.sql.
                       Only files that change are written; generated files that are no longer needed are removed.
  --namespace NAME     the namespace of the code (default: queries); its last part is the folder
  --contract DOCUMENT  the OpenAPI document from which types of the program are generated: messages name places in it
  --database NAMES     the databases that the statements are for: sqlite (default), postgres, or sqlite,postgres;
                       with sqlite,postgres, each statement has to run on both
  --check              writes nothing; ends with 1 when a file differs from what would be written

SQLite checks the statements in memory. The results of PostgreSQL are in a file that belongs in the repository, so
that this command needs no server; it fails when a migration or a statement has changed since the file was written:

  --lock FILE          the file (default: queries.lock beside DIR)
  --prepare            prepares the statements on a PostgreSQL server, in a temporary database, and writes the file.
                       With --check, writes nothing, and ends with 1 when the file is not what the server says.
  --server URL         the server (default: KEEL_SCRATCH_POSTGRES_URL; without it, one is started from Debian's
                       programs, in a temporary folder)
  --prepare-by TEXT    the command that messages name in place of this one

docs/queries.md says what else the files may contain: types, optional blocks, orders.

Ends with 0 when the files are up to date, with 1 when a query has a mistake, which is printed with file,
line and column, with 2 when a file cannot be read or written, no PostgreSQL is available, or the command line is
wrong.
)";

struct GenArguments {
  std::string migrations;
  std::string out;
  std::string space = "queries";
  std::string database = "sqlite";
  std::string contract;
  std::string lock;
  std::string server;
  std::string prepare_by;
  bool is_check = false;
  bool is_prepare = false;
  std::vector<std::string> files;

  bool has_database(std::string_view name) const {
    return (',' + database + ',').find(',' + std::string(name) + ',') != std::string::npos;
  }
};

Result<GenArguments> parse_gen(const std::vector<std::string>& arguments) {
  const auto refuse = [](std::string text) { return Error::text(Code::InvalidArgument, text); };
  GenArguments parsed;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--check") {
      parsed.is_check = true;
      continue;
    }
    if (argument == "--prepare") {
      parsed.is_prepare = true;
      continue;
    }
    if (!argument.starts_with('-')) {
      parsed.files.push_back(argument);
      continue;
    }
    std::string* const value = argument == "--migrations"   ? &parsed.migrations
                               : argument == "--out"        ? &parsed.out
                               : argument == "--namespace"  ? &parsed.space
                               : argument == "--database"   ? &parsed.database
                               : argument == "--contract"   ? &parsed.contract
                               : argument == "--lock"       ? &parsed.lock
                               : argument == "--server"     ? &parsed.server
                               : argument == "--prepare-by" ? &parsed.prepare_by
                                                            : nullptr;
    if (value == nullptr) return refuse(argument + ": there is no such option; keel gen sql --help lists them");
    if (i + 1 == arguments.size()) return refuse(argument + ": needs a value");
    *value = arguments[++i];
  }
  if (parsed.migrations.empty())
    return refuse("--migrations DIR is missing: name the folder with the service's migrations");
  if (parsed.out.empty() && !parsed.is_prepare) return refuse("--out FOLDER is missing: name the folder for the files");
  if (!gen::is_namespace(parsed.space)) {
    return refuse("--namespace " + parsed.space + ": expected names with '::' between them");
  }
  if (parsed.database != "sqlite" && parsed.database != "postgres" && parsed.database != "sqlite,postgres") {
    return refuse("--database " + parsed.database + ": expected sqlite, postgres, or sqlite,postgres");
  }
  const bool is_of_server = parsed.is_prepare || !parsed.lock.empty();
  if (is_of_server && !parsed.has_database("postgres")) {
    return refuse("--prepare and --lock are only for --database postgres");
  }
  if (parsed.lock.empty()) parsed.lock = (fs::path(parsed.migrations) / "..").lexically_normal() / "queries.lock";
  if (parsed.files.empty()) return refuse("no FILE is named: expected files of queries, such as db/queries/users.sql");
  return parsed;
}

// The command that adds a missing verdict to the file.
std::string prepare_command(const GenArguments& arguments) {
  if (!arguments.prepare_by.empty()) return arguments.prepare_by;
  std::string command = "keel gen sql --prepare --database " + arguments.database + " --migrations " +
                        arguments.migrations + " --lock " + arguments.lock;
  for (const std::string& file : arguments.files) command += ' ' + file;
  return command;
}

int say(const Error& error) {
  std::fprintf(stderr, "keel gen: %s\n", error.describe().c_str());
  return error.code() == Code::FailedPrecondition ? gen_is_bad : gen_was_wrong;
}

VerdictFile lock_of(const GenArguments& arguments) {
  return {arguments.lock, arguments.migrations, "the queries", prepare_command(arguments)};
}

// With --prepare, returns only the checksums of the migrations, because the command will write the verdicts anew.
Result<Verdicts> read_lock(const GenArguments& arguments) {
  if (!arguments.is_prepare) return lock_of(arguments).read();
  Verdicts none;
  KEEL_TRY(none.migrations, checksums_of(arguments.migrations));
  return none;
}

// The checkers of the databases that are used.
struct Checkers {
  std::unique_ptr<Checker> sqlite;
  Verdicts verdicts;
  std::unique_ptr<VerdictChecker> postgres;
  std::unique_ptr<BothChecker> both;

  Result<> make(const GenArguments& arguments) {
    std::vector<BothChecker::Part> parts;
    if (arguments.has_database("sqlite")) {
      KEEL_TRY(sqlite, make_sqlite_checker(arguments.migrations));
      parts.push_back({"sqlite", "SQLite", sqlite.get()});
    }
    if (arguments.has_database("postgres")) {
      KEEL_TRY(verdicts, read_lock(arguments));
      std::unique_ptr<Checker> server;
      if (arguments.is_prepare) {
        KEEL_TRY(server, make_postgres_checker(arguments.migrations, arguments.server));
      }
      postgres =
          std::make_unique<VerdictChecker>(verdicts, std::move(server), arguments.lock, prepare_command(arguments));
      parts.push_back({"postgres", "PostgreSQL", postgres.get()});
    }
    both = std::make_unique<BothChecker>(std::move(parts));
    return {};
  }
};

int generate(const GenArguments& arguments) {
  Problems problems;
  std::vector<std::size_t> sources;
  for (const std::string& path : arguments.files) {
    auto text = gen::read_file(path);
    if (!text) {
      std::fprintf(stderr, "keel gen: %s cannot be read\n", path.c_str());
      return gen_was_wrong;
    }
    sources.push_back(problems.add_file(path, *std::move(text)));
  }
  Checkers checkers;
  if (const Result<> made = checkers.make(arguments); !made) return say(made.error());
  ContractPlaces contract;
  if (!arguments.contract.empty()) {
    auto loaded = ContractPlaces::load(arguments.contract);
    if (!loaded) return say(loaded.error());
    contract = *std::move(loaded);
  }
  const Catalog catalog = make_catalog(sources, *checkers.both, problems);
  if (problems.has_any()) {
    std::fputs(problems.describe().c_str(), stderr);
    return gen_is_bad;
  }
  int result = gen_is_good;
  if (arguments.is_prepare) {
    if (const Result<> wrote = lock_of(arguments).write(checkers.verdicts, arguments.is_check); !wrote) {
      result = say(wrote.error());
    }
    if (arguments.out.empty()) return result;
  } else if (arguments.is_check && checkers.postgres != nullptr) {
    for (const std::string& text : checkers.postgres->unused()) {
      std::fprintf(stderr, "keel gen: %s has a statement that no query contains any more: %s: run %s\n",
                   arguments.lock.c_str(), text.c_str(), prepare_command(arguments).c_str());
      result = gen_is_bad;
    }
  }
  const std::vector<gen::File> files = write_queries(catalog, problems, arguments.space, contract);
  const gen::Folder folder(arguments.out, arguments.space, "keel gen sql");
  if (arguments.is_check) {
    const bool is_same = folder.compare(files, "the queries say: run keel gen sql without --check");
    return is_same ? result : gen_is_bad;
  }
  const Result<> written = folder.write(files);
  return written ? result : say(written.error());
}

}  // namespace

int run_gen_command(const std::vector<std::string>& arguments) {
  if (std::ranges::any_of(arguments, [](const std::string& one) { return one == "--help" || one == "-h"; })) {
    std::fputs(std::string(gen_help).c_str(), stdout);
    return gen_is_good;
  }
  const auto parsed = parse_gen(arguments);
  if (!parsed) {
    std::fprintf(stderr, "keel gen: %s\n", parsed.error().describe().c_str());
    return gen_was_wrong;
  }
  return generate(*parsed);
}

}  // namespace keel::sql
