#include "load/report.h"

#include <fmt/core.h>

#include <algorithm>

#include "keel/base/buffer.h"
#include "keel/data/json.h"
#include "keel/data/json_indent.h"
#include "load/text.h"

namespace keel::load {
namespace {

constexpr double shown_percentiles[] = {50, 90, 95, 99, 99.9, 99.99};

std::string rate_text(double rate) {
  return rate >= 100 ? format_count(static_cast<std::uint64_t>(rate + 0.5)) : fmt::format("{:.2f}", rate);
}

std::string bytes_text(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", value / 1e3);
  return bytes < 1'000'000'000 ? fmt::format("{:.1f} MB", value / 1e6) : fmt::format("{:.2f} GB", value / 1e9);
}

std::string percentiles_text(const Histogram& histogram) {
  std::string line;
  for (const double percent : shown_percentiles) {
    line += fmt::format("p{} {}   ", percent, format_duration(histogram.percentile(percent)));
  }
  return line + "max " + format_duration(histogram.max());
}

std::string errors_text(const Counts& counts) {
  std::string line;
  for (std::size_t i = 0; i < failure_count; ++i) {
    if (counts.failures[i] == 0) continue;
    line += fmt::format("{}{} {}", line.empty() ? "" : "   ", to_string(static_cast<Failure>(i)),
                        format_count(counts.failures[i]));
  }
  return line.empty() ? "none" : line;
}

std::string bound_text(const Measurement& measurement) {
  if (!measurement.is_client_bound()) return "";
  // In an open loop the rate is given, so the server is not expected to be fully used.
  return measurement.is_open ? "" : "   client-bound: the server could do more; judge only the CPU time per request";
}

double microseconds(Duration value) { return static_cast<double>(value.count_ns()) / 1e3; }

void write_latency(json::Writer& out, const Histogram& histogram, std::string_view from) {
  out.begin_object();
  out.key("unit").string("us").key("from").string(from);
  out.key("count").unsigned_integer(histogram.count());
  out.key("mean").number(microseconds(histogram.mean()));
  out.key("percentiles").begin_object();
  for (const double percent : shown_percentiles) {
    out.key(fmt::format("{}", percent)).number(microseconds(histogram.percentile(percent)));
  }
  out.key("max").number(microseconds(histogram.max())).end_object();
  out.key("cdf").begin_array();
  for (const Histogram::Point& point : histogram.cdf()) {
    out.begin_array().number(microseconds(point.value)).number(point.fraction).end_array();
  }
  out.end_array().end_object();
}

void write_optional(json::Writer& out, std::string_view key, const std::optional<double>& value) {
  if (value) out.key(key).number(*value);
}

void write_members(json::Writer& out, const Report::Part& part) {
  const Measurement& measurement = part.measurement;
  const Counts& counts = measurement.counts;
  write_optional(out, "step", part.step);
  out.key("loop").string(measurement.is_open ? "open" : "closed");
  out.key("engine").string(measurement.engine);
  out.key("complete").boolean(!measurement.is_interrupted);
  out.key("seconds").number(measurement.measured.count_seconds());
  out.key("offered");
  measurement.is_open ? out.number(measurement.offered) : out.null();
  out.key("achieved").number(measurement.achieved);
  out.key("due").unsigned_integer(counts.due);
  out.key("requests").unsigned_integer(counts.responses);
  out.key("completed").unsigned_integer(counts.completed);
  out.key("responses").begin_object();
  for (std::size_t i = 2; i < counts.by_class.size(); ++i) {
    out.key(fmt::format("{}xx", i)).unsigned_integer(counts.by_class[i]);
  }
  out.end_object();
  out.key("statuses").begin_object();
  for (std::size_t i = 0; i < counts.by_status.size(); ++i) {
    if (counts.by_status[i] != 0) out.key(fmt::format("{}", i)).unsigned_integer(counts.by_status[i]);
  }
  out.end_object();
  out.key("errors").begin_object();
  for (std::size_t i = 0; i < failure_count; ++i) {
    out.key(to_string(static_cast<Failure>(i))).unsigned_integer(counts.failures[i]);
  }
  out.end_object();
  if (!counts.reason.empty()) out.key("reason").string(counts.reason);
  out.key("wrong_bodies").unsigned_integer(counts.failures[static_cast<std::size_t>(Failure::Body)]);
  out.key("connections_opened").unsigned_integer(counts.connections);
  out.key("bytes").begin_object();
  out.key("sent")
      .unsigned_integer(counts.bytes_sent)
      .key("received")
      .unsigned_integer(counts.bytes_received)
      .end_object();
  out.key("latency");
  write_latency(out, counts.latency, measurement.is_open ? "intended" : "sent");
  if (measurement.is_open) {
    out.key("service");
    write_latency(out, counts.service, "sent");
  }
  if (counts.other_status.count() != 0) {
    out.key("latency_of_other_statuses");
    write_latency(out, counts.other_status, measurement.is_open ? "intended" : "sent");
  }
  out.key("waiting").unsigned_integer(counts.waiting);
  out.key("series").begin_array();
  for (std::size_t i = 0; i < counts.seconds.size(); ++i) {
    const Second& second = counts.seconds[i];
    if (static_cast<double>(i) >= measurement.measured.count_seconds()) break;
    out.begin_object().key("second").unsigned_integer(i).key("responses").unsigned_integer(second.responses);
    out.key("errors").unsigned_integer(second.errors);
    out.key("latency_max_us").number(static_cast<double>(second.latency_max_ns) / 1e3).end_object();
  }
  out.end_array();
  out.key("client_utilisation").number(measurement.client_utilisation);
  out.key("client_busy_polling").number(measurement.client_busy_polling);
  out.key("client_cpu_us_per_request").number(measurement.client_cpu_us);
  if (measurement.server_utilisation) {
    write_optional(out, "server_utilisation", measurement.server_utilisation);
    write_optional(out, "server_cpu_us_per_request", measurement.server_cpu_us);
    out.key("client_bound").boolean(measurement.is_client_bound());
  }
}

void write_settings(json::Writer& out, const Options& options) {
  const Plan& plan = options.plan;
  out.begin_object();
  out.key("url").string(options.text);
  out.key("address").string(plan.address.to_string());
  out.key("connections").integer(plan.connections.to);
  if (plan.connections.from != plan.connections.to) {
    out.key("connections_from").integer(plan.connections.from);
    out.key("connections_over_s").number(plan.connections.over.count_seconds());
  }
  out.key("threads").integer(plan.threads).key("depth").integer(plan.depth);
  out.key("cores").begin_array();
  for (const int core : options.cores) out.integer(core);
  out.end_array();
  if (plan.requests_per_connection_max != 0) out.key("churn").unsigned_integer(plan.requests_per_connection_max);
  if (plan.open) {
    out.key("arrivals").string(plan.open->arrivals == Arrivals::Poisson ? "poisson" : "constant");
    if (options.steps.empty()) {
      out.key("rate").number(plan.open->rate.to);
      if (plan.open->rate.over > Duration()) {
        out.key("rate_from")
            .number(plan.open->rate.from)
            .key("rate_over_s")
            .number(plan.open->rate.over.count_seconds());
      }
    }
  }
  out.key("warmup_s").number(plan.warmup.count_seconds());
  out.key("duration_s").number(plan.duration.count_seconds());
  out.key("timeout_s").number(plan.timeout.count_seconds());
  out.key("seed").unsigned_integer(plan.seed);
  out.key("requests").begin_array();
  for (const RequestText& request : options.requests) {
    out.begin_object().key("request").string(request.method + " " + request.target);
    out.key("weight").unsigned_integer(request.weight).end_object();
  }
  out.end_array().end_object();
}

}  // namespace

std::string heading(const Options& options, const Plan& plan) {
  std::string connections = fmt::format("{} connection{}", plan.connections.to, plan.connections.to == 1 ? "" : "s");
  if (plan.connections.from != plan.connections.to) {
    connections =
        fmt::format("{} to {} over {}", plan.connections.from, connections, format_duration(plan.connections.over));
  }
  std::string loop = "closed loop";
  if (plan.open) {
    const Rate& rate = plan.open->rate;
    loop = rate.over > Duration() ? fmt::format("open loop of {} to {}/s over {}", rate_text(rate.from),
                                                rate_text(rate.to), format_duration(rate.over))
                                  : fmt::format("open loop of {}/s", rate_text(rate.to));
  }
  return fmt::format("{}: {}, {}{}, {} thread{}, {} after {}\n", options.text, loop, connections,
                     plan.depth > 1 ? fmt::format(" of depth {}", plan.depth) : "", plan.threads,
                     plan.threads == 1 ? "" : "s", format_duration(plan.duration), format_duration(plan.warmup));
}

std::string text(const Measurement& measurement) {
  const Counts& counts = measurement.counts;
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) {
    out += fmt::format("  {:<9} {}\n", name, value);
  };
  if (measurement.is_interrupted) line("ended", "interrupted after " + format_duration(measurement.measured));
  line("rate", rate_text(measurement.achieved) + " responses/s" +
                   (measurement.is_open ? " of " + rate_text(measurement.offered) + "/s offered" : "") +
                   bound_text(measurement));
  std::string classes;
  for (std::size_t i = 2; i < counts.by_class.size(); ++i) {
    if (counts.by_class[i] != 0) classes += fmt::format("   {}xx {}", i, format_count(counts.by_class[i]));
  }
  line("responses", format_count(counts.responses) + classes);
  line("errors", errors_text(counts));
  if (counts.errors() != 0 && !counts.reason.empty()) line("", "the first connection that failed: " + counts.reason);
  if (counts.latency.count() == 0) {
    line("latency", "no request was measured: no request was sent in the measured time, or none got a response");
  } else {
    line("latency", percentiles_text(counts.latency) + (measurement.is_open ? "   from when due" : "   from sending"));
    if (measurement.is_open) line("service", percentiles_text(counts.service) + "   from sending");
  }
  if (counts.waiting != 0) {
    line("", fmt::format("this includes {} request{} without a response; each counts with the time that it had waited",
                         format_count(counts.waiting), counts.waiting == 1 ? "" : "s"));
  }
  line("bytes", fmt::format("{} received, {} sent, {} connections opened", bytes_text(counts.bytes_received),
                            bytes_text(counts.bytes_sent), format_count(counts.connections)));
  std::string client = fmt::format("{:.2f} of {} thread{} ({}), {:.2f} us CPU per request",
                                   measurement.client_utilisation, measurement.threads,
                                   measurement.threads == 1 ? "" : "s", measurement.engine, measurement.client_cpu_us);
  if (measurement.client_busy_polling >= 0.005) {
    client += fmt::format("; and {:.2f} of busy polling", measurement.client_busy_polling);
  }
  line("client", client);
  if (measurement.server_utilisation) {
    line("server", fmt::format("{:.2f} of its cores, {:.2f} us CPU per request", *measurement.server_utilisation,
                               *measurement.server_cpu_us));
  } else {
    line("server", "utilization unknown; give the server's process id with --server-pid");
  }
  return out;
}

