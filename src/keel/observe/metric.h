// keel/observe/metric.h — counters, gauges and histograms that cost a worker nothing to share.
//
//   metrics::Counter hits = registry.counter("cache_hits_total", "Lookups found in memory");
//   metrics::Counter ok = registry.counter("http_requests_total", "Requests with a response",
//                                          {{"method", "GET"}, {"route", "/users/{id}"}, {"status_class", "2xx"}});
//   metrics::Histogram took = registry.histogram("lookup_seconds", "Time to answer", metrics::latency_seconds);
//   metrics::Histogram paid = registry.histogram("payment_seconds", "Time of a payment", {50_ms, 200_ms, 1_s, 5_s});
//   metrics::GaugeFunction entries = registry.gauge("cache_entries", "Held now", {}, [this] { return size(); });
//   ok.add();  took.observe(elapsed);  auto timer = took.time();
//
// Counter, Gauge and Histogram are small values, looked up once at set-up and copied freely. Recording changes the
// thread's own cells (observe/metric_cells.h); the cells of all threads are summed when the metrics are read.
//
// Errors:   a mistake in the set-up of a metric aborts with a message that names the metric. Mistakes are: a bad name;
//           a missing help sentence; a counter whose name does not end in _total; a histogram without bounds, with more
//           than Bounds::max, or with bounds that do not ascend; and a name that is registered already with another
//           kind, help, bounds or label names. Registering the same name and label values again returns the same
//           series.
// Lifetime: the registry outlives every use of a Counter, Gauge or Histogram, and every GaugeFunction.
// Threads:  recording on any; the registry's functions on any thread (they take a lock; do not use them on the request
//           path).
// Cost:     on a worker, a counter takes 0.5 ns and a histogram takes 5 ns; on a thread without cells, a counter takes
//           5 ns and a histogram takes 11 ns (metric_bench). A histogram with explicit bounds additionally costs a call
//           and a binary search, but has only one bucket for each bound instead of 145 buckets. With KEEL_BARE=1,
//           recording is compiled out.
// Source:   names and labels as in the Prometheus data model.

#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/host.h"
#include "keel/base/owned.h"
#include "keel/base/time.h"
#include "keel/observe/metric_cells.h"

namespace keel::metrics {

#ifdef KEEL_BARE
// False in a build with KEEL_BARE, which records nothing.
inline constexpr bool is_recorded = false;
#else
inline constexpr bool is_recorded = true;
#endif

// The name and the value of one label.
struct Label {
  std::string_view name, value;
};

// The labels of a series; a view, valid in the call that receives it.
class Labels {
 public:
  Labels() = default;
  Labels(std::initializer_list<Label> labels) noexcept : view_(labels.begin(), labels.size()) {}
  Labels(std::span<const Label> labels) noexcept : view_(labels) {}
  std::span<const Label> view() const noexcept { return view_; }

 private:
  std::span<const Label> view_;
};

namespace internal {

// Internally, a histogram with one of the usual bounds is log-linear: it has four buckets per power of two, so a
// quantile is accurate to 12.5 %. Bucket i holds the values above edge(i-1), up to and including edge(i); the last
// bucket holds values above 2^37.
inline constexpr std::uint32_t histogram_buckets = 145;

constexpr std::uint32_t bucket_of(std::uint64_t value) noexcept {
  if (value <= 4) return value == 0 ? 0 : static_cast<std::uint32_t>(value) - 1;
  const std::uint64_t v = value - 1;
  const auto power = static_cast<std::uint32_t>(std::bit_width(v)) - 1;
  // The second term contains the highest bit of v, which adds 4; therefore the first term multiplies power - 2, not
  // power - 1.
  const auto bucket = (power - 2) * 4 + static_cast<std::uint32_t>(v >> (power - 2));
  return bucket < histogram_buckets ? bucket : histogram_buckets - 1;
}
// The largest value of the bucket.
constexpr std::uint64_t edge_of(std::uint32_t bucket) noexcept {
  if (bucket < 4) return bucket + 1;
  const std::uint32_t power = bucket / 4 + 1;
  return (std::uint64_t{5} + bucket % 4) << (power - 2);
}

}  // namespace internal

// How a histogram is exported: cumulative buckets up to and including each bound, then +Inf. A Bounds is a value, and
// converts implicitly from a list, such as {1, 10, 100} for numbers, or {5_ms, 50_ms, 1_s} for durations, which are
// exported in seconds.
class Bounds {
 public:
  static constexpr std::size_t max = 32;

  Bounds() = default;
  constexpr Bounds(std::initializer_list<Duration> bounds) noexcept : units_(1e9) {
    for (const Duration bound : bounds) add(static_cast<std::uint64_t>(bound.count_ns()));
  }
  constexpr Bounds(std::initializer_list<std::uint64_t> bounds) noexcept {
    for (const std::uint64_t bound : bounds) add(bound);
  }
  // The bounds are powers of two, in the unit of the recorded values; one exported unit is `units` recorded units. The
  // internal buckets have edges at the bounds, so exported counts are exact although the histogram is log-linear.
  static constexpr Bounds log_linear(double units, std::initializer_list<std::uint8_t> powers) noexcept {
    Bounds made;
    for (const std::uint8_t power : powers) made.add(std::uint64_t{1} << power);
    made.units_ = units;
    made.is_log_linear_ = true;
    return made;
  }

