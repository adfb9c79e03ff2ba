#include "keel/observe/metric.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "keel/base/ascii.h"
#include "keel/base/bug.h"
#include "keel/base/check.h"

namespace keel::metrics {
namespace {

// The address of this variable distinguishes threads.
constinit thread_local char thread_mark = 0;
constinit thread_local std::uint64_t sampling_state = 0;

[[noreturn]] void refuse(std::string_view name, std::string_view sentence) {
  std::string text = "metric \"";
  text.append(name).append("\": ").append(sentence);
  // Throws instead of ending the process: a handler may register a metric, and a mistake must then fail only the
  // handler's request.
  throw_bug(text, std::source_location::current());
}

bool is_name(std::string_view text, bool colons) {
  if (text.empty() || ascii::is_digit(text[0])) return false;
  return std::all_of(text.begin(), text.end(),
                     [colons](char c) { return ascii::is_alphanumeric(c) || c == '_' || (colons && c == ':'); });
}

void check_bounds(std::string_view name, const Bounds& bounds) {
  const std::span<const std::uint64_t> edges = bounds.edges();
  if (edges.empty()) refuse(name, "a histogram needs bounds");
  if (bounds.size() > Bounds::max) refuse(name, "a histogram must have at most 32 bounds");
  static_assert(Bounds::max == 32, "the message above must name the maximum");
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (edges[i] > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      refuse(name, "a bound must not be negative");
    if (i > 0 && edges[i] <= edges[i - 1]) refuse(name, "the bounds must ascend");
  }
}

void check_names(Kind kind, std::string_view name, std::string_view help, Labels labels) {
  if (!is_name(name, true)) refuse(name, "a name must match [a-zA-Z_:][a-zA-Z0-9_:]*");
  if (help.empty()) refuse(name, "a metric needs a help sentence");
  if ((kind == Kind::Counter) != name.ends_with("_total"))
    refuse(name, "the name of a counter must end in _total, and the name of any other metric must not");
  const std::span<const Label> list = labels.view();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string_view label = list[i].name;
    if (!is_name(label, false) || label.starts_with("__")) {
      refuse(name, "a label name must match [a-zA-Z_][a-zA-Z0-9_]* and must not begin with __");
    }
    if (kind == Kind::Histogram && label == "le")
      refuse(name, "a histogram cannot have the label le, which names the bounds of its buckets");
    for (std::size_t j = 0; j < i; ++j) {
      if (list[j].name == label) refuse(name, "a label can be given only once");
    }
  }
}

std::string key_of(std::string_view name, Labels labels) {
  std::string key(name);
  for (const Label& label : labels.view()) {
    key.push_back('\0');
    key += std::to_string(label.value.size());
    key.push_back(':');
    key += label.value;
  }
  return key;
}

}  // namespace

namespace internal {

bool is_sampled(std::uint32_t every) noexcept {
  if (sampling_state == 0) sampling_state = Host::current().random() | 1;
  sampling_state = sampling_state * 6364136223846793005u + 1442695040888963407u;
  return ((sampling_state >> 32) * every) >> 32 == 0;
}

void observe(const HistogramForm& form, std::uint32_t first_cell, std::uint64_t value) noexcept {
  if (form.every != 1 && !is_sampled(form.every)) return;
  const std::uint32_t bucket = form.bounds.bucket_of(value);
  add_two(first_cell + bucket, form.every, first_cell + form.bounds.buckets(), value * form.every);
}

}  // namespace internal

std::uint32_t Bounds::bucket_of(std::uint64_t value) const noexcept {
  if (is_log_linear_) return internal::bucket_of(value);
  const auto all = edges();
  return static_cast<std::uint32_t>(std::lower_bound(all.begin(), all.end(), value) - all.begin());
}

std::uint64_t Histogram::count() const noexcept {
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < buckets(); ++i) total += internal::read_cell(first_cell_ + i);
  return total;
}

std::uint64_t Histogram::sum() const noexcept { return internal::read_cell(first_cell_ + buckets()); }

