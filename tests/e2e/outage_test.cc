// A service whose PostgreSQL server is killed and started again: what a load balancer and a client see of it.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "client.h"
#include "keel/base/host.h"
#include "keel/db/postgres/testing/real_server.h"
#include "service.h"

namespace e2e::outage_test {
namespace {

using namespace keel;
using db::postgres::testing::RealServer;

Instant now() { return Host::system().now(); }

struct Seen {
  Instant began;
  Instant ended;
  int status = 0;
  bool has_retry_after = false;
};

// A client that asks for the products until it is told to stop.
class Client {
 public:
  explicit Client(const Address& service) : thread_([this, service] { ask(service); }) {}
  std::vector<Seen> stop() {
    is_over_ = true;
    thread_.join();
    return std::move(seen_);
  }

 private:
  void ask(const Address& service) {
    while (!is_over_) {
      const Instant began = now();
      const Reply reply = call(service, "GET", "/products");
      seen_.push_back({began, now(), reply.status, !reply.field("Retry-After").empty()});
      Host::system().sleep(2_ms);
    }
  }
  std::atomic<bool> is_over_ = false;
  std::vector<Seen> seen_;
  std::thread thread_;
};

class Outage : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!RealServer::is_installed()) GTEST_SKIP() << RealServer::missing;
    if (!has_engine(GetParam())) GTEST_SKIP() << "this system has none";
  }
  // How long /readyz took to say `status`, since `since`.
  Duration until_ready_says(int status, const Service& service, Instant since) {
    while (call(service.admin(), "GET", "/readyz").status != status) {
      if (now() - since > 20_s) return Duration::forever();
      Host::system().sleep(5_ms);
    }
    return now() - since;
  }
  Folder folder_;
};
INSTANTIATE_TEST_SUITE_P(, Outage, ::testing::Values("uring", "epoll"),
                         [](const auto& one) { return std::string(one.param); });

Duration median(std::vector<Duration> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

TEST_P(Outage, of_the_database_is_503_with_retry_after_and_unready_and_over_a_second_after_its_end) {
  RealServer server;
  Service service({std::string("--network.engine=") + GetParam(), "--network.workers=2", "--network.http.port=0",
                   "--monitoring.metrics.export_port=0", "--database.type=postgres", "--database.url=" + server.url(),
                   std::string("--database.migrations=") + KEEL_E2E_ORDERS_MIGRATIONS, "--shop.admin_token=secret",
                   "--shop.pictures=" + folder_ / "pictures", "--network.clients.payments.base_url=http://127.0.0.1:1",
                   "--logging.sinks=[{type: file, path: '" + folder_ / "service.log" + "'}]"},
                  Program(KEEL_E2E_ORDERS));
  ASSERT_TRUE(service.is_ready()) << service.output() << service.errors();
  EXPECT_NE(service.output().find("\n  data     keel@"), std::string::npos) << service.output();
  ASSERT_LT(until_ready_says(200, service, now()), 20_s);
  std::vector<Duration> unready;
  std::vector<Duration> ready;
  std::vector<std::pair<Instant, Instant>> away;
  Client one(service.address());
  Client another(service.address());

  for (int outage = 0; outage < 3; ++outage) {
    Host::system().sleep(100_ms);
    const Instant killed = now();
    server.kill();
    const Instant gone = now();
    unready.push_back(until_ready_says(503, service, killed));
    Host::system().sleep(200_ms);
    EXPECT_EQ(call(service.admin(), "GET", "/readyz").status, 503);
    EXPECT_EQ(call(service.admin(), "GET", "/healthz").status, 200) << "it is not restarted for it";
    away.emplace_back(gone, now());
    server.start();
    ready.push_back(until_ready_says(200, service, now()));
  }
  Host::system().sleep(500_ms);
  const Instant all_is_well = now();
  Host::system().sleep(100_ms);
  std::vector<Seen> seen = one.stop();
  for (const Seen& more : another.stop()) seen.push_back(more);

  // A machine that is busy with other tests may be late once.
  EXPECT_LE(median(unready), 1_s);
  EXPECT_LE(median(ready), 1_s);
  for (const Duration took : unready) EXPECT_LE(took, 5_s);
  for (const Duration took : ready) EXPECT_LE(took, 5_s);
  int refused = 0;
  int answered = 0;
  for (const Seen& request : seen) {
    const auto is_within = [&](const auto& outage) {
      return request.began >= outage.first && request.ended <= outage.second;
    };
    const bool has_no_server = std::any_of(away.begin(), away.end(), is_within);
    EXPECT_TRUE(request.status == 503 || (request.status == 200 && !has_no_server)) << request.status;
    EXPECT_EQ(request.has_retry_after, request.status == 503);
    EXPECT_TRUE(request.status == 200 || request.began < all_is_well) << request.status;
    refused += request.status == 503 ? 1 : 0;
    answered += request.status == 200 ? 1 : 0;
  }
  EXPECT_GT(refused, 30);
  EXPECT_GT(answered, 30);
  EXPECT_EQ(service.stop(), 0) << service.errors();
}

}  // namespace
}  // namespace e2e::outage_test
