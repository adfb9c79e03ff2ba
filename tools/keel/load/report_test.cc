#include "load/report.h"

#include <gtest/gtest.h>

#include "keel/base/arena.h"
#include "keel/data/json.h"

namespace keel::load::load_report_test {
namespace {

Measurement measurement(bool is_open) {
  Measurement result;
  result.measured = 2_s;
  result.is_open = is_open;
  result.offered = is_open ? 1000 : 0;
  result.achieved = 995;
  result.engine = "uring";
  result.client_utilisation = 0.5;
  result.client_busy_polling = 0.25;
  result.client_cpu_us = 5;
  Counts& counts = result.counts;
  counts.due = 2000;
  counts.responses = 1999;
  counts.completed = 1990;
  counts.waiting = 1;
  counts.by_class[2] = 1990;
  counts.by_class[5] = 9;
  counts.by_status[201] = 1991;
  counts.failures[static_cast<std::size_t>(Failure::Body)] = 3;
  counts.failures[static_cast<std::size_t>(Failure::Timeout)] = 1;
  counts.bytes_received = 123;
  for (int i = 0; i < 2000; ++i) counts.latency.record(Duration::microseconds(i));
  counts.seconds = {{.responses = 1000, .latency_max_ns = 5000}, {.responses = 990, .errors = 4}};
  return result;
}

// The value of a top-level member as JSON text; "" when there is none. The whole text is checked.
std::string member(const std::string& text, std::string_view name) {
  Arena arena;
  json::Reader in(text, arena);
  std::string value;
  in.begin_object();
  while (const auto key = in.next_key()) {
    const bool is_it = *key == name;
    const std::string_view one = in.skip();
    if (is_it) value = one;
  }
  const auto finished = in.finish();
  EXPECT_TRUE(finished) << finished.error().describe();
  return value;
}

Options options() { return *parse_options({"http://127.0.0.1:1/"}); }

TEST(Report, json_holds_what_was_measured) {
  Report report;
  report.parts.push_back({std::nullopt, measurement(true)});
  const std::string text = json(options(), report);

  EXPECT_EQ(member(text, "offered"), "1000");
  EXPECT_EQ(member(text, "achieved"), "995");
  EXPECT_EQ(member(text, "requests"), "1999");
  EXPECT_EQ(member(text, "wrong_bodies"), "3");
  EXPECT_EQ(member(text, "complete"), "true");
  EXPECT_EQ(member(text, "client_cpu_us_per_request"), "5");
  EXPECT_EQ(member(text, "client_busy_polling"), "0.25");
  EXPECT_NE(member(text, "responses").find("\"5xx\": 9"), std::string::npos);
  EXPECT_NE(member(text, "statuses").find("\"201\": 1991"), std::string::npos);
  EXPECT_EQ(member(text, "statuses").find("\"200\""), std::string::npos);
  EXPECT_NE(member(text, "errors").find("\"timeout\": 1"), std::string::npos);
  EXPECT_NE(member(text, "latency").find("\"from\": \"intended\""), std::string::npos);
  EXPECT_NE(member(text, "latency").find("\"99.9\": "), std::string::npos);
  EXPECT_NE(member(text, "service"), "");
  EXPECT_NE(member(text, "settings").find("http://127.0.0.1:1/"), std::string::npos);
  EXPECT_EQ(member(text, "server_utilisation"), "");  // Not known: not invented.
}

TEST(Report, json_tells_the_latency_of_answers_with_another_status_where_there_were_some) {
  Report report;
  report.parts.push_back({std::nullopt, measurement(true)});
  EXPECT_EQ(member(json(options(), report), "latency_of_other_statuses"), "");
  report.parts.front().measurement.counts.other_status.record(7_ms);
  const std::string told = member(json(options(), report), "latency_of_other_statuses");
  EXPECT_NE(told.find("\"count\": 1"), std::string::npos) << told;
  EXPECT_NE(told.find("\"from\": \"intended\""), std::string::npos) << told;
}

TEST(Report, json_of_a_closed_loop_offers_nothing) {
  Report report;
  report.parts.push_back({std::nullopt, measurement(false)});
  const std::string text = json(options(), report);

  EXPECT_EQ(member(text, "offered"), "null");
  EXPECT_EQ(member(text, "service"), "");
  EXPECT_NE(member(text, "latency").find("\"from\": \"sent\""), std::string::npos);
}

TEST(Report, json_of_steps_is_a_list) {
  Report report;
  report.capacity = 2000;
  report.parts.push_back({std::nullopt, measurement(false)});
  report.parts.push_back({0.5, measurement(true)});
  Options with_steps = options();
  with_steps.steps = {0.5};
  const std::string text = json(with_steps, report);

  EXPECT_EQ(member(text, "capacity"), "2000");
  EXPECT_NE(member(text, "steps").find("\"step\": 0.5"), std::string::npos);
  EXPECT_NE(table(report).find("50%"), std::string::npos);
}

TEST(Report, a_closed_loop_that_leaves_the_server_idle_is_marked_client_bound) {
  Measurement closed = measurement(false);
  EXPECT_FALSE(closed.is_client_bound());  // Not known.
  closed.server_cpu_us = 4;
  closed.server_utilisation = 0.94;
  EXPECT_TRUE(closed.is_client_bound());
  EXPECT_NE(text(closed).find("client-bound"), std::string::npos);

  closed.server_utilisation = 0.96;
  EXPECT_FALSE(closed.is_client_bound());
  EXPECT_EQ(text(closed).find("client-bound"), std::string::npos);
}

TEST(Report, text_tells_errors_by_kind) {
  const std::string said = text(measurement(true));

  EXPECT_NE(said.find("timeout 1"), std::string::npos) << said;
  EXPECT_NE(said.find("body 3"), std::string::npos) << said;
  EXPECT_NE(said.find("2xx 1,990"), std::string::npos) << said;
  EXPECT_NE(said.find("1 request without a response"), std::string::npos) << said;
}

TEST(Report, a_live_line_takes_the_place_of_the_one_before) {
  const View view{.elapsed = Duration::milliseconds(2500),
                  .whole = 30_s,
                  .rate = 12'345.6,
                  .errors = 1234,
                  .open = 64,
                  .latency_max = Duration::microseconds(7500)};

  EXPECT_EQ(live_line(view), "\r\x1b[K    2.5 of 30 s   12,346/s   64 connections   max 7.50 ms   1,234 errors");
}

TEST(Report, has_errors_when_any_part_has) {
  Report report;
  Measurement good;
  good.counts.latency.record(1_us);
  report.parts.push_back({std::nullopt, good});
  EXPECT_FALSE(has_errors(report));
  report.parts.push_back({std::nullopt, measurement(true)});
  EXPECT_TRUE(has_errors(report));
}

TEST(Report, says_when_no_request_was_measured) {
  Report report;
  report.parts.push_back({std::nullopt, Measurement()});
  EXPECT_TRUE(has_errors(report));
  const std::string said = text(Measurement());
  EXPECT_NE(said.find("no request was measured"), std::string::npos) << said;
  EXPECT_EQ(said.find("p50"), std::string::npos) << said;
}

}  // namespace
}  // namespace keel::load::load_report_test
