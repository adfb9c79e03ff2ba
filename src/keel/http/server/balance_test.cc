// How connections spread over workers: listeners of their own on one port (SO_REUSEPORT), or one that they share.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "keel/http/server/response.h"
#include "keel/http/server/router.h"
#include "keel/http/server/server.h"
#include "keel/io/runtime.h"
#include "keel/observe/metric.h"

namespace keel::http::balance_test {
namespace {

constexpr std::size_t connection_count = 64;

class Balance : public ::testing::TestWithParam<io::EngineKind> {
 protected:
  void SetUp() override {
    auto runtime = io::Runtime::make({.workers = 2, .engine = GetParam()});
    if (!runtime) GTEST_SKIP() << runtime.error().describe();
    runtime_ = *std::move(runtime);
    ASSERT_TRUE(runtime_->start());
  }
  // Connects one after the other, each when the last one has been accepted, and says how many each worker has.
  std::vector<std::uint64_t> spread(Server& server) {
    std::vector<int> clients;
    while (clients.size() < connection_count) {
      const int fd = ::socket(server.address().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
      EXPECT_EQ(::connect(fd, server.address().system(), server.address().system_size()), 0);
      clients.push_back(fd);
      const Instant until = Host::system().now() + 20_s;
      while (server.stats().accepted < clients.size() && Host::system().now() < until) Host::system().sleep(100_us);
      EXPECT_EQ(server.stats().accepted, clients.size());
    }
    // One is accepted a moment before its worker has it.
    std::vector<std::uint64_t> by_worker = server.connections_by_worker();
    const Instant until = Host::system().now() + 20_s;
    while (by_worker[0] + by_worker[1] < connection_count && Host::system().now() < until) {
      Host::system().sleep(100_us);
      by_worker = server.connections_by_worker();
    }
    exported_ = read_metric();
    for (const int fd : clients) ::close(fd);
    return by_worker;
  }

  std::vector<double> read_metric() {
    std::vector<double> values;
    metrics::Reading reading;
    registry_.read(reading, [&](std::span<const metrics::Family> families) {
      for (const metrics::Family& family : families) {
        if (family.name != "http_worker_connections") continue;
        for (const metrics::Series& series : family.series) values.push_back(series.function_value);
      }
    });
    return values;
  }

  metrics::Registry registry_;
  std::vector<double> exported_;  // What the metric said, by worker.
  std::unique_ptr<io::Runtime> runtime_;
};
INSTANTIATE_TEST_SUITE_P(, Balance, ::testing::Values(io::EngineKind::Uring, io::EngineKind::Epoll),
                         [](const auto& kind) { return kind.param == io::EngineKind::Uring ? "uring" : "epoll"; });

ServerOptions options_for(const Address& address, metrics::Registry& registry) {
  ServerOptions options;
  options.address = address;
  options.metrics = &registry;
  return options;
}

// The kernel gives each connection to a listener by a hash of its addresses and ports with a secret: a fair coin for
// each. Of 64 one of two workers has fewer than 13 with a probability of 4.6e-7 (twice the sum over k < 13 of
// C(64, k) / 2^64).
TEST_P(Balance, listeners_of_their_own_get_what_a_fair_coin_gives) {
  Router router;
  Server server(router, options_for(*Address::parse("127.0.0.1:0"), registry_));
  ASSERT_TRUE(server.start(*runtime_));
  const std::vector<std::uint64_t> by_worker = spread(server);
  ASSERT_EQ(by_worker.size(), 2u);
  std::printf("%llu and %llu of 64\n", static_cast<unsigned long long>(by_worker[0]),
              static_cast<unsigned long long>(by_worker[1]));
  EXPECT_EQ(by_worker[0] + by_worker[1], connection_count);
  EXPECT_EQ(exported_, std::vector<double>(by_worker.begin(), by_worker.end()));
  EXPECT_GE(std::min(by_worker[0], by_worker[1]), 13u);
  server.stop();
}

// Whoever has accepted goes to the end of the line of those who wait. A worker that the system does not run for a while
// misses its turn, so exact halves are not promised.
TEST_P(Balance, workers_that_share_a_listener_take_turns) {
  const std::string path = ::testing::TempDir() + "keel_balance_" + std::to_string(getpid()) + ".sock";
  Router router;
  Server server(router, options_for(*Address::parse("unix:" + path), registry_));
  ASSERT_TRUE(server.start(*runtime_));
  const std::vector<std::uint64_t> by_worker = spread(server);
  ASSERT_EQ(by_worker.size(), 2u);
  std::printf("%llu and %llu of 64\n", static_cast<unsigned long long>(by_worker[0]),
              static_cast<unsigned long long>(by_worker[1]));
  EXPECT_EQ(by_worker[0] + by_worker[1], connection_count);
  EXPECT_EQ(exported_, std::vector<double>(by_worker.begin(), by_worker.end()));
  EXPECT_GE(std::min(by_worker[0], by_worker[1]), 13u);
  server.stop();
  std::remove(path.c_str());
}

}  // namespace
}  // namespace keel::http::balance_test
