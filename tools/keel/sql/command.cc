#include "sql/command.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sql/both_checker.h"
#include "sql/postgres_checker.h"
#include "sql/sqlite_checker.h"
#include "sql/statements.h"
#include "sql/verdicts.h"

namespace keel::sql {
namespace {

constexpr int are_good = 0;
constexpr int have_mistakes = 1;
constexpr int was_wrong = 2;

constexpr std::string_view help =
    R"(keel sql check --migrations DIR [--database NAMES] [--lock FILE] [--allow-none] FILE...
keel sql prepare --migrations DIR [--lock FILE] [--server URL] [--check] [--allow-none] FILE...

Prepares every SQL statement of C++ sources on a database to which the migrations of DIR are applied, and prints
its mistakes: a misspelt table or column, bad syntax, a statement that returns no rows where rows are read.

A statement is the first argument of query, query_one, query_optional, query_many, execute, stream<T> and
copy_out<T>, called on an object: string literals, or a constant or macro that one of the FILEs initializes with
string literals. For any other argument a note is printed. To skip a call of another class, write a comment
"keel sql: skip" on its line or on the line before; "keel sql: sqlite" and "keel sql: postgres" say which database
a statement is for.

  --migrations DIR   the folder of the files NNNN_name.sql
  --database NAMES   the databases that the statements are for: sqlite (default), postgres, or sqlite,postgres;
                     with sqlite,postgres, each statement has to run on both
  --allow-none       accepts files without a statement: their queries are elsewhere (keel gen sql)

SQLite checks the statements in memory. The results of PostgreSQL are in a file that belongs in the repository, so
that check needs no server; it fails when a migration or a statement has changed since the file was written. prepare
writes the file:

  --lock FILE        the file (default: statements.lock beside DIR)
  --server URL       the server (default: KEEL_SCRATCH_POSTGRES_URL; without it, one is started from Debian's
                     programs, in a temporary folder). prepare creates a temporary database on it.
  --check            prepare writes nothing, and ends with 1 when the file is not what the server says
  --prepare-by TEXT  the command that messages name in place of keel sql prepare

Ends with 0 when all statements are valid; with 1 when a statement is invalid, when there is no statement, or when the
file for PostgreSQL is missing or outdated; with 2 when DIR or a FILE cannot be used, or no PostgreSQL is available.
CMake's keel_sql(TARGET MIGRATIONS DIR) runs the check on the sources of a target when they are built, and as a test.
)";

struct Options {
  bool is_prepare = false;
  std::string migrations;
  std::string database = "sqlite";
  std::string lock;
  std::string server;
  std::string prepare_by;
  bool allows_none = false;
  bool is_check = false;
  std::vector<std::string> files;

  bool has_database(std::string_view name) const {
    return (',' + database + ',').find(',' + std::string(name) + ',') != std::string::npos;
  }
};

Result<Options> parse(const std::vector<std::string>& arguments) {
  const auto refuse = [](std::string text) { return Error::text(Code::InvalidArgument, text); };
  if (arguments.empty() || (arguments[0] != "check" && arguments[0] != "prepare")) {
    return refuse("expected: keel sql check --migrations DIR FILE..., or keel sql prepare; keel sql --help says more");
  }
  Options options;
  options.is_prepare = arguments[0] == "prepare";
  if (options.is_prepare) options.database = "postgres";
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--allow-none") {
      options.allows_none = true;
      continue;
    }
    if (argument == "--check" && options.is_prepare) {
      options.is_check = true;
      continue;
    }
    std::string* const value = argument == "--migrations"                     ? &options.migrations
                               : argument == "--database"                     ? &options.database
                               : argument == "--lock"                         ? &options.lock
                               : argument == "--server" && options.is_prepare ? &options.server
                               : argument == "--prepare-by"                   ? &options.prepare_by
                                                                              : nullptr;
    if (value != nullptr) {
      if (i + 1 == arguments.size()) return refuse(argument + ": needs a value");
      *value = arguments[++i];
    } else if (argument.starts_with('-')) {
      return refuse(argument + ": there is no such option; keel sql --help lists them");
    } else {
      options.files.push_back(argument);
    }
  }
  if (options.migrations.empty())
    return refuse("--migrations DIR is missing: name the folder with the service's migrations");
  if (options.database != "sqlite" && options.database != "postgres" && options.database != "sqlite,postgres") {
    return refuse("--database " + options.database + ": expected sqlite, postgres, or sqlite,postgres");
  }
  if ((options.is_prepare || !options.lock.empty()) && !options.has_database("postgres")) {
    return refuse("keel sql prepare and --lock are only for --database postgres");
  }
  if (options.lock.empty()) {
    options.lock = (std::filesystem::path(options.migrations) / ".." / "statements.lock").lexically_normal();
  }
  if (options.files.empty()) return refuse("no FILE is named: expected C++ sources");
  return options;
}

