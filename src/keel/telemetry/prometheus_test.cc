#include "keel/telemetry/prometheus.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "keel/base/host.h"
#include "keel/base/sanitizers.h"
#include "keel/telemetry/process.h"

namespace keel::telemetry::prometheus_test {
namespace {

#define SKIP_WITHOUT_METRICS() \
  if (!metrics::is_recorded) GTEST_SKIP() << "compiled out"

// Reads text format 0.0.4 strictly: what is not certainly right is an error. Empty when all is well.
class Checker {
 public:
  std::string check(std::string_view text) {
    if (!text.empty() && text.back() != '\n') return "the last line ends";
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      line_ = text.substr(0, end);
      text.remove_prefix(end + 1);
      if (std::string problem = line_.starts_with('#') ? comment() : sample(); !problem.empty()) {
        return problem + ": " + std::string(line_);
      }
    }
    return finish_family();
  }
  std::map<std::string, double> samples;  // By name{labels}.

 private:
  static bool is_first(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':'; }
  static bool is_rest(char c) { return is_first(c) || (c >= '0' && c <= '9'); }
  std::string_view name() {
    std::size_t n = 0;
    while (n < rest_.size() && (n == 0 ? is_first(rest_[n]) : is_rest(rest_[n]))) ++n;
    const std::string_view found = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return found;
  }
  bool take(std::string_view what) {
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }
  std::string comment() {
    rest_ = line_;
    const bool help = take("# HELP ");
    if (!help && !take("# TYPE ")) return "a comment is HELP or TYPE";
    const std::string_view family = name();
    if (family.empty() || !take(" ")) return "a comment names its family";
    if (help) {
      if (std::string problem = finish_family(); !problem.empty()) return problem;
      if (!families_.insert(std::string(family)).second) return "a family comes once";
      family_ = family;
      type_.clear();
      if (rest_.empty()) return "help is a sentence";
      for (std::size_t i = 0; i < rest_.size(); ++i) {
        if (rest_[i] == '\\' && ++i < rest_.size() && rest_[i] != '\\' && rest_[i] != 'n') return "escape in help";
      }
    } else {
      if (family != family_ || !type_.empty()) return "TYPE follows HELP of the same family, once";
      type_ = rest_;
      if (type_ != "counter" && type_ != "gauge" && type_ != "histogram") return "a known type";
    }
    return "";
  }
  std::string sample() {
    rest_ = line_;
    const std::string_view metric = name();
    if (!metric.starts_with(family_) || family_.empty() || type_.empty()) return "a sample follows its family";
    const std::string_view suffix = metric.substr(family_.size());
    std::string le;
    std::string others;
    std::set<std::string> seen;
    if (take("{")) {
      do {
        const std::string label(name());
        if (label.empty() || label.find(':') != std::string::npos || !take("=\"")) return "a label has a name";
        if (!seen.insert(label).second) return "a label comes once";
        std::string value;
        while (!rest_.empty() && rest_[0] != '"') {
          if (rest_[0] == '\\') {
            rest_.remove_prefix(1);
            if (rest_.empty() || (rest_[0] != '\\' && rest_[0] != '"' && rest_[0] != 'n')) return "a known escape";
            value += rest_[0] == 'n' ? '\n' : rest_[0];
          } else {
            value += rest_[0];
          }
          rest_.remove_prefix(1);
        }
        if (!take("\"")) return "a label value ends";
        if (label == "le") {
          le = value;
        } else {
          others += label + "=" + value + ";";
        }
      } while (take(","));
      if (!take("}")) return "the labels end";
    }
    if (!take(" ")) return "a space before the value";
    const std::string number(rest_);
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || number[0] == ' ') return "a number and nothing behind it";
    if (!samples.emplace(std::string(metric) + "{" + others + (le.empty() ? "" : "le=" + le) + "}", value).second) {
      return "a series comes once";
    }
    if (type_ != "histogram") {
      if (!suffix.empty() || !le.empty()) return "counters and gauges have no suffix";
      if (type_ == "counter" && (value < 0 || !metric.ends_with("_total")))
        return "a counter is _total and not negative";
      return "";
    }
    if (suffix == "_bucket") {
      const double bound = le == "+Inf" ? INFINITY : std::strtod(le.c_str(), nullptr);
      if (others != histogram_) {
        if (std::string problem = finish_histogram(); !problem.empty()) return problem;
        histogram_ = others;
        last_bound_ = -INFINITY;
        last_count_ = 0;
        buckets_ = 0;
      }
      if (!(bound > last_bound_) || value < last_count_) return "bounds and counts grow";
      last_bound_ = bound;
      last_count_ = value;
      return ++buckets_ <= 16 ? "" : "at most 16 buckets";
    }
    if (others != histogram_) return "sum and count belong to the buckets before";
    if (suffix == "_count") {
      has_count_ = true;
      return value == last_count_ && std::isinf(last_bound_) ? "" : "the count is the +Inf bucket";
    }
    return suffix == "_sum" ? "" : "a histogram has buckets, a sum and a count";
  }
  std::string finish_histogram() {
    const bool complete = histogram_ == none || has_count_;
    has_count_ = false;
    return complete ? "" : "a histogram has a count";
  }
  std::string finish_family() {
    std::string problem = finish_histogram();
    histogram_ = none;
    return problem;
  }

