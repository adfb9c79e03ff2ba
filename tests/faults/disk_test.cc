// A disk that is full, read-only or failing: writes are rejected, reads continue, and nothing has to be restarted.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <filesystem>

#include "faults.h"

namespace faults::disk_test {
namespace {

using namespace keel;
using namespace e2e;

constexpr std::size_t disk_bytes = 2 * 1024 * 1024;
constexpr int attempts_max = 200;

class Disks : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_engine(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
    if (!Disk::refusal().empty()) GTEST_SKIP() << "no disk of its own for this test: " << Disk::refusal();
  }
  std::vector<std::string> flags(const std::string& database, const std::string& log) {
    std::vector<std::string> all = usual_flags(folder_);
    all.push_back("--network.engine=" + GetParam());
    all.push_back("--database.path=" + database);
    all.push_back("--logging.sinks=[{type: file, path: '" + log + "'}]");
    return all;
  }
  // Every acknowledged row goes to ids_.
  int post_and_keep(const Service& service, std::size_t bytes = 100) {
    Posted posted = post(service.address(), bytes);
    if (posted.status == 201) ids_.push_back(posted.id);
    return posted.status;
  }
  static void expect_reads(const Service& service) {
    for (const char* target : {"/health", "/api/users", "/api/users/1", "/api/users?limit=100"}) {
      EXPECT_EQ(call(service.address(), "GET", target).status, 200) << target;
    }
    EXPECT_EQ(call(service.address(), "GET", "/api/users/999").status, 404);
    EXPECT_EQ(call(service.admin(), "GET", "/healthz").status, 200);
    EXPECT_EQ(call(service.admin(), "GET", "/readyz").status, 200) << "it still serves reads";
  }
  // One of each kind that changes something.
  static std::vector<Reply> writes(const Service& service) {
    static int number = 0;
    const std::string user = R"({"name":"New","email":"new)" + std::to_string(++number) + R"(@example.com"})";
    std::vector<Reply> all;
    all.push_back(call(service.address(), "POST", "/api/users", user));
    all.push_back(call(service.address(), "PUT", "/api/users/2", user));
    all.push_back(call(service.address(), "DELETE", "/api/users/3"));
    all.push_back(call(service.address(), "POST", "/api/data", "{}"));
    return all;
  }

