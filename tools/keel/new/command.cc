#include "new/command.h"

#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "new/files.h"
#include "new/names.h"
#include "new/writer.h"

namespace keel::create {
namespace {

constexpr int was_written = 0;
constexpr int was_not_written = 1;
constexpr int was_wrong = 2;

constexpr std::string_view help =
    R"(keel new NAME [--contract] [--dir FOLDER]

Writes a service that keeps notes in SQLite: routes, a migration, tests in a simulation, CMake presets,
configuration, a systemd unit and a Containerfile. The service builds and passes its tests as it is; keel dev in
its folder serves it.

  NAME           lowercase letters, digits and '_', such as tea_shop: the name of the program and its CMake targets
  --contract     starts from an OpenAPI document, api.yaml, from which routes, structs and checks are generated
  --dir FOLDER   where to write the service (default: ./NAME). The folder must not exist.

Ends with 0 on success, with 1 when the folder exists or cannot be written, and with 2 for a name or an option that
cannot be used. No existing file is changed, and a folder that could not be written completely is removed.
)";

int refuse(const Error& error, int code) {
  std::fprintf(stderr, "keel new: %s\n", error.describe().c_str());
  return code;
}

struct Options {
  std::string name;
  std::string folder;
  bool has_contract = false;
};

Result<Options> parse(const std::vector<std::string>& arguments) {
  const auto fail_with = [](std::string_view text) { return Error::text(Code::InvalidArgument, text); };
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--dir") {
      if (i + 1 == arguments.size()) return fail_with("--dir: needs a folder");
      options.folder = arguments[++i];
    } else if (argument == "--contract") {
      options.has_contract = true;
    } else if (argument.starts_with('-')) {
      return fail_with(argument + ": there is no such option; keel new --help lists them");
    } else if (!options.name.empty()) {
      return fail_with(argument + ": unexpected argument: NAME is already given");
    } else {
      options.name = argument;
    }
  }
  if (options.name.empty()) return fail_with("expected: keel new NAME; keel new --help says more");
  return options;
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument != "--help" && argument != "-h") continue;
    std::fputs(std::string(help).c_str(), stdout);
    return was_written;
  }
  const auto options = parse(arguments);
  if (!options) return refuse(options.error(), was_wrong);
  const auto names = Names::of(options->name);
  if (!names) return refuse(names.error(), was_wrong);
  const std::string folder = options->folder.empty() ? names->name() : options->folder;

  std::vector<File> chosen(files().begin(), files().end());
  if (options->has_contract) {
    for (const File& file : contract_files()) {
      std::erase_if(chosen, [&](const File& other) { return other.path == file.path; });
      chosen.push_back(file);
    }
  }
  const auto written = write_service(chosen, *names, folder);
  if (!written) return refuse(written.error(), was_not_written);

  std::printf("keel new: %zu files in %s\n\n  cd %s && keel dev\n\n", *written, folder.c_str(), folder.c_str());
  std::printf(
      "builds it, serves it on http://127.0.0.1:8080 and builds it again when a file is saved; README.md says more.\n");
  return was_written;
}

}  // namespace keel::create