  static constexpr std::string_view none = "\n";
  std::string_view line_, rest_;
  std::set<std::string> families_;
  std::string family_, type_;
  std::string histogram_{none};  // Labels of the histogram that is being read.
  double last_bound_ = 0;
  double last_count_ = 0;
  int buckets_ = 0;
  bool has_count_ = false;
};

std::string render(Prometheus& exporter) {
  Buffer out;
  exporter.render(out);
  return std::string(out.view());
}

TEST(Prometheus, renders_text_that_is_this) {
  SKIP_WITHOUT_METRICS();
  metrics::Registry registry;
  registry.counter("hits_total", "Lookups\nanswered by C:\\cache", {{"path", "a\"b\\c\nd"}, {"x", ""}}).add(3);
  registry.gauge("temperature", "Degrees").set(-1.5);
  metrics::GaugeFunction entries = registry.gauge("entries", "Entries held", {}, [] { return 1e20; });
  registry.gauge("odd", "Odd", {{"n", "nan"}}).set(NAN);
  registry.gauge("odd", "Odd", {{"n", "inf"}}).set(-INFINITY);
  Prometheus exporter(registry);

  EXPECT_EQ(render(exporter),
            "# HELP hits_total Lookups\\nanswered by C:\\\\cache\n# TYPE hits_total counter\n"
            "hits_total{path=\"a\\\"b\\\\c\\nd\",x=\"\"} 3\n"
            "# HELP temperature Degrees\n# TYPE temperature gauge\ntemperature -1.5\n"
            "# HELP entries Entries held\n# TYPE entries gauge\nentries 1e+20\n"
            "# HELP odd Odd\n# TYPE odd gauge\nodd{n=\"nan\"} NaN\nodd{n=\"inf\"} -Inf\n");
}

TEST(Prometheus, renders_open_metrics_for_those_who_ask) {
  SKIP_WITHOUT_METRICS();
  metrics::Registry registry;
  registry.counter("hits_total", "The \"hits\"", {{"path", "a"}}).add(3);
  registry.gauge("temperature", "Degrees").set(-1.5);
  Prometheus exporter(registry);
  Buffer out;
  exporter.render(out, Prometheus::Format::OpenMetrics);

  EXPECT_EQ(out.view(),
            "# HELP hits The \\\"hits\\\"\n# TYPE hits counter\nhits_total{path=\"a\"} 3\n"
            "# HELP temperature Degrees\n# TYPE temperature gauge\ntemperature -1.5\n# EOF\n");
  EXPECT_EQ(render(exporter),
            "# HELP hits_total The \"hits\"\n# TYPE hits_total counter\nhits_total{path=\"a\"} 3\n"
            "# HELP temperature Degrees\n# TYPE temperature gauge\ntemperature -1.5\n");
}

