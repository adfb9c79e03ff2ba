#include "dev/command.h"

#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>

#include "dev/session.h"

namespace keel::dev {
namespace {

constexpr int was_wrong = 2;

constexpr std::string_view help =
    R"(keel dev [--preset NAME] [--target NAME] [-- ARGUMENT...]

Builds the service of this folder, starts it, and builds it again whenever a file is saved. A new program
takes over the listening sockets of the running one, which completes the requests that it has accepted and
then ends: the port never closes. When the build fails, or the new program ends before it is ready, the running
program continues, and the first error is shown.

  --preset NAME   the preset of CMakePresets.json; dev unless given
  --target NAME   the program, a target of CMake
  ARGUMENT...     arguments of the program, appended to those of keel.yaml

keel.yaml, in the folder of CMakeLists.txt, has these settings for everybody who works on the service:

  dev:
    target: shop
    arguments: [--config, service.yaml]
    preset: dev
    build: build/dev                  # build/PRESET unless given
    restart_on: ["*.yaml", "*.sql"]   # files that the program reads at its start: a change restarts it
    ignore: ["/data"]                 # files that the service itself writes

Ctrl-C drains the service, and then keel dev ends; a second Ctrl-C ends the service immediately. SIGQUIT (Ctrl-\)
is passed on to it.

Ends with the exit code of the service, or 2 when the folder, keel.yaml or an option cannot be used.
)";

int refuse(const Error& error) {
  std::fprintf(stderr, "keel dev: %s\n", error.describe().c_str());
  return was_wrong;
}

struct Options {
  std::string preset;
  std::string target;
  std::vector<std::string> arguments;
};

Result<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      options.arguments.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1, arguments.end());
      break;
    }
    std::string* const value = argument == "--preset"   ? &options.preset
                               : argument == "--target" ? &options.target
                                                        : nullptr;
    if (value == nullptr) {
      return Error::text(Code::InvalidArgument,
                         argument + ": there is no such option; write the program's own options after --");
    }
    if (i + 1 == arguments.size()) return Error::text(Code::InvalidArgument, argument + ": needs a value");
    *value = arguments[++i];
  }
  return options;
}

Result<int> run(const std::vector<std::string>& arguments) {
  KEEL_TRY(Options options, parse(arguments));
  KEEL_TRY(Project project, Project::read(std::filesystem::current_path().string(), options.preset, options.target));
  KEEL_TRY(const auto session, Session::make(std::move(project), std::move(options.arguments)));
  return session->run();
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument != "--help" && argument != "-h") continue;
    std::fputs(std::string(help).c_str(), stdout);
    return 0;
  }
  const auto code = run(arguments);
  return code ? *code : refuse(code.error());
}

}  // namespace keel::dev
