#include "keel/observe/metric.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "keel/base/bug.h"
#include "keel/base/testing/allocation_count.h"

namespace keel::metrics::metric_test {
namespace {

#define SKIP_WITHOUT_METRICS() \
  if (!is_recorded) GTEST_SKIP() << "compiled out"

TEST(Counter, sums_over_all_threads_and_keeps_what_ended_threads_counted) {
  SKIP_WITHOUT_METRICS();
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
  SKIP_WITHOUT_METRICS();
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
  SKIP_WITHOUT_METRICS();
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

// The sentence of the Bug that `mistake` throws, which may be made by a handler that is called rarely.
template <class F>
std::string bug_of(F mistake) {
  try {
    mistake();
  } catch (const Bug& bug) {
    return bug.what();
  }
  return "none";
}
#define EXPECT_BUG(statement, part) EXPECT_NE(bug_of([&] { (void)(statement); }).find(part), std::string::npos)

TEST(Registry, names_the_metric_that_is_registered_in_two_ways) {
  Registry registry;
  registry.counter("a_total", "A", {{"x", "1"}});
  registry.histogram("h_seconds", "H", latency_seconds);
  EXPECT_BUG(registry.counter("a_total", "Another", {{"x", "1"}}), "metric \"a_total\": ");
  EXPECT_BUG(registry.counter("a_total", "Another", {{"x", "1"}}), "another help");
  EXPECT_BUG(registry.counter("a_total", "A"), "other label names");
  EXPECT_BUG(registry.counter("a_total", "A", {{"x", "1"}}, [] { return 1.0; }),
             "a series cannot have both a value and a function");
  EXPECT_BUG(registry.gauge("h_seconds", "H"), "another kind");
  EXPECT_BUG(registry.histogram("h_seconds", "H", size_bytes), "other bounds");
}

TEST(Registry, refuses_bad_bounds) {
  Registry registry;
  registry.histogram("h_seconds", "H", {1_ms, 2_ms});
  EXPECT_BUG(registry.histogram("h_seconds", "H", {1_ms, 3_ms}), "other bounds");
  EXPECT_BUG(registry.histogram("ok", "N", {}), "needs bounds");
  EXPECT_BUG(registry.histogram("ok", "N", {2, 1}), "the bounds must ascend");
  EXPECT_BUG(registry.histogram("ok", "N", {1, 1}), "the bounds must ascend");
  EXPECT_BUG(registry.histogram("ok", "N", {-1_ms}), "not be negative");
  EXPECT_BUG(registry.histogram("ok", "N", {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
                                            18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33}),
             "at most 32 bounds");
}

TEST(Registry, refuses_bad_names) {
  Registry registry;
  EXPECT_BUG(registry.gauge("9lives", "N"), "must match");
  EXPECT_BUG(registry.gauge("with-dash", "N"), "must match");
  EXPECT_BUG(registry.gauge("", "N"), "must match");
  EXPECT_BUG(registry.gauge("ok", ""), "help");
  EXPECT_BUG(registry.counter("hits", "N"), "_total");
  EXPECT_BUG(registry.gauge("ok", "N", {{"a:b", "1"}}), "label name");
  EXPECT_BUG(registry.gauge("ok", "N", {{"__x", "1"}}), "label name");
  EXPECT_BUG(registry.gauge("ok", "N", {{"a", "1"}, {"a", "2"}}), "once");
  EXPECT_BUG(registry.histogram("ok", "N", size_bytes, {{"le", "1"}}), "buckets");
}

TEST(Gauge, is_set_and_added_to) {
  SKIP_WITHOUT_METRICS();
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
    EXPECT_EQ(bounds.edges().size(), 15u);
    for (const std::uint64_t edge : bounds.edges()) EXPECT_EQ(edge_of(bucket_of(edge)), edge);
  }
}

TEST(Histogram, counts_sums_and_gives_quantiles) {
  SKIP_WITHOUT_METRICS();
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

TEST(Histogram, has_the_bounds_that_its_author_chose) {
  SKIP_WITHOUT_METRICS();
  Registry registry;
  const Histogram took = registry.histogram("took_seconds", "Took", {5_ms, 50_ms, 1_s});
  const Histogram items = registry.histogram("order_items", "Items of an order", {0, 1, 10});
  ThreadCells cells;
  for (const Duration each : {1_ms, 5_ms, 6_ms, 50_ms, 2_s}) took.observe(each);
  for (const std::uint64_t each : {0, 0, 1, 2, 10, 11}) items.observe(each);

  EXPECT_EQ(took.count(), 5u);
  EXPECT_EQ(took.sum(), 2'062'000'000u);
  EXPECT_EQ(took.quantile(0.4), 5'000'000u);
  EXPECT_EQ(took.quantile(0.5), 50'000'000u);
  EXPECT_EQ(took.quantile(1), 1'000'000'000u) << "no more is known of what is above all bounds";
  EXPECT_EQ(items.count(), 6u);
  EXPECT_EQ(items.sum(), 24u);
  EXPECT_EQ(items.quantile(0.3), 0u);
  EXPECT_EQ(items.quantile(0.5), 1u);
  Reading reading;
  registry.read(reading, [&](std::span<const Family> families) {
    std::vector<std::uint64_t> counts;
    for (std::uint32_t i = 0; i < 4; ++i) counts.push_back(reading.cell(families[1].series[0].cell + i));
    EXPECT_EQ(counts, (std::vector<std::uint64_t>{2, 1, 2, 1}));
  });
}

TEST(Histogram, of_one_family_have_the_same_bounds_and_cells_of_their_own) {
  SKIP_WITHOUT_METRICS();
  Registry registry;
  const Histogram a = registry.histogram("took_seconds", "Took", {1_ms, 1_s}, {{"route", "a"}});
  const Histogram b = registry.histogram("took_seconds", "Took", {1_ms, 1_s}, {{"route", "b"}});
  const Histogram a_again = registry.histogram("took_seconds", "Took", {1_ms, 1_s}, {{"route", "a"}});
  a.observe(1_ms);
  a_again.observe(2_ms);
  b.observe(3_s);
  EXPECT_EQ(a.count(), 2u);
  EXPECT_EQ(b.count(), 1u);
}

TEST(Histogram, samples_with_weight_within_bounds_of_its_author_too) {
  SKIP_WITHOUT_METRICS();
  Registry registry({.sample_rate = 0.1});
  const Histogram histogram = registry.histogram("took_seconds", "Took", {1_ms, 1_s});
  ThreadCells cells;
  for (int i = 0; i < 20'000; ++i) histogram.observe(2_ms);
  EXPECT_NEAR(static_cast<double>(histogram.count()), 20'000, 2'500);
  EXPECT_EQ(histogram.sum(), histogram.count() * 2'000'000);
  EXPECT_EQ(histogram.quantile(0), 1'000'000'000u);
}

// Its clock stands during an event-loop iteration, as a worker's does; precise_now() continues.
class IterationHost final : public Host {
 public:
  IterationHost() : before_(Host::set_current(this)) {}
  ~IterationHost() override { Host::set_current(before_); }
  Instant now() noexcept override { return Instant::from_ns(0); }
  Instant precise_now() noexcept override { return now() + passed; }
  std::int64_t wall_ns() noexcept override { return 0; }
  std::uint64_t random() noexcept override { return 4; }
  void secret(std::span<std::byte> out) noexcept override { secret_from_random(out); }
  void start_timer(Timer&, Instant) noexcept override {}
  void stop_timer(Timer&) noexcept override {}
  std::unique_ptr<Thread> start_thread(const char*, Function<void()>) override { return nullptr; }
  Duration passed;

 private:
  Host* before_;
};

TEST(HistogramTimer, measures_a_block_within_one_iteration) {
  SKIP_WITHOUT_METRICS();
  Registry registry;
  const Histogram histogram = registry.histogram("took_seconds", "Took", latency_seconds);
  IterationHost host;
  {
    auto timing = histogram.time();
    host.passed = 3_ms;
    EXPECT_EQ(timing.elapsed(), 3_ms);
    host.passed = 5_ms;
  }
  EXPECT_EQ(histogram.count(), 1u);
  EXPECT_EQ(histogram.sum(), 5'000'000u);
}

TEST(HistogramTimer, observes_nothing_when_it_was_dropped) {
  SKIP_WITHOUT_METRICS();
  Registry registry;
  const Histogram histogram = registry.histogram("took_seconds", "Took", latency_seconds);
  {
    auto timing = histogram.time();
    timing.drop();
  }
  EXPECT_EQ(histogram.count(), 0u);
}

TEST(Histogram, samples_with_weight) {
  SKIP_WITHOUT_METRICS();
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
}  // namespace keel::metrics::metric_test
