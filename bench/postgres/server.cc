#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

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

// Of the processes that run by /proc/PID/schedstat; of those that have ended by what their parent has of them.
std::int64_t server_cpu_ns() {
  namespace fs = std::filesystem;
  int parent = 0;
  std::ifstream(server().folder() + "/data/postmaster.pid") >> parent;
  std::int64_t ns = 0;
  std::error_code none;
  for (const fs::directory_entry& process : fs::directory_iterator("/proc", none)) {
    const std::string name = process.path().filename().string();
    if (name.empty() || name[0] < '0' || name[0] > '9') continue;
    std::string text;
    std::getline(std::ifstream(process.path() / "stat"), text);
    std::istringstream fields(text.substr(std::min(text.rfind(')') + 2, text.size())));
    char state = 0;
    int of = 0;
    fields >> state >> of;
    const bool is_first = name == std::to_string(parent);
    if (!is_first && of != parent) continue;
    std::int64_t run = 0;
    std::ifstream(process.path() / "schedstat") >> run;
    ns += run;
    if (!is_first) continue;
    std::int64_t skipped = 0;
    for (int i = 0; i < 11; ++i) fields >> skipped;  // Up to stime; cutime and cstime follow: proc(5).
    std::int64_t user = 0;
    std::int64_t system = 0;
    fields >> user >> system;
    ns += (user + system) * (1'000'000'000 / sysconf(_SC_CLK_TCK));
  }
  return ns;
}

Pgbench pgbench_run(const std::string& arguments, const std::string& script) {
  const std::string file = server().folder() + "/insert.sql";
  if (!script.empty()) {
    if (std::FILE* const out = std::fopen(file.c_str(), "w")) {
      std::fputs(script.c_str(), out);
      std::fclose(out);
    }
  }
  const std::string command = "pgbench -n " + arguments + (script.empty() ? "" : " -f " + file) + " -h " +
                              server().folder() + " -p " + std::to_string(server().port()) + " -U keel postgres 2>&1";
  const auto of_children = [] {
    rusage used{};
    getrusage(RUSAGE_CHILDREN, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * std::int64_t{1'000'000'000} +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * std::int64_t{1000};
  };
  Pgbench done;
  done.server_ns = -server_cpu_ns();
  done.cpu_ns = -of_children();
  std::FILE* const said = popen(command.c_str(), "r");
  if (said == nullptr) return {};
  char line[512];
  while (std::fgets(line, sizeof line, said) != nullptr) {
    std::sscanf(line, "tps = %lf", &done.rate);
    std::sscanf(line, "number of transactions actually processed: %lf", &done.transactions);
  }
  if (pclose(said) != 0) return {};
  done.cpu_ns += of_children();
  done.server_ns += server_cpu_ns();
  return done;
}

}  // namespace keel::bench