VerdictFile lock_of(const Options& options) {
  std::string command = options.prepare_by;
  if (command.empty()) {
    command = "keel sql prepare --migrations " + options.migrations + " --lock " + options.lock;
    for (const std::string& file : options.files) command += ' ' + file;
  }
  return {options.lock, options.migrations, "the statements", std::move(command)};
}

Result<std::string> read_file(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return Error::from_errno(path.c_str(), errno);
  std::string text;
  char part[16 * 1024];
  while (const std::size_t size = std::fread(part, 1, sizeof part, file)) text.append(part, size);
  const int error = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  if (error != 0) return Error::from_errno(path.c_str(), error);
  return text;
}

// The line of the statement that contains the byte, with a caret below the byte; without a byte, the first line.
std::string shown(std::string_view statement, std::optional<std::size_t> byte) {
  const std::size_t offset = std::min(byte.value_or(0), statement.size());
  const std::size_t begin = statement.substr(0, offset).rfind('\n') + 1;
  const std::size_t end = std::min(statement.find('\n', offset), statement.size());
  std::string text = "  " + std::string(statement.substr(begin, end - begin)) + '\n';
  if (!byte) return text;
  text += "  ";
  for (const char c : statement.substr(begin, offset - begin)) {
    if (c == '\t') {
      text += c;
    } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
      text += ' ';  // One blank for each UTF-8 character.
    }
  }
  return text + "^\n";
}

