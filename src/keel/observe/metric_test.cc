#include "keel/observe/metric.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "keel/base/testing/allocation_count.h"

namespace keel::metrics {
namespace {

#define SKIP_WHEN_BARE() \
  if (!is_recorded) GTEST_SKIP() << "compiled out"

TEST(Counter, sums_over_all_threads_and_keeps_what_ended_threads_counted) {
  SKIP_WHEN_BARE();
  Registry registry;
  const Counter counter = registry.counter("hits_total", "Hits");
  {
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([counter, i] {
        if (i == 0) {
          for (int n = 0; n < 1000; ++n) counter.add();
        } else {
          ThreadCells cells;
          for (int n = 0; n < 1000; ++n) counter.add(2);
        }
      });
    }
    while (counter.value() < 100) std::this_thread::yield();
    for (auto& thread : threads) thread.join();
  }
  EXPECT_EQ(counter.value(), 5000u);
}

TEST(Counter, may_be_made_while_threads_run) {
  SKIP_WHEN_BARE();
  Registry registry;
  std::atomic<int> published = 0;
  std::vector<Counter> counters;
  counters.reserve(3000);
  std::thread worker([&] {
    ThreadCells cells;
    for (int n = 0; n < 3000;) {
      if (n < published.load(std::memory_order_acquire)) counters[static_cast<std::size_t>(n++)].add(5);
    }
  });
  for (int n = 0; n < 3000; ++n) {
    counters.push_back(registry.counter("many_total", "Many", {{"n", std::to_string(n)}}));
    published.store(n + 1, std::memory_order_release);
  }
  worker.join();
  for (const Counter& counter : counters) EXPECT_EQ(counter.value(), 5u);
}

TEST(Registry, gives_the_same_series_for_the_same_labels) {
  SKIP_WHEN_BARE();
  Registry registry;
  registry.counter("a_total", "A", {{"route", "/x"}}).add();
  registry.counter("a_total", "A", {{"route", "/x"}}).add();
  registry.counter("a_total", "A", {{"route", "/y"}}).add();
  EXPECT_EQ(registry.counter("a_total", "A", {{"route", "/x"}}).value(), 2u);
  EXPECT_EQ(registry.counter("a_total", "A", {{"route", "/y"}}).value(), 1u);
}

TEST(Registry, cells_of_a_registry_that_is_gone_begin_at_zero_for_the_next) {
  {
    Registry registry;
    registry.counter("a_total", "A").add(7);
  }
  Registry registry;
  EXPECT_EQ(registry.counter("b_total", "B").value(), 0u);
}

using RegistryDeathTest = testing::Test;

TEST(RegistryDeathTest, names_the_metric_that_is_registered_in_two_ways) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Registry registry;
  registry.counter("a_total", "A", {{"x", "1"}});
  registry.histogram("h_seconds", "H", latency_seconds);
  EXPECT_DEATH(registry.counter("a_total", "Another", {{"x", "1"}}), "\"a_total\".*another help");
  EXPECT_DEATH(registry.counter("a_total", "A"), "\"a_total\".*other label names");
  EXPECT_DEATH((void)registry.counter("a_total", "A", {{"x", "1"}}, [] { return 1.0; }), "\"a_total\".*another way");
  EXPECT_DEATH(registry.gauge("h_seconds", "H"), "\"h_seconds\".*another kind");
  EXPECT_DEATH(registry.histogram("h_seconds", "H", size_bytes), "\"h_seconds\".*other bounds");
}

TEST(RegistryDeathTest, refuses_bad_names) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Registry registry;
  EXPECT_DEATH(registry.gauge("9lives", "N"), "matches");
  EXPECT_DEATH(registry.gauge("with-dash", "N"), "matches");
  EXPECT_DEATH(registry.gauge("", "N"), "matches");
  EXPECT_DEATH(registry.gauge("ok", ""), "help");
  EXPECT_DEATH(registry.counter("hits", "N"), "_total");
  EXPECT_DEATH(registry.gauge("ok", "N", {{"a:b", "1"}}), "label name");
  EXPECT_DEATH(registry.gauge("ok", "N", {{"__x", "1"}}), "label name");
  EXPECT_DEATH(registry.gauge("ok", "N", {{"a", "1"}, {"a", "2"}}), "once");
  EXPECT_DEATH(registry.histogram("ok", "N", size_bytes, {{"le", "1"}}), "buckets");
}

TEST(Gauge, is_set_and_added_to) {
  SKIP_WHEN_BARE();
  Registry registry;
  const Gauge gauge = registry.gauge("temperature", "Degrees");
  gauge.set(20.5);
  gauge.add(-1);
  EXPECT_EQ(gauge.value(), 19.5);
}

double only_value(Registry& registry) {
  double value = -1;
  Reading reading;
  registry.read(reading, [&value](std::span<const Family> families) {
    const Series& series = families[0].series[0];
    value = series.functions != 0 ? series.function_value : -1;
  });
  return value;
}

