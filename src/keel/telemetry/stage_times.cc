#include "keel/telemetry/stage_times.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "keel/data/json.h"

namespace keel::telemetry {
namespace {

std::string name_of(const http::RouteStages& route) {
  if (route.pattern.empty()) return "(no route)";
  return fmt::format("{} {}", to_string(route.method), route.pattern);
}

double mean_us(const http::RouteStages& route, Stage stage) {
  return static_cast<double>(route.mean(stage).count_ns()) * 1e-3;
}

}  // namespace

void write_stage_times_text(Buffer& out, std::span<const http::RouteStages> routes) {
  std::size_t width = 5;
  for (const http::RouteStages& route : routes) {
    if (route.measured != 0) width = std::max(width, name_of(route).size());
  }
  std::string text;
  const auto to = std::back_inserter(text);
  fmt::format_to(to, "{:<{}}  {:>10}  {:>10}", "route", width, "measured", "mean us");
  for (int i = 0; i < http::stage_count; ++i) fmt::format_to(to, "  {:>13}", http::to_string(static_cast<Stage>(i)));
  text += '\n';
  for (const http::RouteStages& route : routes) {
    if (route.measured == 0) continue;
    double sum = 0;
    for (int i = 0; i < http::stage_count; ++i) sum += mean_us(route, static_cast<Stage>(i));
    fmt::format_to(to, "{:<{}}  {:>10}  {:>10.2f}", name_of(route), width, route.measured, sum);
    for (int i = 0; i < http::stage_count; ++i)
      fmt::format_to(to, "  {:>13.2f}", mean_us(route, static_cast<Stage>(i)));
    text += '\n';
  }
  out.append(text);
}

void write_stage_times_json(Buffer& out, std::span<const http::RouteStages> routes) {
  json::Writer json(out);
  json.begin_object().key("routes").begin_array();
  for (const http::RouteStages& route : routes) {
    if (route.measured == 0) continue;
    json.begin_object();
    json.key("method").string(route.pattern.empty() ? std::string_view() : to_string(route.method));
    json.key("route").string(route.pattern);
    json.key("measured").unsigned_integer(route.measured);
    json.key("written").unsigned_integer(route.written);
    json.key("stages").begin_object();
    for (int i = 0; i < http::stage_count; ++i) {
      json.key(http::to_string(static_cast<Stage>(i))).integer(route.of[i].count_ns());
    }
    json.end_object().end_object();
  }
  json.end_array().end_object();
}

}  // namespace keel::telemetry
