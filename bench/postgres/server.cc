#include <cstdio>
#include <cstdlib>
#include <string>

#include "postgres.h"

namespace keel::bench {
namespace {

using db::postgres::testing::RealServer;

void run(const std::string& command) {
  if (std::system(command.c_str()) == 0) return;
  std::fprintf(stderr, "failed: %s\n", command.c_str());
  std::exit(1);
}

}  // namespace

RealServer& server() {
  static RealServer made({.settings = {"fsync = on", "shared_buffers = 128MB", "max_wal_size = 1GB"}});
  static const bool is_filled = [] {
    const std::string at = " -q -h " + made.folder() + " -p " + std::to_string(made.port()) + " -U keel ";
    run("psql" + at +
        "-d postgres -v ON_ERROR_STOP=1 -c \"create table users (id bigint primary key, name text not null, "
        "email text not null)\" -c \"insert into users select i, 'user' || lpad(i::text, 12, '0'), 'user' || i || "
        "'@example.com' from generate_series(1, " +
        std::to_string(users) +
        ") i\" -c \"create table visits (page text not null, at bigint not null)\" -c \"vacuum analyze users\"");
    run("pgbench -i" + at + "-I dtGvp -s 1 postgres >/dev/null 2>&1");
    return true;
  }();
  static_cast<void>(is_filled);
  return made;
}

double pgbench_rate(const std::string& arguments, const std::string& script) {
  const std::string file = server().folder() + "/insert.sql";
  if (!script.empty()) {
    if (std::FILE* const out = std::fopen(file.c_str(), "w")) {
      std::fputs(script.c_str(), out);
      std::fclose(out);
    }
  }
  const std::string command = "pgbench -n " + arguments + (script.empty() ? "" : " -f " + file) + " -h " +
                              server().folder() + " -p " + std::to_string(server().port()) + " -U keel postgres 2>&1";
  std::FILE* const said = popen(command.c_str(), "r");
  if (said == nullptr) return 0;
  double rate = 0;
  char line[512];
  while (std::fgets(line, sizeof line, said) != nullptr) std::sscanf(line, "tps = %lf", &rate);
  return pclose(said) == 0 ? rate : 0;
}

}  // namespace keel::bench
