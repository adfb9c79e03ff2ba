// Crosses threads: run under ThreadSanitizer.
#include "keel/exec/delayed_jobs.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "keel/base/list.h"

namespace keel::delayed_jobs_test {
namespace {

// Its one thread is the test, which moves the time.
struct Ticking final : Executor {
  void post(Job& job) noexcept override { posted.push_back(&job); }
  bool offer_after(Job& job, Duration delay) noexcept override { return delayed->start(job, now + delay); }
  int run_posted() {
    int count = 0;
    for (Job* const job : std::exchange(posted, {})) {
      job->run(*job);
      ++count;
    }
    return count;
  }
  void advance(Duration by) {
    now = now + by;
    wheel.advance(now);
  }

  Instant now = Instant::from_ns(1'000'000'000);
  TimerWheel wheel{now};
  std::vector<Job*> posted;
  std::unique_ptr<DelayedJobs> delayed = std::make_unique<DelayedJobs>(*this, wheel);
};

struct Note : Job {
  Note(std::string& t, char c)
      : Job([](Job& job) noexcept {
          auto& self = static_cast<Note&>(job);
          self.text += self.name;
        }),
        text(t),
        name(c) {}
  std::string& text;
  char name;
};
// Says in capitals that it was discarded.
struct Asking : Note {
  Asking(std::string& t, char c) : Note(t, c) {
    run = [](Job& job) noexcept {
      auto& self = static_cast<Asking&>(job);
      self.text += Executor::discards() ? static_cast<char>(self.name - 'a' + 'A') : self.name;
    };
  }
};

TEST(DelayedJobs, run_at_their_time_in_its_order_and_not_before) {
  Ticking executor;
  std::string order;
  Note a(order, 'a'), b(order, 'b'), c(order, 'c');

  EXPECT_TRUE(executor.delayed->start(c, executor.now + 30_ms));
  EXPECT_TRUE(executor.delayed->start(a, executor.now - 30_ms));
  EXPECT_TRUE(executor.delayed->start(b, executor.now + 10_ms));
  EXPECT_EQ(order, "");

  executor.advance(9_ms);
  EXPECT_EQ(order, "a");
  executor.advance(12_ms);
  EXPECT_EQ(order, "ab");
  executor.advance(12_ms);
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(executor.wheel.running(), 0);
}

TEST(DelayedJobs, that_are_sent_are_brought_by_one_job) {
  Ticking executor;
  std::string order;
  Note a(order, 'a'), b(order, 'b'), c(order, 'c');

  std::thread([&] {
    EXPECT_TRUE(executor.delayed->send(b, executor.now + 20_ms));
    EXPECT_TRUE(executor.delayed->send(a, executor.now + 10_ms));
  }).join();
  EXPECT_EQ(executor.wheel.running(), 0) << "the wheel belongs to the executor's thread";
  EXPECT_EQ(executor.run_posted(), 1);
  EXPECT_TRUE(executor.delayed->send(c, executor.now + 30_ms));
  EXPECT_EQ(executor.run_posted(), 1);

  executor.advance(50_ms);
  EXPECT_EQ(order, "abc");
}

TEST(DelayedJobs, may_start_others) {
  Ticking executor;
  struct Chain : Job {
    explicit Chain(Ticking& t)
        : Job([](Job& job) noexcept {
            auto& self = static_cast<Chain&>(job);
            if (++self.ran < 3) self.taken = self.executor.offer_after(self, 10_ms);
          }),
          executor(t) {}
    Ticking& executor;
    int ran = 0;
    bool taken = false;
  } chain(executor);

  EXPECT_TRUE(executor.offer_after(chain, 10_ms));
  for (int i = 0; i < 10; ++i) executor.advance(15_ms);

  EXPECT_TRUE(chain.taken);
  EXPECT_EQ(chain.ran, 3);
}

TEST(DelayedJobs, are_discarded_by_the_end_also_those_that_were_sent_and_not_brought) {
  Ticking executor;
  std::string order;
  Asking a(order, 'a'), b(order, 'b');
  Note c(order, 'c');
  EXPECT_TRUE(executor.delayed->start(a, executor.now + 1_h));
  EXPECT_TRUE(executor.delayed->send(b, executor.now + 1_h));
  EXPECT_TRUE(executor.delayed->start(c, executor.now + 1_h));

  executor.delayed.reset();

  EXPECT_EQ(order, "AcB") << "one that does not ask runs";
  EXPECT_EQ(executor.wheel.running(), 0);
}

TEST(DelayedJobs, that_ask_for_another_time_at_the_end_are_refused) {
  Ticking executor;
  struct Again : Job {
    explicit Again(DelayedJobs& d)
        : Job([](Job& job) noexcept {
            auto& self = static_cast<Again&>(job);
            self.refused += self.jobs.start(self, Instant()) ? 0 : 1;
            self.refused += self.jobs.send(self, Instant()) ? 0 : 1;
          }),
          jobs(d) {}
    DelayedJobs& jobs;
    int refused = 0;
  } again(*executor.delayed);
  EXPECT_TRUE(executor.delayed->start(again, executor.now + 1_h));

  executor.delayed.reset();

  EXPECT_EQ(again.refused, 2);
}

}  // namespace
}  // namespace keel::delayed_jobs_test
