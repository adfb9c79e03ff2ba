// SIGTERM during the start, at whatever moment: the process ends soon, says how, and leaves nothing half done.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "client.h"
#include "keel/base/host.h"
#include "keel/db/sqlite/connection.h"
#include "service.h"

namespace e2e::interrupt_test {
namespace {

using namespace keel;

// What is done to the service while it starts, by a child of its own that is made before the program begins. It makes
// system calls only, so what it needs lies ready.
struct Disturbance {
  useconds_t first_after_us = 0;
  useconds_t second_after_us = 0;   // Another SIGTERM so long after the first; 0: none.
  useconds_t release_after_us = 0;  // Then this file, a FIFO on which the service waits, is opened; 0: never.
  std::array<char, 512> fifo = {};
  int mode = O_RDONLY;
  std::array<char, 8192> text = {};  // And this is written to it.
} plan;

void disturb() {
  const pid_t service = ::getpid();
  if (::fork() != 0) return;
  ::usleep(plan.first_after_us);
  ::kill(service, SIGTERM);
  if (plan.second_after_us != 0) {
    ::usleep(plan.second_after_us);
    ::kill(service, SIGTERM);
  }
  if (plan.release_after_us != 0) {
    ::usleep(plan.release_after_us);
    const int fd = ::open(plan.fifo.data(), plan.mode | O_NONBLOCK);
    std::size_t size = 0;
    while (plan.text[size] != 0) ++size;
    if (fd >= 0 && size != 0 && ::write(fd, plan.text.data(), size) < 0) ::_exit(1);
    ::usleep(300'000);
  }
  ::_exit(0);
}

template <std::size_t N>
void copy(const std::string& text, std::array<char, N>& to) {
  ASSERT_LT(text.size(), N);
  to.fill(0);
  std::ranges::copy(text, to.begin());
}

class Interrupted : public ::testing::Test {
 protected:
  Interrupted() {
    plan = {};
    plan.first_after_us = KEEL_SANITIZED ? 600'000 : 150'000;
  }
  std::string fifo(const std::string& name) {
    const std::string path = folder_ / name;
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    copy(path, plan.fifo);
    return path;
  }
  bool log_says(const std::string& message) {
    return read_file(folder_ / "service.log").find("\"message\":\"" + message + '"') != std::string::npos;
  }
  // The next start finds everything as it should be, and nothing twice.
  void expect_sound() {
    Service service(folder_);
    ASSERT_TRUE(service.is_ready()) << service.errors();
    const Reply users = call(service.address(), "GET", "/api/users?limit=100");
    EXPECT_EQ(users.status, 200);
    std::size_t count = 0;
    for (std::size_t at = 0; (at = users.body.find("\"email\"", at)) != std::string::npos; ++at) ++count;
    EXPECT_EQ(count, 20u) << users.body;
    EXPECT_EQ(service.stop(), 0) << service.errors();
    auto connection = db::sqlite::Connection::open({.path = folder_ / "app.db"}).value();
    std::string verdict;
    auto take = [&](const db::Row& row) { verdict = row.text(0); };
    EXPECT_TRUE(connection->query("select * from pragma_integrity_check", take));
    EXPECT_EQ(verdict, "ok");
  }

  Folder folder_;
};

TEST_F(Interrupted, while_it_reads_its_configuration_it_has_done_nothing) {
  const std::string file = fifo("service.yaml");
  std::vector<std::string> flags = usual_flags(folder_);
  flags.push_back("--config=" + file);

  Service service(flags, {}, disturb);

  EXPECT_EQ(service.wait(20_s), 128 + SIGTERM) << "nothing is there yet that needs care";
  EXPECT_EQ(service.output(), "");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "app.db"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "service.log"));
}

// A log that nobody reads does not keep the start waiting.
TEST_F(Interrupted, not_by_a_log_without_a_reader_which_it_says) {
  const std::string file = fifo("pipe.log");

  Service service(folder_, {"--logging.sinks=[{type: file, path: '" + file + "'}]"});

  EXPECT_EQ(service.wait(20_s), 1);
  EXPECT_TRUE(service.errors().starts_with("fullstack: log file " + file + ": is a socket, or a FIFO that no process"))
      << service.errors();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "app.db")) << "nothing more was begun";
}