  // The bounds are in the recorded unit: nanoseconds, or bytes.
  std::span<const std::uint64_t> edges() const noexcept { return {edges_, size_ < max ? size_ : max}; }
  // The number of bounds that were given; at most `max` of them are stored.
  std::size_t size() const noexcept { return size_; }
  double units() const noexcept { return units_; }
  bool is_log_linear() const noexcept { return is_log_linear_; }
  // The number of buckets of a histogram; the last bucket has the values above all bounds.
  std::uint32_t buckets() const noexcept {
    return is_log_linear_ ? internal::histogram_buckets : static_cast<std::uint32_t>(edges().size()) + 1;
  }
  std::uint32_t bucket_of(std::uint64_t value) const noexcept;
  bool operator==(const Bounds&) const = default;

 private:
  constexpr void add(std::uint64_t edge) noexcept {
    if (size_ < max) edges_[size_] = edge;
    ++size_;
  }
  std::uint64_t edges_[max] = {};
  std::size_t size_ = 0;
  double units_ = 1;
  bool is_log_linear_ = false;
};

// Bounds from 4 us to 8.6 s; between 65 us and 17 ms, each bound is twice the one before it.
inline constexpr Bounds latency_seconds =
    Bounds::log_linear(1e9, {12, 14, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 30, 33});
// 64 B to 1 GiB.
inline constexpr Bounds size_bytes = Bounds::log_linear(1, {6, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 22, 24, 27, 30});

namespace internal {

// The form of a histogram, if it differs from the usual form, which is log-linear and records each observation.
struct HistogramForm {
  std::uint32_t every = 1;  // One of `every` observations is recorded, and counts `every` times.
  Bounds bounds;
};
void observe(const HistogramForm& form, std::uint32_t first_cell, std::uint64_t value) noexcept;

// Returns true with the probability 1 / `every`.
bool is_sampled(std::uint32_t every) noexcept;

}  // namespace internal

class Counter {
 public:
  void add(std::uint64_t n = 1) const noexcept {
    if constexpr (is_recorded) internal::add(cell_, n);
  }
  // The sum over all threads. Takes a lock; for tests and pages.
  std::uint64_t value() const noexcept { return internal::read_cell(cell_); }

 private:
  friend class Registry;
  explicit Counter(std::uint32_t cell) noexcept : cell_(cell) {}
  std::uint32_t cell_;
};

// A value that goes up and down, shared by all threads; use it for values that change rarely. Use a GaugeFunction for
// values that change with every request.
class Gauge {
 public:
  void set(double value) const noexcept {
    if constexpr (is_recorded) value_->store(value, std::memory_order_relaxed);
  }
  void add(double by) const noexcept {
    if constexpr (is_recorded) value_->fetch_add(by, std::memory_order_relaxed);
  }
  double value() const noexcept { return value_->load(std::memory_order_relaxed); }

 private:
  friend class Registry;
  explicit Gauge(std::atomic<double>* value) noexcept : value_(value) {}
  std::atomic<double>* value_;
};

class Histogram {
 public:
  class [[nodiscard]] Timer;

  // `value` is in the recorded unit: nanoseconds for durations, bytes for size_bytes.
  [[gnu::always_inline]] void observe(std::uint64_t value) const noexcept {
    if constexpr (is_recorded) {
      if (form_ != nullptr) [[unlikely]]
        return internal::observe(*form_, first_cell_, value);
      internal::add_two(first_cell_ + internal::bucket_of(value), 1, first_cell_ + internal::histogram_buckets, value);
    }
  }
  [[gnu::always_inline]] void observe(Duration value) const noexcept {
    observe(static_cast<std::uint64_t>(value.count_ns() < 0 ? 0 : value.count_ns()));
  }
  // Measures the time until the Timer is destroyed, and records it. A Timer in a local variable measures its block,
  // including the awaits in the block.
  //   auto timing = lookup_seconds.time();
  // The Timer reads the current Host's clock twice (some 20 ns each on a worker); in a simulation the time is virtual.
  Timer time() const noexcept;

  std::uint64_t count() const noexcept;
  std::uint64_t sum() const noexcept;
  // The value that the share `q` (0 to 1) of the observations does not exceed; the result may be up to 12.5 % too high,
  // and is 0 if there are no observations. In a histogram with explicit bounds, the result is the lowest bound that the
  // share `q` of the observations does not exceed, or the last bound if there is no such bound.
  std::uint64_t quantile(double q) const noexcept;

