#include "sql/gen_command.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "gen/names.h"
#include "keel/base/result.h"
#include "sql/catalog.h"
#include "sql/contract_places.h"
#include "sql/query_writer.h"
#include "sql/sqlite_checker.h"
#include "sql/words.h"

namespace keel::sql {
namespace {

namespace fs = std::filesystem;

constexpr int gen_is_good = 0;
constexpr int gen_is_bad = 1;
constexpr int gen_was_wrong = 2;

constexpr std::string_view gen_help =
    R"(keel gen sql --migrations DIR --out FOLDER [--namespace NAME] [--contract DOCUMENT]
             [--database sqlite] [--check] FILE...

Writes the C++ of SQL queries: for each a function whose parameters and rows have the types that the
database says. Every statement is prepared on a database in memory that has the migrations of DIR.
CMake's keel_sql(TARGET QUERIES FILE... MIGRATIONS DIR) calls it.

    -- name: find_user :optional User
    select id, name from users where email = $email;

  :one       the row, or the error NotFound         :exec    what was changed
  :optional  the row, or nothing                    :batch   runs for each of several structs, all or none
  :many      all rows                               :stream  awaits a callback with some rows at a time

  --migrations DIR     the folder of the files NNNN_name.sql
  --out FOLDER         where the files go: FOLDER/NAME/rows.h, and of each FILE users.sql a users.h and users.cc.
                       Only those that change are written; generated ones that are left over are removed.
  --namespace NAME     of the code (default: queries); of shop::queries the last part is the folder
  --contract DOCUMENT  the OpenAPI document that types of the program are made of: messages have their places in it
  --database sqlite    what the statements are for; sqlite is the only one and the default
  --check              writes nothing; ends with 1 when a file is not as it would be written

docs/sql.md says what else the files may have: types, optional blocks, orders.

Ends with 0 when the files are there, with 1 when a query has a mistake, which is printed with file,
line and column, with 2 when a file cannot be read or written, or the command line is wrong.
)";

struct GenArguments {
  std::string migrations;
  std::string out;
  std::string space = "queries";
  std::string database = "sqlite";
  std::string contract;
  bool is_check = false;
  std::vector<std::string> files;
};

bool is_namespace(std::string_view names) {
  while (true) {
    const std::size_t end = std::min(names.find("::"), names.size());
    const std::string_view name = names.substr(0, end);
    if (!is_identifier(name) || gen::snake_of(name) == std::string(name) + '_') return false;
    if (end == names.size()) return true;
    names.remove_prefix(end + 2);
  }
}

Result<GenArguments> parse_gen(const std::vector<std::string>& arguments) {
  const auto refuse = [](std::string text) { return Error::text(Code::InvalidArgument, text); };
  GenArguments parsed;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--check") {
      parsed.is_check = true;
      continue;
    }
    if (!argument.starts_with('-')) {
      parsed.files.push_back(argument);
      continue;
    }
    std::string* const value = argument == "--migrations"  ? &parsed.migrations
                               : argument == "--out"       ? &parsed.out
                               : argument == "--namespace" ? &parsed.space
                               : argument == "--database"  ? &parsed.database
                               : argument == "--contract"  ? &parsed.contract
                                                           : nullptr;
    if (value == nullptr) return refuse(argument + ": there is no such option; keel gen sql --help lists them");
    if (i + 1 == arguments.size()) return refuse(argument + ": needs a value");
    *value = arguments[++i];
  }
  if (parsed.migrations.empty())
    return refuse("--migrations DIR is missing: the folder that the service migrates from");
  if (parsed.out.empty()) return refuse("--out FOLDER is missing: where the files go");
  if (!is_namespace(parsed.space)) {
    return refuse("--namespace " + parsed.space + ": expected names with '::' between them");
  }
  if (parsed.database != "sqlite") return refuse("--database " + parsed.database + ": expected sqlite");
  if (parsed.files.empty()) return refuse("no FILE is named: expected files of queries, such as db/queries/users.sql");
  return parsed;
}

std::optional<std::string> read_regular_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;  // A folder can be opened, and not read.
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Generated by an earlier run, and by none of this one.
std::vector<fs::path> left_over_in(const fs::path& folder, const std::vector<Generated>& files) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (std::ranges::find(files, name, &Generated::name) != files.end()) continue;
    const auto text = read_regular_file(entry.path());
    if (text && text->starts_with("// Generated by `keel gen sql`")) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

int check_files(const fs::path& folder, const std::vector<Generated>& files, const std::vector<fs::path>& old) {
  int result = gen_is_good;
  for (const Generated& file : files) {
    if (read_regular_file(folder / file.name) == file.text) continue;
    std::fprintf(stderr, "keel gen: %s is not as the queries say: run keel gen sql without --check\n",
                 (folder / file.name).c_str());
    result = gen_is_bad;
  }
  for (const fs::path& path : old) {
    std::fprintf(stderr, "keel gen: %s is left over\n", path.c_str());
    result = gen_is_bad;
  }
  return result;
}

int write_files(const GenArguments& arguments, const std::vector<Generated>& files) {
  const fs::path folder = fs::path(arguments.out) / arguments.space.substr(arguments.space.rfind(':') + 1);
  const std::vector<fs::path> old = left_over_in(folder, files);
  if (arguments.is_check) return check_files(folder, files, old);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    std::fprintf(stderr, "keel gen: %s: %s\n", folder.c_str(), error.message().c_str());
    return gen_was_wrong;
  }
  for (const Generated& file : files) {
    const fs::path path = folder / file.name;
    if (read_regular_file(path) == file.text) continue;
    const fs::path unfinished = path.string() + ".tmp";
    std::ofstream out(unfinished, std::ios::binary);
    out << file.text;
    out.close();
    if (out) fs::rename(unfinished, path, error);
    if (!out || error) {
      std::fprintf(stderr, "keel gen: %s cannot be written\n", path.c_str());
      return gen_was_wrong;
    }
  }
  for (const fs::path& path : old) fs::remove(path, error);
  return gen_is_good;
}

int generate(const GenArguments& arguments) {
  Problems problems;
  std::vector<std::size_t> sources;
  for (const std::string& path : arguments.files) {
    auto text = read_regular_file(path);
    if (!text) {
      std::fprintf(stderr, "keel gen: %s cannot be read\n", path.c_str());
      return gen_was_wrong;
    }
    sources.push_back(problems.add_file(path, *std::move(text)));
  }
  const auto checker = make_sqlite_checker(arguments.migrations);
  if (!checker) {
    std::fprintf(stderr, "keel gen: %s\n", checker.error().describe().c_str());
    return gen_was_wrong;
  }
  ContractPlaces contract;
  if (!arguments.contract.empty()) {
    auto loaded = ContractPlaces::load(arguments.contract);
    if (!loaded) {
      std::fprintf(stderr, "keel gen: %s\n", loaded.error().describe().c_str());
      return gen_was_wrong;
    }
    contract = *std::move(loaded);
  }
  const Catalog catalog = make_catalog(sources, **checker, problems);
  if (problems.has_any()) {
    std::fputs(problems.describe().c_str(), stderr);
    return gen_is_bad;
  }
  return write_files(arguments, write_queries(catalog, problems, arguments.space, contract));
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
