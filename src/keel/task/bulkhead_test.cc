#include "keel/task/bulkhead.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/base/bug.h"
#include "keel/observe/metric.h"
#include "keel/task/scope.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::bulkhead_test {
namespace {

void ignore(StartCore&) noexcept {}

Task<char> work(std::string& said, char name, Duration takes) {
  said += name;
  co_await sleep_for(takes);
  said += static_cast<char>(name - 'a' + 'A');
  co_return name;
}
Task<char> run(Bulkhead& bulkhead, std::string& said, char name, Duration takes = 10_ms) {
  co_return co_await bulkhead.run([&said, name, takes] { return work(said, name, takes); });
}
Task<char> run_within(Duration limit, Bulkhead& bulkhead, std::string& said, char name) {
  co_return co_await with_timeout(limit, run(bulkhead, said, name));
}
Task<> hold(Bulkhead& bulkhead, Duration takes) {
  Bulkhead::Place place = co_await bulkhead.enter();
  co_await sleep_for(takes);
}

struct BulkheadTest : ::testing::Test {
  testing::TestLoop loop;
  std::string said;
  Start<char> a, b, c, d;
};

TEST_F(BulkheadTest, runs_so_many_at_a_time_and_the_others_in_their_order) {
  Bulkhead two({.running_max = 2});
  EXPECT_FALSE(a.begin(run(two, said, 'a'), &ignore));
  EXPECT_FALSE(b.begin(run(two, said, 'b', 20_ms), &ignore));
  EXPECT_FALSE(c.begin(run(two, said, 'c'), &ignore));
  EXPECT_FALSE(d.begin(run(two, said, 'd'), &ignore));
  EXPECT_EQ(said, "ab");
  EXPECT_EQ(two.running(), 2u);
  EXPECT_EQ(two.waiting(), 2u);

  loop.advance(100_ms);

  EXPECT_EQ(said.substr(0, 4), "abAc");
  EXPECT_EQ(a.take().value(), 'a');
  EXPECT_EQ(b.take().value(), 'b');
  EXPECT_EQ(c.take().value(), 'c');
  EXPECT_EQ(d.take().value(), 'd');
  EXPECT_EQ(two.running(), 0u);
}

TEST_F(BulkheadTest, rejects_beyond_those_that_may_wait) {
  Bulkhead one({.running_max = 1, .waiting_max = 1});
  EXPECT_FALSE(a.begin(run(one, said, 'a'), &ignore));
  EXPECT_FALSE(b.begin(run(one, said, 'b'), &ignore));

  EXPECT_TRUE(c.begin(run(one, said, 'c'), &ignore));

  const Result<char> rejected = c.take();
  EXPECT_EQ(rejected.error().code(), Code::ResourceExhausted);
  EXPECT_EQ(rejected.error().message(),
            "the bulkhead is full: all places are taken, and the number of waiting calls has reached waiting_max");
  EXPECT_EQ(one.stats().rejected, 1u);
  loop.advance(100_ms);
  EXPECT_EQ(said, "aAbB");
  EXPECT_TRUE(a.take());
  EXPECT_TRUE(b.take());
}

TEST_F(BulkheadTest, bounds_the_wait) {
  Bulkhead one({.running_max = 1, .wait_max = 50_ms});
  EXPECT_FALSE(a.begin(run(one, said, 'a', 1_h), &ignore));

  const Instant began = loop.now();
  const Result<char> rejected = loop.run(run(one, said, 'b'));

  EXPECT_EQ(rejected.error().code(), Code::ResourceExhausted);
  EXPECT_EQ(rejected.error().message(), "no place of a bulkhead became free within wait_max");
  EXPECT_GE(loop.now() - began, 50_ms);
  EXPECT_LT(loop.now() - began, 52_ms);
  a.stop();
  loop.run_jobs();
  EXPECT_EQ(a.take().error().code(), Code::Cancelled);
  EXPECT_EQ(loop.run(run(one, said, 'c')).value(), 'c') << "its place is free again";
}

TEST_F(BulkheadTest, tells_the_callers_own_deadline_from_its_bound) {
  Bulkhead one({.running_max = 1, .wait_max = 1_s});
  EXPECT_FALSE(a.begin(run(one, said, 'a', 100_ms), &ignore));

  EXPECT_EQ(loop.run(run_within(10_ms, one, said, 'b')).error().code(), Code::DeadlineExceeded);

  EXPECT_EQ(one.stats().rejected, 0u);
  EXPECT_EQ(one.waiting(), 0u);
  loop.advance(1_s);
  EXPECT_TRUE(a.take());
}

TEST_F(BulkheadTest, lets_nothing_wait_where_nothing_may) {
  Bulkhead one({.running_max = 1, .waiting_max = 0});
  EXPECT_EQ(loop.run(run(one, said, 'a')).value(), 'a');
  EXPECT_FALSE(b.begin(run(one, said, 'b'), &ignore));
  EXPECT_EQ(loop.run(run(one, said, 'c')).error().code(), Code::ResourceExhausted);
  loop.advance(1_s);
  EXPECT_TRUE(b.take());
}

TEST_F(BulkheadTest, gives_a_place_for_several_steps) {
  Bulkhead one({.running_max = 1});
  Start<void> holding;
  EXPECT_FALSE(holding.begin(hold(one, 10_ms), &ignore));
  EXPECT_FALSE(one.try_enter());
  loop.advance(20_ms);
  EXPECT_TRUE(holding.take());
  EXPECT_TRUE(one.try_enter());
}

TEST_F(BulkheadTest, shows_itself_in_metrics) {
  if (!metrics::is_recorded) GTEST_SKIP() << "compiled out";
  metrics::Registry registry;
  Bulkhead one({.running_max = 1, .waiting_max = 0});
  one.expose(registry, "reports");
  EXPECT_FALSE(a.begin(run(one, said, 'a'), &ignore));
  EXPECT_FALSE(loop.run(run(one, said, 'b')));
  registry.sample();

  double running = -1;
  metrics::Reading reading;
  registry.read(reading, [&](std::span<const metrics::Family> families) {
    for (const metrics::Family& family : families) {
      if (family.name == "bulkhead_running") running = family.series.front().function_value;
    }
  });
  EXPECT_EQ(running, 1);
  EXPECT_EQ(registry
                .counter("bulkhead_rejected_total", "Calls that were rejected because all places were taken",
                         {{"name", "reports"}})
                .value(),
            1u);
  loop.advance(1_s);
  EXPECT_TRUE(a.take());
}

TEST(Bulkhead, has_a_place) { EXPECT_THROW(Bulkhead({.running_max = 0}), Bug); }

}  // namespace
}  // namespace keel::bulkhead_test
