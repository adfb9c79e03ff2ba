// keel COMMAND: the tools of the framework in one program.

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "api/command.h"
#include "backup/command.h"
#include "cert/command.h"
#include "dev/command.h"
#include "gen/command.h"
#include "load/command.h"
#include "migrate/command.h"
#include "new/command.h"
#include "sql/command.h"
#include "sql/gen_command.h"

namespace {

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const std::vector<std::string>& arguments);
};

int generate(const std::vector<std::string>& arguments);
int help(const std::vector<std::string>& arguments);
int version(const std::vector<std::string>& arguments);

constexpr Command commands[] = {
    {"new", "writes a new service, which builds, runs and passes its tests", &keel::create::run_command},
    {"dev", "builds and serves the service of this folder, and rebuilds it whenever a file is saved",
     &keel::dev::run_command},
    {"load", "puts load on an HTTP server, in a closed or open loop, and checks every response",
     &keel::load::run_command},
    {"cert", "makes a certificate for development", &keel::cert::run_command},
    {"migrate", "applies the migrations of a database, undoes them, and lists which are applied",
     &keel::migrate::run_command},
    {"backup", "copies an SQLite database while a service uses it", &keel::backup::run_command},
    {"sql", "checks the SQL of C++ sources against the migrations", &keel::sql::run_command},
    {"api", "checks an OpenAPI document, and reports which changes to it break clients", &keel::api::run_command},
    {"gen", "generates C++ from an OpenAPI document or from SQL queries", &generate},
    {"help", "shows this list; keel COMMAND --help explains a command", &help},
    {"version", "shows the version of this program", &version},
};

int generate(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] != "sql") return keel::gen::run_command(arguments);
  return keel::sql::run_gen_command(std::vector<std::string>(arguments.begin() + 1, arguments.end()));
}

int help(const std::vector<std::string>&) {
  std::printf("keel COMMAND [options]\n\n");
  for (const Command& command : commands) {
    std::printf("  %-9s %s\n", std::string(command.name).c_str(), std::string(command.summary).c_str());
  }
  return 0;
}

int version(const std::vector<std::string>&) {
  std::printf("keel %s\n", KEEL_VERSION);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + (argc > 1 ? 2 : 1), argv + argc);
  std::string name = argc > 1 ? argv[1] : "help";
  if (name == "--help" || name == "-h") name = "help";
  if (name == "--version") name = "version";
  for (const Command& command : commands) {
    if (command.name == name) return command.run(arguments);
  }
  std::fprintf(stderr, "keel: '%s' is not a command; keel help lists them\n", name.c_str());
  return 2;
}
