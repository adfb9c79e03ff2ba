#include "keel/app/watchdog.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>

#include "keel/app/internal/supervisor_test.h"

namespace keel::app::watchdog_test {
namespace {

class Watchdogs : public ::testing::Test {
 protected:
  Watchdogs() : runtime(io::Runtime::make({.workers = 2}).value()) {
    EXPECT_TRUE(runtime->start());
    ::setenv("WATCHDOG_USEC", "30000", 1);
    make();
  }
  ~Watchdogs() override { ::unsetenv("WATCHDOG_USEC"); }

  void make() {
    notify = Notify::from_environment().value();
    watchdog = std::make_unique<Watchdog>(notify, *runtime);
  }
  // Ticks as App does until a beat has come.
  bool beats_within(Duration most) {
    for (const Instant end = Host::system().now() + most; Host::system().now() < end;) {
      EXPECT_TRUE(watchdog->tick());
      if (supervisor.next(1) == "WATCHDOG=1") return true;
    }
    return false;
  }

  Supervisor supervisor{true};
  Notify notify;
  std::unique_ptr<Watchdog> watchdog;
  std::unique_ptr<io::Runtime> runtime;  // Ends before the watchdog: a loop may have a job of it.
};

TEST_F(Watchdogs, are_fed_three_times_as_often_as_they_want) {
  EXPECT_EQ(watchdog->interval(), 10_ms);

  const Instant began = Host::system().now();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(beats_within(30_s)) << i;

  EXPECT_GE(Host::system().now() - began, 30_ms) << "and not more often";
}

TEST_F(Watchdogs, are_not_fed_while_a_worker_is_stuck) {
  ASSERT_TRUE(beats_within(30_s));
  struct Stuck : Job {
    Stuck()
        : Job([](Job& job) noexcept {
            auto& self = static_cast<Stuck&>(job);
            self.begun = true;
            self.open.wait(false);
          }) {}
    std::atomic<bool> begun = false;
    std::atomic<bool> open = false;
  } stuck;
  runtime->loop(1).post(stuck);
  while (!stuck.begun) Host::system().sleep(1_ms);
  // The worker may have turned since the last beat: one more is due then.
  Host::system().sleep(20_ms);
  EXPECT_TRUE(watchdog->tick());
  while (!supervisor.next(1).empty()) {
  }

  EXPECT_FALSE(beats_within(100_ms)) << "the other worker is not enough";

  stuck.open = true;
  stuck.open.notify_all();
  EXPECT_TRUE(beats_within(30_s)) << "it was not for good";
}

TEST_F(Watchdogs, that_nobody_has_are_not_fed) {
  ::unsetenv("WATCHDOG_USEC");
  make();

  EXPECT_EQ(watchdog->interval(), Duration::forever());
  EXPECT_FALSE(beats_within(30_ms));
}

}  // namespace
}  // namespace keel::app::watchdog_test
