#include "api/command.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/init_command.h"
#include "gen/command.h"
#include "gen/output.h"
#include "keel/base/result.h"
#include "openapi/diff.h"
#include "openapi/document.h"
#include "openapi/grammar.h"

namespace keel::api {
namespace {

using openapi::Change;
using openapi::Document;
using openapi::Problem;
using openapi::Problems;

constexpr int is_good = 0;
constexpr int is_bad = 1;
constexpr int was_wrong = 2;

constexpr std::string_view help_text =
    R"(keel api lint [--no-warnings] [--operations ID,...] [--generate LIST] FILE...
keel api diff [--fail-on LEVEL] OLD NEW
keel api init [--out FILE] [--title TITLE] [--records FOLDER]

  lint    prints mistakes in OpenAPI documents, parts that Keel cannot serve, and suspicious parts
  diff    prints the changes from OLD to NEW that clients notice, and says which of them break clients
  init    writes the document of a service that has none, from the requests of its tests

Each command ends with 0 when it finds nothing to report, with 1 when it finds something, and with 2 when a
document cannot be read or the command line is wrong. For more, see keel api lint --help, diff --help and init --help.
)";

constexpr std::string_view documents_text =
    R"(OpenAPI 3.0 or 3.1, in YAML or JSON. Files that a document refers to are read, relative to the document;
nothing is fetched from a network.
)";

constexpr std::string_view lint_help =
    R"(keel api lint [--no-warnings] [--operations ID,...] [--generate LIST] FILE...

Prints every mistake in OpenAPI documents, every part that Keel cannot serve, and every part that is legal but
suspicious: one line for each, with its file, line, column and JSON pointer. keel gen api prints the same errors, in
the same words. Errors that only the generator can find are printed once there are no others.

  --no-warnings        prints only errors
  --operations ID,...  only these operations and what they refer to, as with keel gen api
  --generate LIST      the side that code is generated for: "server" (the default), "client", or "server,client"

A FILE is )";
constexpr std::string_view lint_exit =
    R"(
Ends with 0 when there is no error, even if there are warnings; with 1 when there is an error; with 2 when a
document cannot be read or the command line is wrong.

These keywords of a schema are not supported, and are errors:
 )";

constexpr std::string_view diff_help =
    R"(keel api diff [--fail-on LEVEL] OLD NEW

Prints each change from OLD to NEW that clients can notice: one line for each, with its place. A change is breaking
when a request that OLD allows may fail, or a response may contain what OLD rules out; non-breaking when neither
can happen; unclassified when that depends on what clients do.

  --fail-on LEVEL    breaking (the default): ends with 1 if a change is breaking; unclassified: also
                     if a change is unclassified; any: if there is any change; none: never

Both documents are )";
constexpr std::string_view diff_exit =
    R"(
Ends with 0 when there is no change of the level that --fail-on names; with 1 when there is one; with 2 when a
document cannot be read or the command line is wrong.
)";

struct Options {
  std::string command;
  bool has_warnings = true;
  std::string fail_on = "breaking";
  gen::Options generated;
  std::vector<std::string> files;
};

Result<Options> parse(const std::vector<std::string>& arguments) {
  const auto refuse = [](std::string text) { return Error::text(Code::InvalidArgument, text); };
  if (arguments.empty() || (arguments[0] != "lint" && arguments[0] != "diff")) {
    return refuse(
        "expected: keel api lint FILE..., keel api diff OLD NEW, or keel api init; keel api --help says more");
  }
  Options options{.command = arguments[0], .generated = {}, .files = {}};
  const bool is_lint = options.command == "lint";
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (is_lint && argument == "--no-warnings") {
      options.has_warnings = false;
    } else if (!is_lint && argument == "--fail-on") {
      if (i + 1 == arguments.size()) return refuse("--fail-on: needs a value");
      options.fail_on = arguments[++i];
      if (options.fail_on != "breaking" && options.fail_on != "unclassified" && options.fail_on != "any" &&
          options.fail_on != "none") {
        return refuse("--fail-on " + options.fail_on + ": expected breaking, unclassified, any or none");
      }
    } else if (is_lint && (argument == "--operations" || argument == "--generate")) {
      if (i + 1 == arguments.size()) return refuse(argument + ": needs a value");
      const std::string& value = arguments[++i];
      if (argument == "--operations") {
        gen::set_operations(options.generated, value);
      } else if (!gen::set_generated(options.generated, value)) {
        return refuse("--generate " + value + ": expected server, client, or server,client");
      }
    } else if (argument.starts_with('-')) {
      return refuse(argument + ": there is no such option; keel api " + options.command + " --help lists them");
    } else {
      options.files.push_back(argument);
    }
  }
  if (is_lint && options.files.empty()) return refuse("no FILE is named: expected OpenAPI documents");
  if (!is_lint && options.files.size() != 2) {
    return refuse("expected two documents, OLD and NEW, instead of " + std::to_string(options.files.size()));
  }
  return options;
}