 private:
  friend class Registry;
  Histogram(std::uint32_t first_cell, const internal::HistogramForm* form) noexcept
      : first_cell_(first_cell), form_(form) {}
  std::uint32_t buckets() const noexcept {
    return form_ != nullptr ? form_->bounds.buckets() : internal::histogram_buckets;
  }
  std::uint32_t first_cell_;
  const internal::HistogramForm* form_;  // Owned by the registry; null: the default buckets.
};

class Histogram::Timer {
 public:
  explicit Timer(Histogram histogram) noexcept : histogram_(histogram), began_(Host::current().precise_now()) {}
  ~Timer() {
    if (!is_dropped_) histogram_.observe(elapsed());
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  Duration elapsed() const noexcept { return Host::current().precise_now() - began_; }
  // Discards the observation: the measured work did not complete, or does not belong in the histogram.
  void drop() noexcept { is_dropped_ = true; }

 private:
  Histogram histogram_;
  bool is_dropped_ = false;
  Instant began_;
};

inline Histogram::Timer Histogram::time() const noexcept { return Timer(*this); }

class Registry;

// A registered function. Destroying this handle removes the function, after waiting for a call in progress. Movable.
// Any thread.
class [[nodiscard]] GaugeFunction {
 public:
  GaugeFunction() = default;
  GaugeFunction(GaugeFunction&& other) noexcept : registry_(std::exchange(other.registry_, nullptr)), id_(other.id_) {}
  GaugeFunction& operator=(GaugeFunction&& other) noexcept;
  ~GaugeFunction() { end(); }

 private:
  friend class Registry;
  GaugeFunction(Registry* registry, std::uint64_t id) noexcept : registry_(registry), id_(id) {}
  void end() noexcept;
  Registry* registry_ = nullptr;
  std::uint64_t id_ = 0;
};

// The kinds of metrics.
enum class Kind : std::uint8_t { Counter, Gauge, Histogram };

// The thread on which a function is called.
enum class Calls : std::uint8_t {
  OnReader,  // The function is called on the thread that reads the metrics, and must be safe to call on that thread.
  // The function is called only on the thread that registered it, when that thread calls Registry::sample(); readers
  // see the last result.
  OnThisThread,
};

// Options of a Registry.
struct RegistryOptions {
  // Fraction of histogram observations that are recorded, 0 < rate <= 1; each recorded observation counts 1/rate times
  // (rounded to a whole number). Counters are exact.
  double sample_rate = 1;
};

// The content of a Registry, as exporters see it. Addresses stay valid until the registry's version() changes.
struct Series {
  std::vector<std::string> label_values;
  // The cell of a counter, or the first bucket of a histogram; the buckets of a histogram are followed by its sum.
  std::uint32_t cell = 0;
  std::atomic<double>* value = nullptr;  // The value of a gauge.
  bool has_function = false;             // True: the series has functions instead of a cell.
  std::uint32_t functions = 0;           // The number of functions (0: the series currently has no value).
  double function_value = 0;             // The sum of the functions at this reading.
};
// A metric with all of its series.
struct Family {
  std::string name, help;
  Kind kind;
  Bounds bounds;
  std::vector<std::string> label_names;
  std::vector<Series> series;
};

// The cells of a registry at one time, in a flat array that is reused.
class Reading {
 public:
  std::uint64_t cell(std::uint32_t index) const noexcept {
    return cells_[std::size_t{slots_[index / internal::chunk_cells]} * internal::chunk_cells +
                  index % internal::chunk_cells];
  }

 private:
  friend class Registry;
  std::vector<std::uint64_t> cells_;
  std::vector<std::uint32_t> slots_;  // The place of each chunk in cells_.
};

// Holds the metrics of a process.
class Registry {
 public:
  explicit Registry(RegistryOptions options = {});
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  Counter counter(std::string_view name, std::string_view help, Labels labels = {});
  Gauge gauge(std::string_view name, std::string_view help, Labels labels = {});
  Histogram histogram(std::string_view name, std::string_view help, const Bounds& bounds, Labels labels = {});

  // A value that a function computes on demand. Several functions of one series (one per worker) are summed. `f` must
  // not use the registry. counter() is for totals that are kept elsewhere, in any unit, and that only grow.
  GaugeFunction gauge(std::string_view name, std::string_view help, Labels labels, Function<double()> f,
                      Calls calls = Calls::OnReader);
  GaugeFunction counter(std::string_view name, std::string_view help, Labels labels, Function<double()> f,
                        Calls calls = Calls::OnReader);

  // Calls the functions that this thread registered with OnThisThread, and stores the results for readers.
  void sample();

  // The version changes whenever a family or series is added.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  // Takes a reading, and passes every family to `f`, in the order of registration. The whole call is under one lock. A
  // value that is recorded during the call may or may not be in the reading; no counter decreases from one reading to
  // the next.
  void read(Reading& reading, FunctionRef<void(std::span<const Family>)> f);

 private:
  friend class GaugeFunction;
  struct State;
  GaugeFunction add_function(Kind kind, std::string_view name, std::string_view help, Labels labels,
                             Function<double()> f, Calls calls);
  void remove_function(std::uint64_t id) noexcept;

  std::atomic<std::uint64_t> version_ = 0;
  std::uint32_t every_;
  Owned<State> state_;
};

}  // namespace keel::metrics