std::string counted(std::size_t count, const char* noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

int refuse(const Error& error, int code = was_wrong) {
  std::fprintf(stderr, "keel sql: %s\n", error.describe().c_str());
  return code;
}

// The checkers of the databases that check the statements.
struct Checkers {
  std::unique_ptr<Checker> sqlite;
  Verdicts verdicts;
  std::unique_ptr<VerdictChecker> postgres;
  std::unique_ptr<BothChecker> both;
  int migrations = 0;
  bool is_lock_old = false;  // True if make() failed because the file of verdicts is missing or old.

  Result<> make(const Options& options, const Sources::Found& found) {
    std::vector<BothChecker::Part> parts;
    if (options.has_database("sqlite") && !options.is_prepare) {
      KEEL_TRY(sqlite, make_sqlite_checker(options.migrations));
      migrations = sqlite->migrations();
      parts.push_back({"sqlite", "SQLite", sqlite.get()});
    }
    const bool has_any = std::ranges::any_of(found.statements,
                                             [](const Statement& statement) { return statement.database != "sqlite"; });
    if (options.has_database("postgres") && has_any) {
      const VerdictFile lock = lock_of(options);
      std::unique_ptr<Checker> server;
      if (options.is_prepare) {
        KEEL_TRY(verdicts.migrations, checksums_of(options.migrations));
        KEEL_TRY(server, make_postgres_checker(options.migrations, options.server));
      } else {
        auto read = lock.read();
        is_lock_old = !read && read.error().code() == Code::FailedPrecondition;
        KEEL_TRY(verdicts, std::move(read));
      }
      postgres = std::make_unique<VerdictChecker>(verdicts, std::move(server), lock.path, lock.command);
      if (parts.empty()) migrations = postgres->migrations();
      parts.push_back({"postgres", "PostgreSQL", postgres.get()});
    }
    if (parts.empty()) {  // The only database is PostgreSQL, but no statement is for it.
      KEEL_TRY(const auto checksums, checksums_of(options.migrations));
      migrations = static_cast<int>(checksums.size());
    }
    both = std::make_unique<BothChecker>(std::move(parts));
    return {};
  }
};

struct Counts {
  std::size_t checked = 0;
  std::size_t mistakes = 0;
  std::size_t skipped = 0;  // The number of statements that are for another database, or cannot be determined.
};

// Prints what is wrong with the statements.
Counts check_all(const Options& options, const Sources& sources, const Sources::Found& found, BothChecker& checker) {
  Counts counts;
  for (const Statement& statement : found.statements) {
    if (!checker.choose(statement.database)) {
      if (options.is_prepare) continue;
      ++counts.skipped;
      std::fprintf(stderr, "%s: note: not checked: %s() is for %s here, and --database names %s\n",
                   sources.describe(statement.origin[0]).c_str(), std::string(statement.call).c_str(),
                   statement.database.c_str(), options.database.c_str());
      continue;
    }
    const std::optional<Mistake> mistake = checker.check(statement);
    ++counts.checked;
    if (!mistake) continue;
    ++counts.mistakes;
    const std::size_t offset = mistake->offset.value_or(0);
    const Place& place = statement.origin[std::min(offset, statement.origin.size() - 1)];
    std::fprintf(stderr, "%s: error: %s\n%s", sources.describe(place).c_str(), mistake->text.c_str(),
                 shown(statement.text, mistake->offset).c_str());
  }
  for (const Unknown& unknown : found.unknown) {
    std::fprintf(stderr, "%s: note: not checked: %s is neither a literal nor a constant of these files\n",
                 sources.describe(unknown.place).c_str(), unknown.argument.c_str());
  }
  counts.skipped += found.unknown.size();
  return counts;
}

int write_lock(const Options& options, const Checkers& checkers) {
  if (checkers.postgres == nullptr && !std::filesystem::exists(options.lock)) return are_good;
  Verdicts verdicts = checkers.verdicts;
  if (checkers.postgres == nullptr) {
    auto checksums = checksums_of(options.migrations);
    if (!checksums) return refuse(checksums.error());
    verdicts.migrations = *std::move(checksums);
  }
  const Result<> written = lock_of(options).write(verdicts, options.is_check);
  if (written) return are_good;
  return refuse(written.error(), written.error().code() == Code::FailedPrecondition ? have_mistakes : was_wrong);
}

int check(const Options& options) {
  Sources sources;
  for (const std::string& path : options.files) {
    auto text = read_file(path);
    if (!text) return refuse(text.error());
    sources.add(path, *std::move(text));
  }
  const Sources::Found found = sources.find();
  Checkers checkers;
  if (const Result<> made = checkers.make(options, found); !made) {
    return refuse(made.error(), checkers.is_lock_old ? have_mistakes : was_wrong);
  }
  const Counts counts = check_all(options, sources, found, *checkers.both);
  if (found.statements.empty() && !options.allows_none) {
    std::fprintf(stderr,
                 "keel sql: no statement was found in %s: name the sources that call query, query_one, query_optional, "
                 "query_many, execute, stream or copy_out\n",
                 counted(sources.count(), "file").c_str());
    return have_mistakes;
  }
  if (checkers.postgres != nullptr && !options.is_prepare) {
    for (const std::string& text : checkers.postgres->unused()) {
      std::fprintf(stderr, "keel sql: note: %s has a statement that no source contains any more: %s: run %s\n",
                   options.lock.c_str(), text.c_str(), lock_of(options).command.c_str());
    }
  }
  std::printf("keel sql: %s checked with %s of %s: %zu with mistakes, %zu not checked\n",
              counted(counts.checked, "statement").c_str(),
              counted(static_cast<std::size_t>(checkers.migrations), "migration").c_str(), options.migrations.c_str(),
              counts.mistakes, counts.skipped);
  if (counts.mistakes != 0) return have_mistakes;
  return options.is_prepare ? write_lock(options, checkers) : are_good;
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument != "--help" && argument != "-h") continue;
    std::fputs(std::string(help).c_str(), stdout);
    return are_good;
  }
  const auto options = parse(arguments);
  return options ? check(*options) : refuse(options.error());
}

}  // namespace keel::sql
