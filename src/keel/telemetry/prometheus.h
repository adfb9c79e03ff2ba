// keel/telemetry/prometheus.h — a registry as the text that Prometheus reads.
//
//   telemetry::Prometheus exporter(registry);
//   const auto format = telemetry::Prometheus::format_for(request.header(http::Known::Accept).value_or(""));
//   exporter.render(body, format);          // Content-Type: Prometheus::content_type(format)
//
// Everything except the numbers is prepared once and kept until a series is added.
//
// Threads:  any; concurrent calls wait for each other. During a call of render(), the registry accepts no new series.
// Lifetime: the registry outlives the exporter.
// Cost:     about 10 ns per line; about 100 ns per line in the first call after series were added. To refresh the
//           values of functions that are tied to workers, call registry.sample() on each worker first.
// Source:   Prometheus text exposition format 0.0.4; OpenMetrics 1.0.

#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/observe/metric.h"

namespace keel::telemetry {

class Prometheus {
 public:
  enum class Format : std::uint8_t {
    Text,
    OpenMetrics
  };  // The formats differ in the names of counter families and in the end of the text.
  static constexpr std::string_view content_type(Format format = Format::Text) noexcept {
    return format == Format::Text ? "text/plain; version=0.0.4; charset=utf-8"
                                  : "application/openmetrics-text; version=1.0.0; charset=utf-8";
  }
  // Returns OpenMetrics if the Accept field names OpenMetrics and prefers no other type, as the field that Prometheus
  // sends does; otherwise returns Text.
  static Format format_for(std::string_view accept) noexcept;

  explicit Prometheus(metrics::Registry& registry) noexcept : registry_(registry) {}

  // Appends all series, by family in order of registration.
  void render(Buffer& out, Format format = Format::Text);

 private:
  void prepare(std::span<const metrics::Family> families);

  metrics::Registry& registry_;
  std::mutex mutex_;
  metrics::Reading reading_;
  std::uint64_t prepared_version_ = ~std::uint64_t{0};
  // Constant parts of the output, "# HELP …" and `name{label="value"} `, in the order of use.
  std::string texts_;
  std::vector<std::size_t> ends_;  // The end of each text in `texts_`.
};

}  // namespace keel::telemetry