  Folder folder_;
  std::vector<std::string> ids_;
};

INSTANTIATE_TEST_SUITE_P(Engines, Disks, ::testing::Values("uring", "epoll"), [](auto& test) { return test.param; });

TEST_P(Disks, when_full_refuse_writes_serve_reads_and_recover_by_themselves) {
  Disk disk(disk_bytes);
  Service service(flags(disk / "app.db", folder_ / "service.log"), {});
  ASSERT_TRUE(service.is_ready()) << service.errors();
  for (int i = 0; i < 20; ++i) ASSERT_EQ(post_and_keep(service), 201);
  EXPECT_EQ(metric(service.admin(), "db_disk_errors_total"), 0);

  // What the file has already of the disk can still be written: until that is used up.
  int refused = 0;
  for (int i = 0; i < attempts_max && refused < 4; ++i) {
    disk.fill();
    refused = 0;
    for (const Reply& reply : writes(service)) refused += reply.status == 503 ? 1 : 0;
    post_and_keep(service, 5000);
  }
  ASSERT_EQ(refused, 4);

  for (int round = 0; round < 5; ++round) {
    for (const Reply& reply : writes(service)) EXPECT_EQ(why_not_a_503(reply), "");
    expect_reads(service);
  }
  EXPECT_GE(metric(service.admin(), "db_disk_errors_total"), 20);
  EXPECT_EQ(metric(service.admin(), "log_lines_lost_total"), 0) << "the log is on another disk";

  disk.empty();
  EXPECT_TRUE(eventually([&] { return post_and_keep(service) == 201; }, 5_s)) << "without a restart";
  for (int i = 0; i < 20; ++i) EXPECT_EQ(post_and_keep(service, 5000), 201);
  EXPECT_EQ(writes(service).at(0).status, 201);
  EXPECT_EQ(service.stop(), 0) << service.errors();
  EXPECT_EQ(problems_of(disk / "app.db", ids_), std::vector<std::string>());
  const std::string log = read_file(folder_ / "service.log");
  EXPECT_NE(log.find("the disk does not accept writes"), std::string::npos);
  EXPECT_NE(log.find("the disk accepts writes again"), std::string::npos);

  // The look at the rows can fail.
  ids_.push_back("1000000");
  EXPECT_EQ(problems_of(disk / "app.db", ids_).size(), 1u);
}

TEST_P(Disks, when_full_at_the_start_are_one_line_and_no_start) {
  Disk disk(64 * 1024);
  disk.fill();
  Service service(flags(disk / "app.db", folder_ / "service.log"), {});

  EXPECT_EQ(service.wait(10_s), 1);
  EXPECT_EQ(lines(service.errors()).size(), 1u) << service.errors();
  EXPECT_NE(service.errors().find("app.db"), std::string::npos) << service.errors();
  EXPECT_NE(service.errors().find("full"), std::string::npos) << service.errors();
}

TEST_P(Disks, when_read_only_at_the_start_are_one_line_and_no_start) {
  Disk disk(disk_bytes);
  {
    Service service(flags(disk / "app.db", folder_ / "service.log"), {});
    ASSERT_TRUE(service.is_ready()) << service.errors();
    EXPECT_EQ(service.stop(), 0) << service.errors();
  }
  disk.set_read_only();
  Service service(flags(disk / "app.db", folder_ / "service.log"), {});

  EXPECT_EQ(service.wait(10_s), 1);
  EXPECT_EQ(lines(service.errors()).size(), 1u) << service.errors();
  EXPECT_NE(service.errors().find("app.db"), std::string::npos) << service.errors();
}

TEST_P(Disks, that_are_full_of_logs_fail_no_request) {
  Disk disk(disk_bytes);
  const std::string log = disk / "service.log";
  Service service(flags(folder_ / "app.db", log), {});
  ASSERT_TRUE(service.is_ready()) << service.errors();
  Connection connection(service.address());
  const auto ask = [&](int times) {
    for (int i = 0; i < times; ++i) {
      connection.send(request("GET", "/api/users/" + std::to_string(i % 20 + 1)));
      const auto reply = connection.receive();
      ASSERT_EQ(reply ? reply->status : 0, 200);
      ASSERT_EQ(post_and_keep(service), 201);
    }
  };
  const auto lost = [&] { return metric(service.admin(), "log_lines_lost_total"); };
  const auto log_bytes = [&] { return read_file(log).size(); };

  // While there is room nothing is lost, and the check that it is not can tell.
  ask(50);
  EXPECT_TRUE(eventually([&] { return lines(read_file(log)).size() >= 100; }));
  EXPECT_EQ(lost(), 0);

  // The end of the file's last page can be written still.
  disk.fill();
  EXPECT_TRUE(eventually([&] {
    ask(50);
    return lost() >= 100;
  }));
  const std::size_t full_at = log_bytes();
  ask(100);
  EXPECT_EQ(log_bytes(), full_at);
  expect_reads(service);

  disk.empty();
  EXPECT_TRUE(eventually([&] {
    ask(5);
    return log_bytes() > full_at + 1000;
  })) << "without a restart";
  const double lost_before = lost();
  ask(50);
  EXPECT_EQ(service.stop(), 0) << service.errors();
  std::size_t requests = 0;
  for (const std::string& line : lines(read_file(log))) {
    EXPECT_TRUE(members(line).has_value()) << "each line is whole: " << line;
    requests += line.find(R"("message":"request")") != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(requests, 100u);
  EXPECT_GE(lost_before, 200);
  EXPECT_EQ(problems_of(folder_ / "app.db", ids_), std::vector<std::string>());
}

class FailingDisk : public Disks {
 protected:
  void SetUp() override {
    if (!has_engine(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
    if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer has to be the first library";
  }
  Service start(std::vector<std::string> more = {}) {
    std::vector<std::string> all = flags(folder_ / "app.db", folder_ / "service.log");
    all.insert(all.end(), more.begin(), more.end());
    return Service(all, injector_.environment());
  }
  Injector injector_{folder_};
};

INSTANTIATE_TEST_SUITE_P(Engines, FailingDisk, ::testing::Values("uring", "epoll"),
                         [](auto& test) { return test.param; });

TEST_P(FailingDisk, acknowledges_nothing_that_was_not_synced) {
  Service service = start();
  ASSERT_TRUE(service.is_ready()) << service.errors();
  ASSERT_EQ(post_and_keep(service), 201);

  for (int nth = 0; nth < 4; ++nth) {
    injector_.arm(FAULT_SYNC, {.error = nth % 2 == 0 ? EIO : ENOSPC, .let_pass = nth});
    for (int i = 0; i < nth; ++i) EXPECT_EQ(post_and_keep(service), 201) << i << " of " << nth;
    EXPECT_EQ(why_not_a_503(call(service.address(), "POST", "/api/data", "{}")), "") << nth;
    EXPECT_EQ(injector_.struck(FAULT_SYNC), 1) << nth;
    expect_reads(service);
    EXPECT_EQ(post_and_keep(service), 201) << "and the next one is written";
  }
  EXPECT_EQ(metric(service.admin(), "db_disk_errors_total"), 4);

  // A machine that fails now takes nothing with it that was acknowledged.
  service.signal(SIGKILL);
  EXPECT_EQ(service.wait(10_s), 128 + SIGKILL);
  EXPECT_EQ(problems_of(folder_ / "app.db", ids_), std::vector<std::string>());
}

// The control: where nothing is synced the same fault meets nothing, and nobody is told.
TEST_P(FailingDisk, is_not_noticed_with_synchronous_off) {
  Service service = start({"--database.synchronous=off"});
  ASSERT_TRUE(service.is_ready()) << service.errors();

  injector_.arm(FAULT_SYNC, {.error = EIO, .strikes = forever});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(post_and_keep(service), 201);

  EXPECT_EQ(injector_.struck(FAULT_SYNC), 0);
  EXPECT_EQ(metric(service.admin(), "db_disk_errors_total"), 0);
  injector_.disarm(FAULT_SYNC);
  EXPECT_EQ(service.stop(), 0) << service.errors();
}

// A file system that has gone read-only under open files, as ext4 does after an error, answers every write like this.
// It cannot be brought about from outside: mount(2) rejects while files are open for writing.
TEST_P(FailingDisk, that_turned_read_only_refuses_writes_and_serves_reads_until_it_turns_back) {
  Service service = start();
  ASSERT_TRUE(service.is_ready()) << service.errors();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(post_and_keep(service), 201);

  for (const int error : {EROFS, EIO}) {
    injector_.arm(FAULT_WRITE, {.error = error, .strikes = forever});
    injector_.arm(FAULT_SYNC, {.error = error, .strikes = forever});
    for (int round = 0; round < 3; ++round) {
      for (const Reply& reply : writes(service)) EXPECT_EQ(why_not_a_503(reply), "");
      expect_reads(service);
    }
    EXPECT_GE(injector_.struck(FAULT_WRITE), 12);

    injector_.disarm(FAULT_WRITE);
    injector_.disarm(FAULT_SYNC);
    EXPECT_TRUE(eventually([&] { return post_and_keep(service) == 201; }, 5_s)) << "without a restart";
    EXPECT_EQ(post_and_keep(service, 5000), 201);
  }
  EXPECT_EQ(service.stop(), 0) << service.errors();
  EXPECT_EQ(problems_of(folder_ / "app.db", ids_), std::vector<std::string>());
}

}  // namespace
}  // namespace faults::disk_test