TEST(Prometheus, takes_its_format_from_the_accept_field) {
  using enum Prometheus::Format;
  // What Prometheus 2.42 sends.
  EXPECT_EQ(
      Prometheus::format_for("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
                             "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
      OpenMetrics);
  EXPECT_EQ(Prometheus::format_for("text/plain, Application/OpenMetrics-Text"), OpenMetrics);
  for (const char* accept :
       {"", "*/*", "text/plain;version=0.0.4", "text/html,application/*", "application/openmetrics-textual",
        "application/openmetrics-text;q=0", "application/openmetrics-text;q=0.5, text/plain"}) {
    EXPECT_EQ(Prometheus::format_for(accept), Text) << accept;
  }
  EXPECT_NE(Prometheus::content_type(OpenMetrics), Prometheus::content_type(Text));
}

TEST(Prometheus, renders_histograms_with_exact_cumulative_buckets) {
  SKIP_WITHOUT_METRICS();
  metrics::Registry registry;
  const metrics::Histogram took =
      registry.histogram("took_seconds", "Took", metrics::latency_seconds, {{"route", "/x"}});
  took.observe(std::uint64_t{1} << 20);        // On the bound: within it.
  took.observe((std::uint64_t{1} << 20) + 1);  // Above it.
  took.observe(Duration::seconds(100));
  Prometheus exporter(registry);
  Checker checker;

  EXPECT_EQ(checker.check(render(exporter)), "");
  EXPECT_EQ(checker.samples["took_seconds_bucket{route=/x;le=0.000524288}"], 0);
  EXPECT_EQ(checker.samples["took_seconds_bucket{route=/x;le=0.001048576}"], 1);
  EXPECT_EQ(checker.samples["took_seconds_bucket{route=/x;le=0.002097152}"], 2);
  EXPECT_EQ(checker.samples["took_seconds_bucket{route=/x;le=8.589934592}"], 2);
  EXPECT_EQ(checker.samples["took_seconds_bucket{route=/x;le=+Inf}"], 3);
  EXPECT_EQ(checker.samples["took_seconds_count{route=/x;}"], 3);
  EXPECT_NEAR(checker.samples["took_seconds_sum{route=/x;}"], 100.002097, 1e-6);
}

TEST(Prometheus, renders_the_bounds_that_the_author_chose) {
  SKIP_WITHOUT_METRICS();
  metrics::Registry registry;
  const metrics::Histogram paid = registry.histogram("payment_seconds", "Time of a payment", {5_ms, 100_ms, 2_s});
  const metrics::Histogram items = registry.histogram("order_items", "Items of an order", {0, 1, 10});
  for (const Duration each : {5_ms, 6_ms, 3_s}) paid.observe(each);
  for (const std::uint64_t each : {0, 1, 10, 11}) items.observe(each);
  Prometheus exporter(registry);

  EXPECT_EQ(render(exporter),
            "# HELP payment_seconds Time of a payment\n"
            "# TYPE payment_seconds histogram\n"
            "payment_seconds_bucket{le=\"0.005\"} 1\n"
            "payment_seconds_bucket{le=\"0.1\"} 2\n"
            "payment_seconds_bucket{le=\"2\"} 2\n"
            "payment_seconds_bucket{le=\"+Inf\"} 3\n"
            "payment_seconds_sum 3.011\n"
            "payment_seconds_count 3\n"
            "# HELP order_items Items of an order\n"
            "# TYPE order_items histogram\n"
            "order_items_bucket{le=\"0\"} 1\n"
            "order_items_bucket{le=\"1\"} 2\n"
            "order_items_bucket{le=\"10\"} 3\n"
            "order_items_bucket{le=\"+Inf\"} 4\n"
            "order_items_sum 22\n"
            "order_items_count 4\n");
}

TEST(Prometheus, sees_series_that_come_later_and_functions_that_end) {
  SKIP_WITHOUT_METRICS();
  metrics::Registry registry;
  Prometheus exporter(registry);
  EXPECT_EQ(render(exporter), "");
  registry.counter("a_total", "A", {{"x", "1"}}).add();
  EXPECT_NE(render(exporter).find("a_total{x=\"1\"} 1\n"), std::string::npos);
  registry.counter("a_total", "A", {{"x", "2"}}).add(2);
  {
    metrics::GaugeFunction f = registry.gauge("g", "G", {}, [] { return 5.0; });
    const std::string text = render(exporter);
    EXPECT_NE(text.find("a_total{x=\"2\"} 2\n"), std::string::npos);
    EXPECT_NE(text.find("\ng 5\n"), std::string::npos);
  }
  EXPECT_EQ(render(exporter).find("\ng 5\n"), std::string::npos);
}

void fill(metrics::Registry& registry) {
  for (const char* method : {"GET", "POST"}) {
    for (const char* status : {"2xx", "4xx", "5xx"}) {
      registry
          .counter("http_requests_total", "Requests with a response",
                   {{"method", method}, {"route", "/users/{id}"}, {"status_class", status}})
          .add(7);
    }
    const metrics::Histogram took =
        registry.histogram("http_request_seconds", "Time to answer", metrics::latency_seconds, {{"method", method}});
    for (std::uint64_t ns = 1; ns < 1'000'000'000'000; ns *= 3) took.observe(ns);
  }
  const metrics::Histogram size = registry.histogram("body_bytes", "Size of bodies", metrics::size_bytes);
  size.observe(std::uint64_t{0});
  size.observe(std::uint64_t{100'000});
  registry.gauge("weird", "Weird \\ \n help", {{"value", "a\\b\"c\nd \xe2\x82\xac"}}).set(1e-9);
}

TEST(Prometheus, passes_a_strict_check) {
  metrics::Registry registry;
  fill(registry);
  ProcessMetrics process(registry);
  Prometheus exporter(registry);
  EXPECT_EQ(Checker().check(render(exporter)), "");
}

TEST(Prometheus, passes_promtool_where_it_is_installed) {
  if (std::system("promtool --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "promtool is not installed";
  metrics::Registry registry;
  fill(registry);
  ProcessMetrics process(registry);
  Prometheus exporter(registry);
  FILE* const promtool = ::popen("promtool check metrics", "w");
  ASSERT_NE(promtool, nullptr);
  const std::string text = render(exporter);
  ASSERT_EQ(std::fwrite(text.data(), 1, text.size(), promtool), text.size());
  EXPECT_EQ(::pclose(promtool), 0);
}

TEST(Prometheus, renders_a_hundred_thousand_series_quickly) {
  metrics::Registry registry;
  constexpr int series = KEEL_SANITIZED ? 10'000 : 100'000;
  for (int i = 0; i < series; ++i) {
    registry.counter("many_total", "Many", {{"route", "/api/things/" + std::to_string(i)}}).add(std::uint64_t(i));
  }
  Prometheus exporter(registry);
  Buffer out;
  const Instant first = Host::system().now();
  exporter.render(out);
  const Instant second = Host::system().now();
  out.clear();
  exporter.render(out);
  const Duration again = Host::system().now() - second;
  std::printf("%d series, %zu bytes: first %.1f ms, then %.1f ms\n", series, out.size(),
              (second - first).count_seconds() * 1e3, again.count_seconds() * 1e3);
  EXPECT_EQ(Checker().check(out.view()), "");
  EXPECT_LT(again, 1_s);
}

}  // namespace
}  // namespace keel::telemetry::prometheus_test
