#include "load/counts.h"

#include <gtest/gtest.h>

#include <set>

namespace keel::load::load_counts_test {
namespace {

TEST(Counts, adds_up) {
  Counts one;
  one.due = 2;
  one.by_class[2] = 1;
  one.by_status[201] = 1;
  one.failures[static_cast<std::size_t>(Failure::Timeout)] = 1;
  one.latency.record(1_ms);
  one.seconds = {{.responses = 1, .latency_max_ns = 7}};
  Counts other;
  other.due = 3;
  other.by_class[2] = 3;
  other.by_status[201] = 4;
  other.failures[static_cast<std::size_t>(Failure::Body)] = 2;
  other.latency.record(2_ms);
  other.seconds = {{.responses = 2, .latency_max_ns = 5}, {.responses = 1, .errors = 1, .latency_max_ns = 9}};

  one.add(other);

  EXPECT_EQ(one.due, 5u);
  EXPECT_EQ(one.by_class[2], 4u);
  EXPECT_EQ(one.by_status[201], 5u);
  EXPECT_EQ(one.errors(), 3u);
  EXPECT_EQ(one.latency.count(), 2u);
  ASSERT_EQ(one.seconds.size(), 2u);
  EXPECT_EQ(one.seconds[0].responses, 3u);
  EXPECT_EQ(one.seconds[0].latency_max_ns, 7);
  EXPECT_EQ(one.seconds[1].errors, 1u);
}

TEST(Counts, every_failure_has_a_name_of_its_own) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < failure_count; ++i) names.insert(to_string(static_cast<Failure>(i)));

  EXPECT_EQ(names.size(), failure_count);
}

}  // namespace
}  // namespace keel::load::load_counts_test