std::uint64_t Histogram::quantile(double q) const noexcept {
  std::uint64_t counts[internal::histogram_buckets];  // No histogram has more buckets than this array.
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < buckets(); ++i) {
    counts[i] = internal::read_cell(first_cell_ + i);
    total += counts[i];
  }
  if (total == 0) return 0;
  const auto rank = static_cast<std::uint64_t>(std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(total)));
  std::uint64_t seen = 0;
  std::uint32_t bucket = 0;
  while ((seen += counts[bucket]) < std::max<std::uint64_t>(rank, 1)) ++bucket;
  if (form_ == nullptr || form_->bounds.is_log_linear()) return internal::edge_of(bucket);
  const std::span<const std::uint64_t> edges = form_->bounds.edges();
  return edges[std::min<std::size_t>(bucket, edges.size() - 1)];
}
static_assert(Bounds::max < internal::histogram_buckets,
              "quantile() must have room for the buckets of the largest histogram");

struct Registered {
  std::uint64_t id;
  std::size_t family, series;
  Function<double()> call;
  const char* thread;  // The thread that calls the functions; null: any thread.
  double last = 0;     // The latest result of `call`; readers see this value.
};

struct Registry::State {
  std::mutex mutex;
  std::vector<Family> families;
  std::unordered_map<std::string, std::size_t> family_by_name;
  std::unordered_map<std::string, std::size_t> series_by_key;
  std::deque<std::atomic<double>> gauges;
  std::deque<internal::HistogramForm> forms;
  std::vector<Registered> functions;
  std::uint64_t next_id = 1;
  std::vector<std::uint32_t> chunks;
  std::uint32_t cells_used = internal::chunk_cells;  // The number of cells of the last chunk that are in use.

  Family& family(Kind kind, std::string_view name, std::string_view help, const Bounds& bounds, Labels labels) {
    check_names(kind, name, help, labels);
    const auto [at, is_new] = family_by_name.try_emplace(std::string(name), families.size());
    if (is_new) {
      Family made{std::string(name), std::string(help), kind, bounds, {}, {}};
      for (const Label& label : labels.view()) made.label_names.emplace_back(label.name);
      families.push_back(std::move(made));
      return families.back();
    }
    Family& found = families[at->second];
    if (found.kind != kind) refuse(name, "it is already registered as another kind of metric");
    if (found.help != help) refuse(name, "it is already registered with another help sentence");
    if (!(found.bounds == bounds)) refuse(name, "it is already registered with other bounds");
    const bool same_labels =
        std::equal(found.label_names.begin(), found.label_names.end(), labels.view().begin(), labels.view().end(),
                   [](const std::string& a, const Label& b) { return a == b.name; });
    if (!same_labels)
      refuse(name, "it is already registered with other label names, or with the same names in another order");
    return found;
  }
  // Returns null for a histogram of the usual form.
  const internal::HistogramForm* form(std::uint32_t every, const Bounds& bounds) {
    if (every == 1 && bounds.is_log_linear()) return nullptr;
    const auto found =
        std::find_if(forms.begin(), forms.end(), [&](const auto& form) { return form.bounds == bounds; });
    return found != forms.end() ? &*found : &forms.emplace_back(every, bounds);
  }
  // Returns the series, and whether this call has made it.
  std::pair<Series*, bool> series(Family& in, std::string_view name, Labels labels, bool has_function) {
    const auto [at, is_new] = series_by_key.try_emplace(key_of(name, labels), in.series.size());
    if (!is_new) {
      Series& found = in.series[at->second];
      if (found.has_function != has_function)
        refuse(name, "this series is already registered: a series cannot have both a value and a function");
      return {&found, false};
    }
    Series& made = in.series.emplace_back();
    for (const Label& label : labels.view()) made.label_values.emplace_back(label.value);
    made.has_function = has_function;
    return {&made, true};
  }
  std::uint32_t make_cells(std::uint32_t count) {
    if (internal::chunk_cells - cells_used < count) {
      chunks.push_back(internal::make_chunk());
      cells_used = 0;
    }
    cells_used += count;
    return chunks.back() * internal::chunk_cells + cells_used - count;
  }
};

Registry::Registry(RegistryOptions options) : state_(Owned<State>::make()) {
  KEEL_CHECK(options.sample_rate > 0 && options.sample_rate <= 1, "a sample rate must be above 0 and at most 1");
  every_ = static_cast<std::uint32_t>(std::lround(std::min(1 / options.sample_rate, 1e6)));
}

Registry::~Registry() {
  KEEL_CHECK(state_->functions.empty(), "a registry must outlive its functions");
  for (const std::uint32_t chunk : state_->chunks) internal::free_chunk(chunk);
}

