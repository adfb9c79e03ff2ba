#include "keel/io/testing/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace keel::sim::shrink_test {
namespace {

Fault fault(int n) { return {FaultKind::LongDelay, static_cast<std::uint64_t>(n), 0}; }

// A run in which 100 faults would strike, and which fails when all of `needed` do.
class World {
 public:
  explicit World(std::vector<int> needed) : needed_(std::move(needed)) {}
  Trial run(const SimOptions& options) {
    ++runs;
    Trial trial;
    for (int n = 0; n < 100; ++n) {
      if (!options.only || std::ranges::find(*options.only, fault(n)) != options.only->end()) {
        trial.struck.push_back(fault(n));
      }
    }
    trial.failed = std::ranges::all_of(
        needed_, [&](int n) { return std::ranges::find(trial.struck, fault(n)) != trial.struck.end(); });
    return trial;
  }
  int runs = 0;

 private:
  std::vector<int> needed_;
};

std::string shrunk(World& world, int runs_max = 1000) {
  SimOptions options;
  options.seed = 7;
  const Shrunk least = shrink(options, [&](const SimOptions& tried) { return world.run(tried); }, runs_max);
  EXPECT_EQ(least.runs, world.runs);
  EXPECT_EQ(least.options.seed, 7u);
  return least.options.only ? to_string(*least.options.only) : "all";
}

TEST(Shrink, leaves_only_the_faults_that_are_needed) {
  World one({42});
  World three({3, 60, 61});

  EXPECT_EQ(shrunk(one), "long_delay:42:0");
  EXPECT_EQ(shrunk(three), "long_delay:3:0,long_delay:60:0,long_delay:61:0");

  EXPECT_LT(one.runs, 40);
  EXPECT_LT(three.runs, 120);
}
TEST(Shrink, leaves_none_when_none_is_needed) {
  World world({});
  EXPECT_EQ(shrunk(world), "");
}
TEST(Shrink, leaves_what_does_not_fail_as_it_is) {
  World world({100});  // Never strikes.
  EXPECT_EQ(shrunk(world), "all");
  EXPECT_EQ(world.runs, 1);
}
TEST(Shrink, stops_at_the_most_runs_with_what_fails) {
  World world({3, 60});

  const std::vector<Fault> left = parse_faults(shrunk(world, 12)).value();

  EXPECT_EQ(world.runs, 12);
  EXPECT_LT(left.size(), 100u);
  EXPECT_NE(std::ranges::find(left, fault(3)), left.end());
  EXPECT_NE(std::ranges::find(left, fault(60)), left.end());
}
TEST(Shrink, makes_the_rest_regular_where_it_still_fails) {
  World world({5});
  const Shrunk least = shrink(SimOptions::faulty(3), [&](const SimOptions& tried) { return world.run(tried); });
  EXPECT_EQ(least.options.latency_min, least.options.latency_max);
  EXPECT_EQ(least.options.instant_send, 1);
}

TEST(Faults, are_read_as_they_are_written) {
  const std::vector<Fault> faults = {{FaultKind::Reset, 3, 0}, {FaultKind::ClockJump, 0, 12}};
  EXPECT_EQ(to_string(faults), "reset:3:0,clock_jump:0:12");
  EXPECT_EQ(parse_faults(to_string(faults)).value(), faults);
  EXPECT_TRUE(parse_faults("").value().empty());
  for (const char* bad : {"reset", "reset:3", "reset:3:", "reset::0", "reset:3:0x", "quake:1:2", "reset:3:0,,"}) {
    EXPECT_EQ(parse_faults(bad).error().code(), Code::InvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace keel::sim::shrink_test
