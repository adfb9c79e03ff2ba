// The n-th allocation of a request fails, for each n: the request is answered with 503 or its connection closed, the
// process lives, and the next request is served.

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>

#include "faults.h"

namespace faults::memory_test {
namespace {

using namespace keel;
using namespace e2e;

// Every kind of request there is, on a connection of its own for each.
struct Kind {
  const char* method;
  const char* target;
  std::string body;
  int status;
};
std::vector<Kind> kinds(int number) {
  const auto user = [number](const char* name) {
    return R"({"name":"N\u0065w","email":")" + (name + std::to_string(number)) + R"(@example.com"})";
  };
  return {{"GET", "/api/users/1", "", 200},
          {"GET", "/api/users?limit=%31%30%30", "", 200},
          {"POST", "/api/users", user("new"), 201},
          {"PUT", "/api/users/2", user("changed"), 200},
          {"POST", "/api/data", R"({"text":")" + std::string(200'000, 't') + "\"}", 201},
          {"DELETE", "/api/users/999", "", 404},
          {"GET", "/nowhere", "", 404},
          {"GET", "/metrics", "", 200}};
}

class Memory : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_engine(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
    if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer has to be the first library";
  }
  Service start() {
    std::vector<std::string> flags = usual_flags(folder_);
    flags.push_back("--network.engine=" + GetParam());
    flags.push_back("--network.workers=1");
    // Of requests, and not of what a check needs that comes between them.
    flags.push_back("--monitoring.health.check_interval_sec=3600");
    return Service(flags, injector_.environment());
  }
  static const Address& address_of(const Service& service, const Kind& kind) {
    return std::string_view(kind.target).starts_with("/metrics") ? service.admin() : service.address();
  }
  Folder folder_;
  Injector injector_{folder_};
};

INSTANTIATE_TEST_SUITE_P(Engines, Memory, ::testing::Values("uring", "epoll"), [](auto& test) { return test.param; });

TEST_P(Memory, that_is_refused_once_costs_at_most_one_request) {
  Service service = start();
  ASSERT_TRUE(service.is_ready()) << service.errors();
  int number = 0;
  int refused = 0;
  int closed = 0;
  int unharmed = 0;

  for (std::size_t i = 0; i < kinds(0).size(); ++i) {
    for (int nth = 0;; ++nth) {
      const Kind kind = kinds(++number)[i];
      const std::string what = std::string(kind.method) + " " + kind.target + ", allocation " + std::to_string(nth);
      injector_.arm(FAULT_MALLOC, {.error = ENOMEM, .let_pass = nth});
      Connection connection(address_of(service, kind));
      connection.send(request(kind.method, kind.target, kind.body));
      const auto reply = connection.receive();
      injector_.disarm(FAULT_MALLOC);

      ASSERT_FALSE(service.wait(Duration())) << what << ": " << service.errors();
      if (!reply) {
        EXPECT_TRUE(connection.ended()) << what;
        ++closed;
      } else if (reply->status == 503) {
        EXPECT_EQ(why_not_a_503(*reply), "") << what;
        ++refused;
      } else {
        EXPECT_EQ(reply->status, kind.status) << what << ": " << reply->body;
        ++unharmed;
      }
      ASSERT_EQ(call(service.address(), "GET", "/api/users/1").status, 200) << "behind " << what;
      if (injector_.struck(FAULT_MALLOC) == 0) {
        EXPECT_EQ(reply ? reply->status : 0, kind.status) << "the control: no fault, no harm: " << what;
        break;
      }
    }
  }

  std::printf("%d allocations failed: %d requests refused, %d connections closed, %d requests unharmed\n",
              refused + closed + unharmed, refused, closed, unharmed);
  EXPECT_GE(refused, 10);
  EXPECT_EQ(metric(service.admin(), "log_lines_lost_total"), 0);
  EXPECT_EQ(service.stop(), 0) << service.errors();
  const std::string log = read_file(folder_ / "service.log");
  EXPECT_NE(log.find("out of memory"), std::string::npos);
  EXPECT_TRUE(closed == 0 || log.find("out of memory; a connection was closed") != std::string::npos);
  EXPECT_EQ(problems_of(folder_ / "app.db", {}), std::vector<std::string>());
}

TEST_P(Memory, that_is_refused_for_a_while_is_survived) {
  Service service = start();
  ASSERT_TRUE(service.is_ready()) << service.errors();
  int number = 0;
  const auto ask_all = [&](bool expects_harm) {
    for (const Kind& kind : kinds(++number)) {
      const Reply reply = call(address_of(service, kind), kind.method, kind.target, kind.body);
      EXPECT_TRUE(reply.status == kind.status || (expects_harm && (reply.status == 503 || reply.status == 0)))
          << kind.method << " " << kind.target << ": " << reply.status;
    }
  };

  for (int let_pass = 0; let_pass < 60; let_pass += 3) {
    injector_.arm(FAULT_MALLOC, {.error = ENOMEM, .let_pass = let_pass, .strikes = forever});
    ask_all(true);
    ASSERT_FALSE(service.wait(Duration())) << let_pass << ": " << service.errors();
    EXPECT_GT(injector_.struck(FAULT_MALLOC), 0);
    injector_.disarm(FAULT_MALLOC);
  }

  ask_all(false);
  EXPECT_EQ(service.stop(), 0) << service.errors();
  EXPECT_EQ(problems_of(folder_ / "app.db", {}), std::vector<std::string>());
}

}  // namespace
}  // namespace faults::memory_test