Counter Registry::counter(std::string_view name, std::string_view help, Labels labels) {
  std::lock_guard lock(state_->mutex);
  Family& family = state_->family(Kind::Counter, name, help, {}, labels);
  const auto [series, is_new] = state_->series(family, name, labels, false);
  if (is_new) {
    series->cell = state_->make_cells(1);
    version_.fetch_add(1, std::memory_order_release);
  }
  return Counter(series->cell);
}

Gauge Registry::gauge(std::string_view name, std::string_view help, Labels labels) {
  std::lock_guard lock(state_->mutex);
  Family& family = state_->family(Kind::Gauge, name, help, {}, labels);
  const auto [series, is_new] = state_->series(family, name, labels, false);
  if (is_new) {
    series->value = &state_->gauges.emplace_back(0);
    version_.fetch_add(1, std::memory_order_release);
  }
  return Gauge(series->value);
}

Histogram Registry::histogram(std::string_view name, std::string_view help, const Bounds& bounds, Labels labels) {
  check_bounds(name, bounds);
  std::lock_guard lock(state_->mutex);
  Family& family = state_->family(Kind::Histogram, name, help, bounds, labels);
  const auto [series, is_new] = state_->series(family, name, labels, false);
  if (is_new) {
    series->cell = state_->make_cells(bounds.buckets() + 1);
    version_.fetch_add(1, std::memory_order_release);
  }
  return Histogram(series->cell, state_->form(every_, bounds));
}

GaugeFunction Registry::gauge(std::string_view name, std::string_view help, Labels labels, Function<double()> f,
                              Calls calls) {
  return add_function(Kind::Gauge, name, help, labels, std::move(f), calls);
}

GaugeFunction Registry::counter(std::string_view name, std::string_view help, Labels labels, Function<double()> f,
                                Calls calls) {
  return add_function(Kind::Counter, name, help, labels, std::move(f), calls);
}

GaugeFunction Registry::add_function(Kind kind, std::string_view name, std::string_view help, Labels labels,
                                     Function<double()> f, Calls calls) {
  std::lock_guard lock(state_->mutex);
  Family& family = state_->family(kind, name, help, {}, labels);
  const auto [series, is_new] = state_->series(family, name, labels, true);
  if (is_new) version_.fetch_add(1, std::memory_order_release);
  ++series->functions;
  const std::uint64_t id = state_->next_id++;
  state_->functions.push_back({id, static_cast<std::size_t>(&family - state_->families.data()),
                               static_cast<std::size_t>(series - family.series.data()), std::move(f),
                               calls == Calls::OnThisThread ? &thread_mark : nullptr});
  return GaugeFunction(this, id);
}

void Registry::remove_function(std::uint64_t id) noexcept {
  std::lock_guard lock(state_->mutex);
  std::erase_if(state_->functions, [this, id](const Registered& function) {
    if (function.id != id) return false;
    --state_->families[function.family].series[function.series].functions;
    return true;
  });
}

GaugeFunction& GaugeFunction::operator=(GaugeFunction&& other) noexcept {
  if (this != &other) {
    end();
    registry_ = std::exchange(other.registry_, nullptr);
    id_ = other.id_;
  }
  return *this;
}

void GaugeFunction::end() noexcept {
  if (registry_ != nullptr) std::exchange(registry_, nullptr)->remove_function(id_);
}

void Registry::sample() {
  std::lock_guard lock(state_->mutex);
  for (Registered& function : state_->functions) {
    if (function.thread == &thread_mark) function.last = function.call();
  }
}

void Registry::read(Reading& reading, FunctionRef<void(std::span<const Family>)> f) {
  std::lock_guard lock(state_->mutex);
  reading.cells_.resize(state_->chunks.size() * internal::chunk_cells);
  for (std::uint32_t slot = 0; slot < state_->chunks.size(); ++slot) {
    const std::uint32_t chunk = state_->chunks[slot];
    if (reading.slots_.size() <= chunk) reading.slots_.resize(chunk + 1);
    reading.slots_[chunk] = slot;
    internal::read_chunk(
        chunk, std::span(reading.cells_).subspan(std::size_t{slot} * internal::chunk_cells, internal::chunk_cells));
  }
  for (const Registered& function : state_->functions) {
    state_->families[function.family].series[function.series].function_value = 0;
  }
  for (Registered& function : state_->functions) {
    if (function.thread == nullptr) function.last = function.call();
    state_->families[function.family].series[function.series].function_value += function.last;
  }
  f(state_->families);
}

}  // namespace keel::metrics
