// The wall clock jumps while requests are on their way: nothing times out, dates and logs follow.

#include <gtest/gtest.h>

#include <atomic>
#include <ctime>
#include <thread>

#include "faults.h"
#include "keel/http/message/date.h"

namespace faults::clock_test {
namespace {

using namespace keel;
using namespace e2e;

class Clock : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_engine(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
    if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer has to be the first library";
  }
  Folder folder_;
  Injector injector_{folder_};
};

INSTANTIATE_TEST_SUITE_P(Engines, Clock, ::testing::Values("uring", "epoll"), [](auto& test) { return test.param; });

// Seconds between the Date of a response and our own clock.
std::int64_t date_ahead(const Address& address) {
  const std::int64_t now = std::time(nullptr);
  return http::parse_date(call(address, "GET", "/health").field("Date"), now).value_or(0) - now;
}

TEST_P(Clock, that_jumps_makes_nothing_time_out_and_dates_follow) {
  std::vector<std::string> flags = usual_flags(folder_);
  flags.push_back("--network.engine=" + GetParam());
  Service service(flags, injector_.environment());
  ASSERT_TRUE(service.is_ready()) << service.errors();
  EXPECT_LE(std::abs(date_ahead(service.address())), 5) << "the control: before the first jump";
  // One connection is idle, one head and one body are half there: all have time limits that are shorter than the jump.
  Connection idle(service.address());
  idle.send(request("GET", "/health"));
  ASSERT_TRUE(idle.receive().has_value());
  Connection head(service.address());
  head.send("GET /health HTTP/1.1\r\nHost: te");
  Connection body(service.address());
  body.send("POST /api/data HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n{ ");
  std::atomic<bool> ends = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> right = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&, i] {
      Connection connection(service.address());
      while (!ends) {
        connection.send(i % 2 == 0 ? request("GET", "/api/users/1") : request("POST", "/api/data", "{}"));
        const auto reply = connection.receive();
        (reply && reply->status / 100 == 2 ? right : wrong)++;
        if (!reply) return;
      }
    });
  }

  for (const Duration jump : {1_h, -1_h, Duration(), 24_h, -24_h}) {
    injector_.set_wall_offset(jump);
    const std::int64_t wanted = jump.count_ns() / 1'000'000'000;
    EXPECT_TRUE(eventually([&] { return std::abs(date_ahead(service.address()) - wanted) <= 5; })) << wanted;
    const int before = right;
    EXPECT_TRUE(eventually([&] { return right >= before + 20; }));
  }

  ends = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(injector_.wall_reads(), 0);
  idle.send(request("GET", "/health"));
  EXPECT_EQ(idle.receive().value_or(Reply()).status, 200);
  head.send("st\r\n\r\n");
  EXPECT_EQ(head.receive().value_or(Reply()).status, 200);
  body.send(" }");
  EXPECT_EQ(body.receive().value_or(Reply()).status, 201);
  EXPECT_EQ(metric(service.admin(), "http_timeouts_total"), 0);
  EXPECT_EQ(service.stop(), 0) << service.errors();

  // The log has lines of every day, in the order of their events.
  const std::string log = read_file(folder_ / "service.log");
  for (const std::int64_t offset : {0, 24 * 3600, -24 * 3600}) {
    const std::time_t then = std::time(nullptr) + offset;
    char day[16];
    std::strftime(day, sizeof day, "%Y-%m-%dT", gmtime(&then));
    EXPECT_NE(log.find(day), std::string::npos) << day;
  }
}

}  // namespace
}  // namespace faults::clock_test
