#include "sql/command.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sql/sqlite_checker.h"
#include "sql/statements.h"

namespace keel::sql {
namespace {

constexpr int are_good = 0;
constexpr int have_mistakes = 1;
constexpr int was_wrong = 2;

constexpr std::string_view help =
    R"(keel sql check --migrations DIR [--database sqlite] [--allow-none] FILE...

Prepares every SQL statement of C++ sources on a database in memory that has the migrations of DIR,
and says what is wrong with it: a misspelt table or column, bad syntax, a statement that gives no
rows where rows are read.

A statement is the first argument of query, query_one, query_optional, query_many and execute, called
of an object: string literals, or a constant or macro that one of the FILEs initialises with some. Of
other arguments a note is printed. Calls of other classes are skipped by a comment "keel sql: skip" on
their line or the line before.

  --migrations DIR   the folder of the files NNNN_name.sql
  --database sqlite  what the statements are for; sqlite is the only one and the default
  --allow-none       files without a statement are good too: their queries are elsewhere (keel gen sql)

Ends with 0 when all statements are good, 1 when one is not or there is none, 2 when DIR or a FILE
cannot be used. CMake: keel_sql(TARGET MIGRATIONS DIR) runs it on the sources of a target when they
are built, and as a test.
)";

struct Options {
  std::string migrations;
  std::string database = "sqlite";
  bool allows_none = false;
  std::vector<std::string> files;
};

Result<Options> parse(const std::vector<std::string>& arguments) {
  const auto refuse = [](std::string text) { return Error::text(Code::InvalidArgument, text); };
  if (arguments.empty() || arguments[0] != "check") {
    return refuse("expected: keel sql check --migrations DIR FILE...; keel sql --help says more");
  }
  Options options;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--allow-none") {
      options.allows_none = true;
      continue;
    }
    std::string* const value = argument == "--migrations" ? &options.migrations
                               : argument == "--database" ? &options.database
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
    return refuse("--migrations DIR: the folder that the service migrates from is needed");
  if (options.database != "sqlite") return refuse("--database " + options.database + ": expected sqlite");
  if (options.files.empty()) return refuse("no FILE is named: expected C++ sources");
  return options;
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

// The line of the statement that contains the byte, with a caret below it; without a byte, the first line.
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
      text += ' ';  // One for each character of UTF-8.
    }
  }
  return text + "^\n";
}

std::string counted(std::size_t count, const char* noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

int refuse(const Error& error) {
  std::fprintf(stderr, "keel sql: %s\n", error.describe().c_str());
  return was_wrong;
}

int check(const Options& options) {
  Sources sources;
  for (const std::string& path : options.files) {
    auto text = read_file(path);
    if (!text) return refuse(text.error());
    sources.add(path, *std::move(text));
  }
  const Sources::Found found = sources.find();
  const auto checker = make_sqlite_checker(options.migrations);
  if (!checker) return refuse(checker.error());

  std::size_t mistakes = 0;
  for (const Statement& statement : found.statements) {
    const std::optional<Mistake> mistake = (*checker)->check(statement);
    if (!mistake) continue;
    ++mistakes;
    const std::size_t offset = mistake->offset.value_or(0);
    const Place& place = statement.origin[std::min(offset, statement.origin.size() - 1)];
    std::fprintf(stderr, "%s: error: %s\n%s", sources.describe(place).c_str(), mistake->text.c_str(),
                 shown(statement.text, mistake->offset).c_str());
  }
  for (const Unknown& unknown : found.unknown) {
    std::fprintf(stderr, "%s: note: not checked: %s is no literal, and no constant of these files\n",
                 sources.describe(unknown.place).c_str(), unknown.argument.c_str());
  }
  if (found.statements.empty() && !options.allows_none) {
    std::fprintf(stderr,
                 "keel sql: no statement was found in %s: name the sources that call query, query_one, query_optional, "
                 "query_many or execute\n",
                 counted(sources.count(), "file").c_str());
    return have_mistakes;
  }
  std::printf("keel sql: %s checked with %s of %s: %zu with mistakes, %zu not checked\n",
              counted(found.statements.size(), "statement").c_str(),
              counted(static_cast<std::size_t>((*checker)->migrations()), "migration").c_str(),
              options.migrations.c_str(), mistakes, found.unknown.size());
  return mistakes == 0 ? are_good : have_mistakes;
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
