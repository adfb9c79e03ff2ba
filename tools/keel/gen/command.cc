#include "gen/command.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "gen/folder.h"
#include "gen/names.h"
#include "gen/output.h"
#include "keel/base/result.h"
#include "openapi/document.h"

namespace keel::gen {
namespace {

namespace fs = std::filesystem;

constexpr int is_good = 0;
constexpr int is_bad = 1;
constexpr int was_wrong = 2;

constexpr std::string_view help_text =
    R"(keel gen api DOCUMENT --out FOLDER [--namespace NAME] [--generate LIST] [--parts N] [--operations ID,...]
                      [--check] [--depfile FILE.d]

Generates C++ from an OpenAPI document: structs that are read, checked and written as the document says. For a
service, it also generates a handler for the operations of each tag, and mount(), which adds all routes,
/openapi.json and /docs to a router; for programs that call a service, a client for the operations of each tag.
CMake's keel_api(TARGET DOCUMENT) runs this command.

  --out FOLDER         where the files go: FOLDER/NAME/types.h, a header for each tag, api.h, part_1.cc, …
                       Only files that change are written; generated files that are no longer needed are removed.
  --namespace NAME     the namespace of the code (default: api); its last part is the folder: api for shop::api
  --generate LIST      "server", "client", or "server,client" (default: server)
  --parts N            the number of sources, which compile in parallel (default: 4)
  --operations ID,...  only these operations, by operationId; -ID,... leaves these operations out
  --check              writes nothing; ends with 1 when a file differs from what would be written
  --depfile FILE.d     also writes a Make rule for FILE that lists the files of the document

DOCUMENT is OpenAPI 3.0 or 3.1, in YAML or JSON; files that it refers to are read. Each mistake in it, and each
part that cannot be generated, is printed with file, line and column. keel api lint prints the same, and warnings.

Ends with 0 when the files are up to date, with 1 when the document has errors, with 2 when a file cannot be
read or written, or the command line is wrong.

keel gen sql generates C++ from SQL queries; keel gen sql --help says how.
)";

struct Arguments {
  std::string document;
  std::string out;
  std::string depfile;
  bool is_check = false;
  Options options;
};

Result<Arguments> parse(const std::vector<std::string>& arguments) {
  const auto refuse = [](std::string text) { return Error::text(Code::InvalidArgument, text); };
  if (arguments.empty() || arguments[0] != "api") {
    return refuse("expected: keel gen api DOCUMENT --out FOLDER, or keel gen sql; keel gen --help says more");
  }
  Arguments parsed;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--check") {
      parsed.is_check = true;
      continue;
    }
    if (!argument.starts_with('-')) {
      if (!parsed.document.empty()) return refuse("expected only one DOCUMENT, but " + argument + " is another");
      parsed.document = argument;
      continue;
    }
    constexpr std::string_view known[] = {"--out", "--namespace", "--generate", "--parts", "--operations", "--depfile"};
    if (std::ranges::find(known, argument) == std::end(known)) {
      return refuse(argument + ": there is no such option; keel gen --help lists them");
    }
    if (i + 1 == arguments.size()) return refuse(argument + ": needs a value");
    const std::string& value = arguments[++i];
    if (argument == "--out") {
      parsed.out = value;
    } else if (argument == "--namespace") {
      if (!is_namespace(value)) return refuse("--namespace " + value + ": expected names with '::' between them");
      parsed.options.space = value;
    } else if (argument == "--generate") {
      if (!set_generated(parsed.options, value)) {
        return refuse("--generate " + value + ": expected server, client, or server,client");
      }
    } else if (argument == "--parts") {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed.options.parts);
      if (error != std::errc() || end != value.data() + value.size() || parsed.options.parts < 1 ||
          parsed.options.parts > 1000) {
        return refuse("--parts " + value + ": expected a number from 1 to 1000");
      }
    } else if (argument == "--depfile") {
      if (!value.ends_with(".d")) return refuse("--depfile " + value + ": expected a name that ends in .d");
      parsed.depfile = value;
    } else {
      set_operations(parsed.options, value);
    }
  }
  if (parsed.document.empty()) return refuse("no DOCUMENT is named: expected an OpenAPI document");
  if (parsed.out.empty()) return refuse("--out FOLDER is missing: name the folder for the files");
  parsed.options.source = fs::path(parsed.document).filename().string();
  return parsed;
}

// A path, escaped for a Make rule that Ninja can read too.
std::string escaped(std::string_view path) {
  std::string text;
  for (const char c : path) {
    if (c == ' ' || c == '#') text += '\\';
    text += c;
    if (c == '$') text += '$';
  }
  return text;
}

Result<> write_depfile(const std::string& path, const std::vector<std::string>& read) {
  std::string text = escaped(std::string_view(path).substr(0, path.size() - 2)) + ':';
  for (const std::string& one : read) text += " \\\n  " + escaped(one);
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  out << text << '\n';
  out.close();
  if (!out) return Error::from_errno("write", errno).because(path);
  return {};
}

}  // namespace

bool set_generated(Options& options, std::string_view value) {
  options.has_server = value == "server" || value == "server,client" || value == "client,server";
  options.has_client = value == "client" || value == "server,client" || value == "client,server";
  return options.has_server || options.has_client;
}

void set_operations(Options& options, std::string_view value) {
  while (!value.empty()) {
    const std::size_t at = std::min(value.find(','), value.size());
    if (at != 0) options.operations.emplace_back(value.substr(0, at));
    value.remove_prefix(std::min(at + 1, value.size()));
  }
}

int run_command(const std::vector<std::string>& arguments) {
  if (std::ranges::any_of(arguments, [](const std::string& one) { return one == "--help" || one == "-h"; })) {
    std::printf("%s", std::string(help_text).c_str());
    return is_good;
  }
  const auto parsed = parse(arguments);
  if (!parsed) {
    std::fprintf(stderr, "keel gen: %s\n", parsed.error().describe().c_str());
    return was_wrong;
  }
  openapi::Problems problems;
  const auto document = openapi::Document::load(parsed->document, openapi::read_regular_file, problems);
  std::vector<File> files;
  if (document != nullptr) files = generate(*document, parsed->options, problems);
  for (const openapi::Problem& problem : problems.sorted()) {
    if (problem.severity == openapi::Problem::Severity::Error) {
      std::fprintf(stderr, "%s\n", problem.describe().c_str());
    }
  }
  if (document == nullptr) return was_wrong;
  if (problems.errors() != 0) return is_bad;
  const Folder folder(parsed->out, parsed->options.space, "keel gen api");
  if (parsed->is_check) return folder.compare(files, parsed->document + " says") ? is_good : is_bad;
  Result<> written = folder.write(files);
  if (written && !parsed->depfile.empty()) written = write_depfile(parsed->depfile, document->paths());
  if (!written) {
    std::fprintf(stderr, "keel gen: %s\n", written.error().describe().c_str());
    return was_wrong;
  }
  return is_good;
}

}  // namespace keel::gen