TEST_F(Interrupted, while_something_is_stuck_it_ends_without_it_and_says_so) {
  std::filesystem::create_directory(folder_ / "migrations");
  fifo("migrations/0001_users.sql");

  Service service(folder_, {"--database.migrations=" + folder_ / "migrations", "--common.stop_timeout_sec=0.2"},
                  disturb);

  EXPECT_EQ(service.wait(20_s), 1);
  EXPECT_TRUE(service.errors().starts_with("fullstack: module \"database\" was still stopping after 0."))
      << service.errors();
  EXPECT_EQ(lines(service.errors()).size(), 1u) << service.errors();
}

TEST_F(Interrupted, twice_it_ends_at_once) {
  std::filesystem::create_directory(folder_ / "migrations");
  fifo("migrations/0001_users.sql");
  plan.second_after_us = 400'000;

  Service service(folder_, {"--database.migrations=" + folder_ / "migrations"}, disturb);

  EXPECT_EQ(service.wait(20_s), 128 + SIGTERM);
}

TEST_F(Interrupted, while_it_migrates_it_finishes_the_database_or_leaves_it_untouched) {
  std::filesystem::copy(KEEL_E2E_MIGRATIONS, folder_ / "migrations");
  const std::string first = folder_ / "migrations/0001_users.sql";
  copy(read_file(first), plan.text);
  std::filesystem::remove(first);
  fifo("migrations/0001_users.sql");
  plan.mode = O_WRONLY;
  plan.release_after_us = 30'000;

  Service service(folder_, {"--database.migrations=" + folder_ / "migrations"}, disturb);

  EXPECT_EQ(service.wait(20_s), 0) << service.errors();
  EXPECT_EQ(service.output(), "");
  EXPECT_TRUE(log_says("stopped"));
  EXPECT_FALSE(log_says("ready"));
  expect_sound();
}

// Many starts, each interrupted a little later, from before main() to after the first response would be possible.
TEST_F(Interrupted, at_any_moment_it_ends_cleanly_and_the_next_start_is_sound) {
  Duration whole;
  {
    Folder other;
    const Instant began = Host::system().now();
    Service service(other);
    whole = Host::system().now() - began;
    ASSERT_TRUE(service.is_ready()) << service.errors();
  }
  const int steps = KEEL_SANITIZED ? 12 : 100;
  int by_default = 0, in_start = 0, after = 0;

  for (int i = 0; i < steps && !HasFailure(); ++i) {
    plan.first_after_us = static_cast<useconds_t>((whole * i / steps * 5 / 4).count_us());
    std::filesystem::remove(folder_ / "service.log");
    // A new database each time: its making is the most that a start can do.
    for (const char* const name : {"app.db", "app.db-wal", "app.db-shm"}) std::filesystem::remove(folder_ / name);

    Service service(folder_, {}, disturb);
    const std::optional<int> code = service.wait(20_s);

    const std::string where = "after " + std::to_string(plan.first_after_us) + " us";
    ASSERT_TRUE(code.has_value()) << where;
    EXPECT_EQ(service.errors(), "") << where;
    if (*code == 128 + SIGTERM) {
      ++by_default;  // Before the signals are taken.
      EXPECT_FALSE(std::filesystem::exists(folder_ / "app.db")) << where;
      continue;
    }
    EXPECT_EQ(code, 0) << where;
    EXPECT_TRUE(log_says("stopped")) << where << read_file(folder_ / "service.log");
    ++(service.output().empty() ? in_start : after);
    EXPECT_EQ(service.output().empty(), !log_says("ready")) << where;
    if (i % 5 == 0) expect_sound();
  }

  std::printf("of %d: %d before signals are taken, %d during the start, %d when it was ready (a start took %.1f ms)\n",
              steps, by_default, in_start, after, whole.count_seconds() * 1e3);
  EXPECT_GT(in_start, 0);
}

}  // namespace
}  // namespace e2e::interrupt_test
