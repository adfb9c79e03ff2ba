// Threads, clocks and signals: whole measurements against a server of other threads, over real sockets.

#include "load/run.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <memory>

#include "keel/base/host.h"
#include "keel/http/server/server.h"
#include "keel/io/runtime.h"
#include "load/options.h"

namespace keel::load::load_run_test {
namespace {

http::Response hello(http::Request&) { return http::Response::text(http::Status::Ok, "Hello, World!"); }

class RunTest : public ::testing::TestWithParam<io::EngineKind> {
 protected:
  void SetUp() override {
    if (const auto choice = io::choose_engine(GetParam()); !choice) GTEST_SKIP() << choice.error().describe();
    setting_.engine = GetParam();
    runtime_ = *io::Runtime::make({.workers = 1, .engine = GetParam()});
    ASSERT_TRUE(runtime_->start());
    router_.get("/hello", hello);
    http::ServerOptions options;
    options.address = *Address::parse("127.0.0.1:0");
    options.access_log = false;
    server_ = std::make_unique<http::Server>(router_, options);
    ASSERT_TRUE(server_->start(*runtime_));
    plan_.address = server_->address();
    plan_.connections = {8, 8};
    plan_.warmup = 50_ms;
    plan_.duration = 1_s;
  }
  void TearDown() override {
    if (server_ != nullptr) server_->stop();
  }

  Result<Measurement> run(Interrupts& interrupts, FunctionRef<void(const View&)> show = [](const View&) {}) {
    const auto mix = Mix::compile({{.target = "/hello", .check = {.body = "Hello, World!"}}}, "test", nullptr);
    return measure(*mix, plan_, setting_, interrupts, show);
  }

  http::Router router_;
  std::unique_ptr<io::Runtime> runtime_;
  std::unique_ptr<http::Server> server_;
  Plan plan_;
  Setting setting_;
};

TEST_P(RunTest, threads_share_the_connections_and_their_answers_add_up) {
  plan_.threads = 3;
  setting_.server_pid = getpid();
  Interrupts interrupts;

  const auto result = run(interrupts);

  ASSERT_TRUE(result) << result.error().describe();
  EXPECT_EQ(result->counts.connections, 8u);
  EXPECT_GT(result->counts.responses, 0u);
  EXPECT_EQ(result->counts.errors(), 0u);
  EXPECT_EQ(result->measured, 1_s);
  EXPECT_FALSE(result->is_interrupted);
  EXPECT_GT(result->client_utilisation, 0);
  ASSERT_TRUE(result->server_utilisation);
  EXPECT_GT(*result->server_utilisation, 0);
}

TEST_P(RunTest, an_open_loop_of_several_threads_offers_the_rate) {
  plan_.threads = 2;
  plan_.warmup = Duration();
  plan_.duration = 400_ms;
  plan_.open = Schedule::Options{.rate = {.from = 1000, .to = 1000}};
  Interrupts interrupts;

  const auto result = run(interrupts);

  ASSERT_TRUE(result) << result.error().describe();
  EXPECT_EQ(result->counts.due, 400u);
  EXPECT_EQ(result->offered, 1000);
  EXPECT_EQ(result->counts.responses, 400u);
  EXPECT_EQ(result->counts.errors(), 0u);
}

TEST_P(RunTest, a_thread_that_finds_nothing_polls_as_long_as_it_was_told_to) {
  plan_.warmup = Duration();
  plan_.duration = 400_ms;
  plan_.open = Schedule::Options{.rate = {.from = 100, .to = 100}, .arrivals = Arrivals::Constant};
  setting_.busy_poll = 100_ms;
  Interrupts interrupts;

  const auto polling = run(interrupts);
  setting_.busy_poll = Duration();
  const auto sleeping = run(interrupts);

  ASSERT_TRUE(polling && sleeping);
  EXPECT_EQ(polling->counts.responses, 40u);
  EXPECT_GT(polling->client_busy_polling, 0.5);
  EXPECT_LT(polling->client_utilisation, 0.5);  // The rest of a core is what it has polled.
  EXPECT_EQ(sleeping->counts.responses, 40u);
  EXPECT_EQ(sleeping->client_busy_polling, 0);
}

TEST(BusyPolling, is_for_threads_with_a_core_each) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  const int all = CPU_COUNT(&set);

  EXPECT_TRUE(has_core_each(1, {3}));
  EXPECT_FALSE(has_core_each(2, {3}));
  EXPECT_TRUE(has_core_each(all - 1, {}));
  EXPECT_FALSE(has_core_each(all, {}));  // The last core is the server's, which may be on this machine.
}

TEST_P(RunTest, an_interrupt_ends_the_run_and_keeps_what_was_measured) {
  plan_.duration = 1_h;
  plan_.warmup = Duration();
  Interrupts interrupts;
  int shown = 0;

  const auto result = run(interrupts, [&](const View&) {
    if (++shown == 1) kill(getpid(), SIGINT);
  });

  ASSERT_TRUE(result) << result.error().describe();
  EXPECT_TRUE(result->is_interrupted);
  EXPECT_GT(result->counts.responses, 0u);
  EXPECT_EQ(result->counts.errors(), 0u);
  EXPECT_LT(result->measured, 10_min);
  EXPECT_GE(result->measured, 400_ms);
}

TEST_P(RunTest, cores_that_are_not_there_are_an_error) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  setting_.cores = {1023};
  Interrupts interrupts;

  const auto result = run(interrupts);

  ASSERT_FALSE(result);
  EXPECT_NE(result.error().describe().find("--cores 1023"), std::string::npos) << result.error().describe();
  sched_setaffinity(0, sizeof before, &before);
}

TEST_P(RunTest, a_server_process_that_is_not_there_is_an_error) {
  setting_.server_pid = 1 << 22;
  Interrupts interrupts;

  const auto result = run(interrupts);

  ASSERT_FALSE(result);
  EXPECT_NE(result.error().describe().find("--server-pid 4194304"), std::string::npos) << result.error().describe();
}

INSTANTIATE_TEST_SUITE_P(, RunTest, ::testing::Values(io::EngineKind::Uring, io::EngineKind::Epoll),
                         [](const auto& kind) { return kind.param == io::EngineKind::Uring ? "uring" : "epoll"; });

TEST(Run, reaches_a_server_by_name_or_says_why_not) {
  const auto url = parse_url("http://localhost:1/");
  ASSERT_TRUE(url);

  const auto address = reach(*url, 1_s);

  ASSERT_FALSE(address);
  EXPECT_NE(address.error().describe().find(":1"), std::string::npos) << address.error().describe();
  EXPECT_FALSE(reach(*parse_url("http://no-such-host.invalid/"), 1_s));
  EXPECT_FALSE(reach(*parse_url("unix:/no/such/socket"), 1_s));
}

TEST(Run, cpu_time_rises_with_work) {
  const auto clock = CpuClock::of(getpid());
  ASSERT_TRUE(clock);
  const Duration before = *clock->now();
  volatile unsigned work = 0;
  while (*CpuClock::of_this_process().now() - before < 5_ms) work = work + 1;

  EXPECT_GE(*clock->now() - before, 5_ms);
  EXPECT_FALSE(CpuClock::of(1 << 22));
}

}  // namespace
}  // namespace keel::load::load_run_test