std::string counted(std::size_t count, std::string_view noun) {
  return std::to_string(count) + ' ' + std::string(noun) + (count == 1 ? "" : "s");
}

int refuse(const Error& error) {
  std::fprintf(stderr, "keel api: %s\n", error.describe().c_str());
  return was_wrong;
}

void print(const Problems& problems, bool has_warnings) {
  for (const Problem& problem : problems.sorted()) {
    if (problem.severity == Problem::Severity::Error || has_warnings) {
      std::fprintf(stderr, "%s\n", problem.describe().c_str());
    }
  }
  const std::size_t all = problems.errors() + problems.warnings();
  if (all > Problems::count_max) std::fprintf(stderr, "keel api: %zu more are not shown\n", all - Problems::count_max);
}

int lint(const Options& options) {
  Problems all;
  bool are_read = true;
  for (const std::string& file : options.files) {
    // Each document has its own Problems, because an error in one document must not keep the generator from reading the
    // other documents.
    Problems problems;
    const std::unique_ptr<Document> document = Document::load(file, openapi::read_regular_file, problems);
    if (document == nullptr) {
      are_read = false;
    } else {
      gen::generate(*document, options.generated, problems);
    }
    all.add_all(problems);
  }
  print(all, options.has_warnings);
  std::printf("keel api: %s checked: %s, %s\n", counted(options.files.size(), "document").c_str(),
              counted(all.errors(), "error").c_str(), counted(all.warnings(), "warning").c_str());
  return !are_read ? was_wrong : all.errors() == 0 ? is_good : is_bad;
}

int diff(const Options& options) {
  Problems problems;
  const auto before = Document::load(options.files[0], openapi::read_regular_file, problems);
  const auto after = Document::load(options.files[1], openapi::read_regular_file, problems);
  if (before == nullptr || after == nullptr || problems.errors() != 0) {
    print(problems, false);
    std::fprintf(stderr, "keel api: the documents cannot be compared until they can be read\n");
    return was_wrong;
  }
  const std::vector<Change> changes = openapi::diff(*before, *after);
  std::size_t breaking = 0;
  std::size_t unclassified = 0;
  for (const Change& change : changes) {
    breaking += change.severity == Change::Severity::Breaking;
    unclassified += change.severity == Change::Severity::Unclassified;
    std::printf("%s\n", change.describe().c_str());
  }
  std::printf("keel api: %s: %zu breaking, %zu unclassified, %zu non-breaking\n",
              counted(changes.size(), "change").c_str(), breaking, unclassified,
              changes.size() - breaking - unclassified);
  const std::size_t failing = options.fail_on == "breaking"       ? breaking
                              : options.fail_on == "unclassified" ? breaking + unclassified
                              : options.fail_on == "any"          ? changes.size()
                                                                  : 0;
  return failing == 0 ? is_good : is_bad;
}

// Splits "--fail-on=any" into "--fail-on" and "any".
std::vector<std::string> with_values_apart(const std::vector<std::string>& written) {
  std::vector<std::string> arguments;
  for (const std::string& one : written) {
    const std::size_t at = one.starts_with("--") ? one.find('=') : std::string::npos;
    arguments.push_back(one.substr(0, at));
    if (at != std::string::npos) arguments.push_back(one.substr(at + 1));
  }
  return arguments;
}

void print_help(std::string_view command) {
  std::string text;
  if (command == "lint") {
    text.append(lint_help).append(documents_text).append(lint_exit);
    for (const std::string_view name : openapi::unsupported_keywords()) text += ' ' + std::string(name);
    text += '\n';
  } else if (command == "diff") {
    text.append(diff_help).append(documents_text).append(diff_exit);
  } else {
    text = command == "init" ? init_help : help_text;
  }
  std::fputs(text.c_str(), stdout);
}

}  // namespace

int run_command(const std::vector<std::string>& written) {
  const std::vector<std::string> arguments = with_values_apart(written);
  if (std::find_if(arguments.begin(), arguments.end(), [](const std::string& argument) {
        return argument == "--help" || argument == "-h";
      }) != arguments.end()) {
    print_help(arguments[0]);
    return is_good;
  }
  if (!arguments.empty() && arguments[0] == "init") return run_init({arguments.begin() + 1, arguments.end()});
  const auto options = parse(arguments);
  if (!options) return refuse(options.error());
  return options->command == "lint" ? lint(*options) : diff(*options);
}

}  // namespace keel::api