std::string table(const Report& report) {
  std::string out = fmt::format("  capacity {}/s\n  {:>6} {:>12} {:>12} {:>10} {:>10} {:>10} {:>10} {:>8}\n",
                                rate_text(report.capacity.value_or(0)), "step", "offered/s", "responses/s", "p50",
                                "p99", "p99.9", "max", "errors");
  for (const Report::Part& part : report.parts) {
    if (!part.step) continue;
    const Measurement& measurement = part.measurement;
    const Histogram& latency = measurement.counts.latency;
    out += fmt::format("  {:>5.0f}% {:>12} {:>12} {:>10} {:>10} {:>10} {:>10} {:>8}\n", *part.step * 100,
                       rate_text(measurement.offered), rate_text(measurement.achieved),
                       format_duration(latency.percentile(50)), format_duration(latency.percentile(99)),
                       format_duration(latency.percentile(99.9)), format_duration(latency.max()),
                       format_count(measurement.counts.errors()));
  }
  return out;
}

std::string json(const Options& options, const Report& report) {
  Buffer buffer;
  json::Writer out(buffer);
  out.begin_object();
  out.key("schema").integer(1).key("tool").string("keel load");
  out.key("settings");
  write_settings(out, options);
  if (options.steps.empty()) {
    write_members(out, report.parts.front());
  } else {
    write_optional(out, "capacity", report.capacity);
    out.key("steps").begin_array();
    for (const Report::Part& part : report.parts) {
      out.begin_object();
      write_members(out, part);
      out.end_object();
    }
    out.end_array();
  }
  out.end_object();
  Buffer lines;
  json::indent(lines, buffer.view());
  return std::string(lines.view()) + "\n";
}

std::string live_line(const View& view) {
  return fmt::format("\r\x1b[K  {:>5.1f} of {:.0f} s   {}/s   {} connections   max {}   {} errors",
                     view.elapsed.count_seconds(), view.whole.count_seconds(), rate_text(view.rate), view.open,
                     format_duration(view.latency_max), format_count(view.errors));
}

bool has_errors(const Report& report) noexcept {
  return std::any_of(report.parts.begin(), report.parts.end(), [](const Report::Part& part) {
    const Counts& counts = part.measurement.counts;
    return counts.errors() != 0 || counts.latency.count() == 0;
  });
}

}  // namespace keel::load
