// What a worker's log says of requests that fail again and again, in virtual time.

#include "keel/http/server/internal/repeated_failures.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "keel/io/testing/simulation.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"

namespace keel::http::repeated_failures_test {
namespace {

using Lines = std::vector<std::string>;

Error outage() { return Error(Code::Unavailable, "connect: Connection refused").from_environment(); }
Error full_disk(std::source_location place = std::source_location::current()) {
  return Error::from_errno("write", ENOSPC).during("insert into orders values ($1)", place);
}

struct Failures : ::testing::Test {
  Failures() { told(); }
  ~Failures() override { failures.stop(); }
  void SetUp() override {
    if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  }

  // As the worker that `f` runs on.
  template <class F>
  void work(F f) {
    const io::Loop::Entered entered(loop);
    f();
  }
  void fail(const Error& error, std::string_view route = "/orders") {
    work([&] { failures.log("request failed", error, route, log::field("path", "/orders")); });
  }
  void pass(Duration time) {
    static_cast<void>(simulation.run_until([] { return false; }, time));
  }
  // "level: message field=…" of each line since the last call, without its duration and its place in the sources.
  Lines told() {
    Lines all;
    reader.drain([&](const log::Record& record) {
      std::string line = std::string(log::to_string(record.level())) + ": " + std::string(record.message());
      record.for_each([&](const log::FieldView& field) {
        if (field.kind == log::FieldKind::Duration || field.name == "places" || field.name == "worker") return;
        line += " " + std::string(field.name) + "=";
        const bool is_text = field.kind == log::FieldKind::String || field.kind == log::FieldKind::Error;
        line += is_text ? std::string(field.text) : std::to_string(field.word);
      });
      if (record.trace()) line += " trace=" + std::to_string(record.trace().low);
      all.push_back(std::move(line));
    });
    return all;
  }
  std::size_t count_told() { return told().size(); }

  log::Reader reader{false};
  const log::Ring ring;
  const log::Logger logger{"failures.test"};
  sim::Simulation simulation;
  io::Loop& loop = simulation.add_loop();
  RepeatedFailures failures{loop, logger};
};
TEST_F(Failures, for_the_same_reason_are_said_once_and_counted_until_they_are_over) {
  for (int i = 0; i < 7'709; ++i) fail(outage());
  EXPECT_EQ(told(), Lines({"error: request failed path=/orders route=/orders error=connect: Connection refused"}));

  pass(log::RepeatedState::calm * 2 + 1_s);
  EXPECT_EQ(told(), Lines({"info: requests no longer fail for this reason failure=request failed route=/orders "
                           "error=connect: Connection refused times=7709 suppressed=7708"}));
  pass(60_s);
  EXPECT_EQ(told(), Lines()) << "and that it is over, once";

  fail(outage());
  EXPECT_EQ(count_told(), 1u) << "it begins anew, in full";
}

TEST_F(Failures, that_last_are_said_each_minute_with_their_number_and_the_trace_of_the_latest) {
  for (std::uint64_t second = 0; second < 130; ++second) {
    const Span span{{1, 100 + second}};
    const ScopedSpan scoped(span);
    fail(outage());
    pass(1_s);
  }

  const Lines lines = told();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "error: request failed path=/orders route=/orders error=connect: Connection refused trace=100");
  for (int i = 1; i <= 2; ++i) {
    EXPECT_TRUE(
        lines[i].starts_with("error: requests still fail for the same reason failure=request failed "
                             "route=/orders times="))
        << lines[i];
    EXPECT_TRUE(lines[i].contains("error=connect: Connection refused")) << lines[i];
  }
  EXPECT_TRUE(lines[1].contains(" times=61 suppressed=60 ")) << lines[1];
  EXPECT_TRUE(lines[1].ends_with(" trace=160")) << lines[1];
  EXPECT_TRUE(lines[2].contains(" times=121 suppressed=120 ")) << lines[2];
}

TEST_F(Failures, that_are_rare_are_each_said_in_full_and_nothing_else) {
  for (int i = 0; i < 5; ++i) {
    fail(outage());
    pass(30_s);
  }
  EXPECT_EQ(count_told(), 5u);
}

TEST_F(Failures, of_another_route_code_statement_place_message_or_text_are_not_swallowed) {
  const auto fails_in_two_ways = [&] {
    fail(outage());
    fail(outage(), "/products");
    fail(Error(Code::Upstream, "connect: Connection refused").from_environment());
    fail(Error(Code::Unavailable, "the pool is exhausted").from_environment());
    fail(full_disk());
    fail(full_disk());  // On another line.
    fail(Error::from_errno("write", EDQUOT).during("insert into orders values ($1)", std::source_location()));
    fail(Error::from_errno("write", EDQUOT).during("insert into lines values ($1)", std::source_location()));
    work([&] { failures.log("the body of a response failed", outage(), Level::Error, "/orders"); });
  };
  fails_in_two_ways();
  EXPECT_EQ(count_told(), 9u);
  fails_in_two_ways();
  EXPECT_EQ(told(), Lines());
}

TEST_F(Failures, that_differ_in_their_numbers_alone_are_the_same) {
  for (int i = 0; i < 100; ++i) {
    fail(Error::text(Code::Unavailable, "connect to 10.0.0.1:" + std::to_string(1000 + 7 * i)).from_environment());
  }
  EXPECT_EQ(count_told(), 1u);
}

TEST_F(Failures, whose_texts_all_differ_are_said_for_the_first_texts_and_then_counted) {
  for (int i = 0; i < 1000; ++i) {
    const std::string name(static_cast<std::size_t>(i + 1), 'x');
    fail(Error::text(Code::NotFound, "open pictures/" + name).from_environment());
  }
  EXPECT_EQ(count_told(), RepeatedFailures::texts_max);
  pass(11_s);
  const Lines lines = told();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].contains(" times=1000 suppressed=992")) << lines[0];
}

TEST_F(Failures, of_more_kinds_than_are_counted_are_counted_as_one) {
  const auto fail_everywhere = [&] {
    for (std::size_t i = 0; i < 2 * RepeatedFailures::kinds_max; ++i) fail(outage(), "/" + std::to_string(i));
  };
  fail_everywhere();
  EXPECT_EQ(count_told(), RepeatedFailures::kinds_max + 1);
  fail_everywhere();
  EXPECT_EQ(told(), Lines());
  pass(11_s);
  EXPECT_EQ(count_told(), RepeatedFailures::kinds_max + 1);
  fail(outage(), "/0");
  EXPECT_EQ(count_told(), 1u);
}

TEST_F(Failures, that_clients_decide_are_logged_one_by_one_at_their_own_level) {
  for (int i = 0; i < 3; ++i) fail(Error(Code::NotFound, "no such order"));
  const Lines lines = told();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[2].starts_with("info: request failed")) << lines[2];
  pass(60_s);
  EXPECT_EQ(told(), Lines());
}

TEST_F(Failures, that_were_counted_are_said_at_the_end_of_a_drain) {
  for (int i = 0; i < 10; ++i) fail(outage());
  EXPECT_EQ(count_told(), 1u);
  failures.stop();
  const Lines lines = told();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].contains(" times=10 suppressed=9 ")) << lines[0];
  failures.stop();
  pass(120_s);
  EXPECT_EQ(told(), Lines());
}

TEST_F(Failures, on_another_thread_are_logged) {
  for (int i = 0; i < 3; ++i) failures.log("request failed", outage(), "/orders");
  EXPECT_EQ(count_told(), 3u);
}

}  // namespace
}  // namespace keel::http::repeated_failures_test
