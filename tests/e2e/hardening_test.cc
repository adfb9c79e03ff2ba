// The unit that examples/fullstack gives: what systemd says of it, and the service under what it forbids.

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "client.h"
#include "keel/base/sanitizers.h"
#include "service.h"

namespace e2e::hardening_test {
namespace {

using namespace keel;

const std::string unit = std::string(KEEL_SOURCE_DIR) + "/examples/fullstack/systemd/fullstack.service";

struct Ran {
  int code = -1;
  std::string output;
};
Ran run(const std::string& command) {
  Ran ran;
  std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> bytes;
  for (std::size_t got; (got = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;) {
    ran.output.append(bytes.data(), got);
  }
  const int status = ::pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}
bool is_installed(const std::string& program) { return run("command -v " + program).code == 0; }

// The values of `key` in the unit, in their order.
std::vector<std::string> values(const std::string& key) {
  std::vector<std::string> found;
  for (const std::string& line : lines(read_file(unit))) {
    if (line.starts_with(key + "=")) found.push_back(line.substr(key.size() + 1));
  }
  return found;
}

// The system calls that a name of SystemCallFilter= stands for.
void add_calls(const std::string& name, std::set<std::string>& calls) {
  if (!name.starts_with('@')) {
    calls.insert(name);
    return;
  }
  for (const std::string& line : lines(run("systemd-analyze syscall-filter " + name).output)) {
    std::istringstream words(line);
    std::string word;
    if (words >> word && word != name && !word.starts_with('#')) add_calls(word, calls);
  }
}
// systemd.exec(5): the first line makes it a list of what is allowed; those with ~ take away, the others add.
std::set<std::string> allowed_calls() {
  std::set<std::string> allowed;
  for (std::string value : values("SystemCallFilter")) {
    const bool takes_away = value.starts_with('~');
    if (takes_away) value.erase(0, 1);
    std::set<std::string> calls;
    std::istringstream words(value);
    for (std::string word; words >> word;) add_calls(word, calls);
    for (const std::string& call : calls) takes_away ? void(allowed.erase(call)) : void(allowed.insert(call));
  }
  return allowed;
}

// What a service does in its life.
void live(Service& service) {
  EXPECT_EQ(call(service.address(), "GET", "/api/users/1").status, 200);
  EXPECT_EQ(call(service.address(), "POST", "/api/data", "{}").status, 201);
  EXPECT_EQ(call(service.admin(), "GET", "/metrics").status, 200);
  service.signal(SIGHUP);
  EXPECT_EQ(call(service.address(), "GET", "/health").status, 200);
}

TEST(SystemdUnit, is_hardly_exposed_as_systemd_sees_it) {
  if (!is_installed("systemd-analyze")) GTEST_SKIP() << "systemd-analyze is not installed";
  if (!run("systemd-analyze --help").output.contains("--offline")) GTEST_SKIP() << "it does not know --offline";

  const Ran ran = run("systemd-analyze security --offline=true --threshold=20 " + unit);

  EXPECT_EQ(ran.code, 0) << ran.output;
  const Ran verified = run("systemd-analyze verify " + unit);
  for (const std::string& line : lines(verified.output)) {
    EXPECT_TRUE(line.contains("/usr/local/bin/fullstack is not executable") || !line.contains("fullstack")) << line;
  }
}

TEST(SystemdUnit, has_what_the_page_about_it_says) {
  const std::pair<const char*, const char*> said[] = {{"UMask", "0077"},
                                                      {"LimitCORE", "0"},
                                                      {"NoNewPrivileges", "yes"},
                                                      {"CapabilityBoundingSet", ""},
                                                      {"RestrictAddressFamilies", "AF_INET AF_INET6 AF_UNIX"},
                                                      {"ProtectKernelModules", "yes"},
                                                      {"ProtectKernelTunables", "yes"},
                                                      {"ProtectKernelLogs", "yes"},
                                                      {"ProtectSystem", "strict"},
                                                      {"MemoryDenyWriteExecute", "yes"},
                                                      {"MemoryMax", "1G"}};
  for (const auto& [key, value] : said) EXPECT_EQ(values(key), std::vector<std::string>{value}) << key;
}

void restrict_as_the_unit_does() {
  ::umask(0077);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  for (int capability = 0; capability <= 63; ++capability) ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct no_capabilities[2] = {};
  ::syscall(SYS_capset, &header, no_capabilities);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

void serves_under_restrictions(const std::string& engine) {
  if (!has_engine(engine)) GTEST_SKIP() << "this machine has no " << engine;
  Folder folder;
  Service service(folder, {"--network.engine=" + engine}, &restrict_as_the_unit_does);
  ASSERT_TRUE(service.is_ready()) << service.errors();
  EXPECT_TRUE(service.output().contains(engine)) << service.output();

  live(service);

  for (const char* file : {"app.db", "service.log"}) {
    struct stat facts{};
    ASSERT_EQ(::stat((folder / file).c_str(), &facts), 0) << file;
    EXPECT_EQ(facts.st_mode & 0077, 0u) << file << " is for nobody else";
  }
  EXPECT_EQ(service.stop(), 0) << service.errors();
}
TEST(SystemdUnit, lets_the_service_serve_on_uring) { serves_under_restrictions("uring"); }
TEST(SystemdUnit, lets_the_service_serve_on_epoll) { serves_under_restrictions("epoll"); }

void calls_what_is_allowed(const std::string& engine) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "the sanitizer has calls of its own";
  if (!has_engine(engine)) GTEST_SKIP() << "this machine has no " << engine;
  if (!is_installed("systemd-analyze")) GTEST_SKIP() << "systemd-analyze is not installed";
  Folder folder;
  const std::string trace = folder / "calls";
  if (run("strace -D -f -qq -o " + trace + " true").code != 0)
    GTEST_SKIP() << "there is no strace, or it may not trace";
  std::string strace = run("command -v strace").output;
  strace.erase(strace.find_last_not_of('\n') + 1);
  const std::set<std::string> allowed = allowed_calls();
  ASSERT_GT(allowed.size(), 100u);
  for (const char* needed : {"io_uring_setup", "io_uring_enter", "io_uring_register", "epoll_pwait", "accept4"}) {
    EXPECT_TRUE(allowed.contains(needed)) << needed;
  }
  for (const char* refused : {"mount", "ptrace", "chown", "reboot", "init_module", "setpriority"}) {
    EXPECT_FALSE(allowed.contains(refused)) << refused;
  }
  std::vector<std::string> flags = {"-D", "-f", "-qq", "-o", trace, KEEL_E2E_PROGRAM, "--network.engine=" + engine};
  for (const std::string& flag : usual_flags(folder)) flags.push_back(flag);
  Service service(flags, Program(strace));
  ASSERT_TRUE(service.is_ready()) << service.errors();

  live(service);

  EXPECT_EQ(service.stop(), 0) << service.errors();
  std::set<std::string> called;
  for (const std::string& line : lines(read_file(trace))) {  // "4711  openat(AT_FDCWD, …"
    const std::size_t begin = line.find_first_not_of("0123456789 ");
    const std::size_t end = line.find('(');
    if (begin == std::string::npos || end == std::string::npos || end < begin) continue;
    const std::string name = line.substr(begin, end - begin);
    if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos) called.insert(name);
  }
  EXPECT_TRUE(called.contains(engine == "uring" ? "io_uring_enter" : "epoll_pwait") || called.contains("epoll_wait") ||
              called.contains("epoll_pwait2"));
  EXPECT_GT(called.size(), 40u);
  // SQLite's, of root alone, which the unit's user is not.
  if (::geteuid() == 0) called.erase("fchown");
  for (const std::string& name : called) EXPECT_TRUE(allowed.contains(name)) << name << " is not in SystemCallFilter=";
}
TEST(SystemdUnit, allows_the_system_calls_of_uring) { calls_what_is_allowed("uring"); }
TEST(SystemdUnit, allows_the_system_calls_of_epoll) { calls_what_is_allowed("epoll"); }

}  // namespace
}  // namespace e2e::hardening_test