TEST(GaugeFunction, is_summed_and_ends_with_its_handle) {
  Registry registry;
  GaugeFunction one = registry.gauge("entries", "Entries", {}, [] { return 1.0; });
  EXPECT_EQ(only_value(registry), 1);
  {
    GaugeFunction two = registry.gauge("entries", "Entries", {}, [] { return 2.0; });
    EXPECT_EQ(only_value(registry), 3);
  }
  EXPECT_EQ(only_value(registry), 1);
  one = GaugeFunction();
  EXPECT_EQ(only_value(registry), -1);
}

TEST(GaugeFunction, may_insist_on_its_thread) {
  Registry registry;
  int plain = 1;  // Not shared: only its own thread touches it.
  GaugeFunction function =
      registry.gauge("plain", "Plain", {}, [&plain] { return double(plain); }, Calls::OnThisThread);
  std::thread([&registry] {
    registry.sample();
    EXPECT_EQ(only_value(registry), 0);
  }).join();
  plain = 2;
  registry.sample();
  std::thread([&registry] { EXPECT_EQ(only_value(registry), 2); }).join();
}

TEST(Histogram, buckets_cover_everything_once) {
  using internal::bucket_of;
  using internal::edge_of;
  EXPECT_EQ(bucket_of(0), 0u);
  for (std::uint32_t b = 0; b + 2 < internal::histogram_buckets; ++b) {
    EXPECT_EQ(bucket_of(edge_of(b)), b);
    EXPECT_EQ(bucket_of(edge_of(b) + 1), b + 1);
    EXPECT_LE(static_cast<double>(edge_of(b + 1)), 1.26 * static_cast<double>(edge_of(b)) + 1);
  }
  EXPECT_EQ(bucket_of(~std::uint64_t{0}), internal::histogram_buckets - 1);
  for (const Bounds& bounds : {latency_seconds, size_bytes}) {
    EXPECT_LE(bounds.powers.size(), 15u);
    for (const std::uint8_t power : bounds.powers) {
      EXPECT_EQ(edge_of(bucket_of(std::uint64_t{1} << power)), std::uint64_t{1} << power);
    }
  }
}

TEST(Histogram, counts_sums_and_gives_quantiles) {
  SKIP_WHEN_BARE();
  Registry registry;
  const Histogram histogram = registry.histogram("took_seconds", "Took", latency_seconds);
  EXPECT_EQ(histogram.quantile(0.5), 0u);
  ThreadCells cells;
  for (int i = 1; i <= 1000; ++i) histogram.observe(Duration::microseconds(i));
  histogram.observe(Duration::nanoseconds(-5));
  EXPECT_EQ(histogram.count(), 1001u);
  EXPECT_EQ(histogram.sum(), 500'500'000u);
  EXPECT_NEAR(static_cast<double>(histogram.quantile(0.5)), 500e3, 125e3);
  EXPECT_NEAR(static_cast<double>(histogram.quantile(0.99)), 990e3, 250e3);
  {
    auto timer = histogram.time();
  }
  EXPECT_EQ(histogram.count(), 1002u);
}

TEST(Histogram, samples_with_weight) {
  SKIP_WHEN_BARE();
  Registry registry({.sample_rate = 0.1});
  const Histogram histogram = registry.histogram("took_seconds", "Took", latency_seconds);
  ThreadCells cells;
  for (int i = 0; i < 20'000; ++i) histogram.observe(std::uint64_t{100});
  EXPECT_EQ(histogram.count() % 10, 0u);
  EXPECT_NEAR(static_cast<double>(histogram.count()), 20'000, 2'500);  // About six standard deviations.
  EXPECT_EQ(histogram.sum(), histogram.count() * 100);
}

TEST(Recording, does_not_allocate) {
  Registry registry;
  const Counter counter = registry.counter("hits_total", "Hits");
  const Gauge gauge = registry.gauge("level", "Level");
  const Histogram histogram = registry.histogram("took_seconds", "Took", latency_seconds);
#if !KEEL_SANITIZED
  const std::size_t at_first = keel::internal::allocations();
  void* volatile block = std::malloc(16);  // The counter itself works.
  std::free(block);
  ASSERT_EQ(keel::internal::allocations(), at_first + 1);
#endif
  const auto record = [&] {
    counter.add();
    gauge.set(1);
    auto timer = histogram.time();
  };
  const std::size_t before = keel::internal::allocations();
  record();
  EXPECT_EQ(keel::internal::allocations(), before);
  ThreadCells cells;
  const std::size_t with_cells = keel::internal::allocations();
  for (int i = 0; i < 100; ++i) record();
  EXPECT_EQ(keel::internal::allocations(), with_cells);
}

TEST(Recording, compiled_out_counts_nothing) {
  if (is_recorded) GTEST_SKIP() << "compiled in";
  Registry registry;
  const Counter counter = registry.counter("hits_total", "Hits");
  counter.add();
  EXPECT_EQ(counter.value(), 0u);
}

}  // namespace
}  // namespace keel::metrics
