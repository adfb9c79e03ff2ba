// Another process holds the database's lock: writes are rejected in time, reads continue.

#include <gtest/gtest.h>

#include "faults.h"
#include "keel/base/host.h"
#include "keel/db/sqlite/connection.h"

namespace faults::lock_test {
namespace {

using namespace keel;
using namespace e2e;

class Locked : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_engine(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
  }
  Folder folder_;
};

INSTANTIATE_TEST_SUITE_P(Engines, Locked, ::testing::Values("uring", "epoll"), [](auto& test) { return test.param; });

TEST_P(Locked, writes_are_refused_within_the_timeout_and_reads_go_on) {
  Service service(folder_, {"--network.engine=" + GetParam(), "--database.timeout_sec=0.3"});
  ASSERT_TRUE(service.is_ready()) << service.errors();
  auto other = db::sqlite::Connection::open({.path = folder_ / "app.db"}).value();
  std::vector<std::string> ids;

  for (const char* kind : {"begin immediate", "begin exclusive"}) {
    ASSERT_EQ(post(service.address()).status, 201) << "the control: nobody holds it yet";
    ASSERT_TRUE(other->prepare_control(kind).value().run());
    for (int i = 0; i < 2; ++i) {
      const Instant began = Host::system().now();
      EXPECT_EQ(why_not_a_503(call(service.address(), "POST", "/api/data", "{}")), "");
      EXPECT_GE(Host::system().now() - began, 250_ms) << "it waited for the lock";
      EXPECT_LT(Host::system().now() - began, 5_s) << "and not as long as a request may take";
      EXPECT_EQ(call(service.address(), "GET", "/api/users/1").status, 200);
      EXPECT_EQ(call(service.address(), "GET", "/api/users").status, 200);
    }
    ASSERT_TRUE(other->prepare_control("rollback").value().run());
    for (int i = 0; i < 3; ++i) {
      const Posted posted = post(service.address());
      EXPECT_EQ(posted.status, 201) << "it is free again";
      ids.push_back(posted.id);
    }
  }
  other.reset();
  EXPECT_EQ(metric(service.admin(), "db_write_failures_total"), 4);
  EXPECT_EQ(service.stop(), 0) << service.errors();
  EXPECT_EQ(problems_of(folder_ / "app.db", ids), std::vector<std::string>());
}

TEST_P(Locked, a_lock_that_is_given_up_in_time_refuses_nobody) {
  Service service(folder_, {"--network.engine=" + GetParam(), "--database.timeout_sec=20"});
  ASSERT_TRUE(service.is_ready()) << service.errors();
  auto other = db::sqlite::Connection::open({.path = folder_ / "app.db"}).value();
  ASSERT_TRUE(other->prepare_control("begin immediate").value().run());
  Connection connection(service.address());

  ASSERT_TRUE(connection.send(request("POST", "/api/data", "{}")));
  EXPECT_FALSE(connection.receive(false, 300_ms).has_value());
  ASSERT_TRUE(other->prepare_control("commit").value().run());

  const auto reply = connection.receive();
  EXPECT_EQ(reply ? reply->status : 0, 201);
  other.reset();
  EXPECT_EQ(service.stop(), 0) << service.errors();
}

}  // namespace
}  // namespace faults::lock_test
