#include "keel/io/stall_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace keel::io::stall_watch_test {
namespace {

std::atomic<bool> may_go_on = false;

// In naps, for ThreadSanitizer hands signals over at such calls only.
[[gnu::noinline]] void stall_in_here() {
  while (!may_go_on) ::usleep(100);
  asm volatile("" ::: "memory");
}

struct Told {
  int worker;
  Duration lasted;
  bool is_over;
  bool is_first;
  std::string stack;
};

class StallWatches : public ::testing::TestWithParam<EngineKind> {
 protected:
  struct Stalls : Job {
    Stalls() : Job([](Job&) noexcept { stall_in_here(); }) { may_go_on = false; }
  };

  void SetUp() override {
    auto runtime = Runtime::make({.workers = 2, .engine = GetParam()});
    if (!runtime) GTEST_SKIP() << runtime.error().describe();
    runtime_ = *std::move(runtime);
    ASSERT_TRUE(runtime_->start());
  }
  void TearDown() override {
    watch_.reset();
    if (runtime_ != nullptr) runtime_->stop();
  }
  void watch(Duration bound) {
    watch_ = std::make_unique<StallWatch>(*runtime_, bound, [this](const Stall& stall) { note(stall); });
  }
  void note(const Stall& stall) {
    const std::lock_guard lock(mutex_);
    told_.push_back({stall.worker, stall.lasted, stall.is_over, stall.is_first, std::string(stall.stack)});
  }
  std::vector<Told> told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }
  bool is_told(std::size_t times) {
    for (int i = 0; i < 30'000 && told().size() < times; ++i) ::usleep(1000);
    return told().size() >= times;
  }

  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<StallWatch> watch_;

 private:
  std::mutex mutex_;
  std::vector<Told> told_;
};
INSTANTIATE_TEST_SUITE_P(, StallWatches, ::testing::Values(EngineKind::Uring, EngineKind::Epoll),
                         [](const auto& kind) { return kind.param == EngineKind::Uring ? "uring" : "epoll"; });

TEST_P(StallWatches, tell_of_a_stall_at_doubling_times_and_at_its_end) {
  watch(10_ms);
  Stalls job;
  runtime_->loop(1).post(job);

  ASSERT_TRUE(is_told(3));
  may_go_on = true;
  while (!told().back().is_over) ::usleep(1000);

  const std::vector<Told> all = told();
  EXPECT_GE(all[0].lasted, 10_ms);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].worker, 1);
    EXPECT_EQ(all[i].is_first, i == 0);
    EXPECT_EQ(all[i].is_over, i + 1 == all.size());
    EXPECT_TRUE(i == 0 || all[i].lasted > all[i - 1].lasted);
    EXPECT_TRUE(i >= 3 || all[i].stack.find("stall_in_here()") != std::string::npos) << all[i].stack;
  }
}

TEST_P(StallWatches, tell_nothing_of_workers_that_wait) {
  watch(5_ms);
  ::usleep(100'000);
  EXPECT_TRUE(told().empty());
}

TEST_P(StallWatches, look_at_all_when_asked) {
  watch(1_h);
  Stalls job;
  runtime_->loop(1).post(job);
  while (runtime_->loop(1).busy_since() == Instant()) ::usleep(100);

  std::vector<Told> now;
  const auto look = [&] {
    now.clear();
    watch_->look_at_all([&](const Stall& stall) {
      now.push_back({stall.worker, stall.lasted, stall.is_over, stall.is_first, std::string(stall.stack)});
    });
    return now.size() == 2 && now[1].stack.find("stall_in_here()") != std::string::npos;
  };
  // The turn has begun; its job may be a moment away.
  bool is_seen = false;
  for (int i = 0; i < 1000 && !is_seen; ++i) is_seen = look();
  may_go_on = true;

  EXPECT_TRUE(is_seen);
  EXPECT_EQ(now[0].worker, 0);
  EXPECT_EQ(now[0].lasted, Duration());
  EXPECT_EQ(now[1].worker, 1);
  EXPECT_GT(now[1].lasted, Duration());
  EXPECT_TRUE(told().empty());
}

TEST(StallWatchDeathTest, a_bound_is_longer_than_nothing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        auto runtime = Runtime::make({.workers = 1, .engine = EngineKind::Epoll}).value();
        if (runtime->start()) StallWatch(*runtime, Duration(), [](const Stall&) {});
      },
      "the shortest reported stall must be above zero");
}

}  // namespace
}  // namespace keel::io::stall_watch_test
