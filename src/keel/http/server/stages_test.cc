#include "keel/http/server/stages.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::http {
namespace {

std::string timing_of(const StageClock& clock) {
  Buffer out;
  write_server_timing(out, clock);
  return std::string(out.view());
}

TEST(Stages, measure_one_request_in_so_many) {
  Stages every_third(1, 3);
  std::string measured;
  for (int i = 0; i < 9; ++i) measured += every_third.begin() != nullptr ? 'x' : '-';
  EXPECT_EQ(measured, metrics::is_recorded ? "--x--x--x" : "---------");

  Stages none(1, 0);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(none.begin(), nullptr);
  none.set_every(1);
  EXPECT_EQ(none.begin() != nullptr, metrics::is_recorded);
}

TEST(Stages, do_not_count_a_request_that_has_not_begun) {
  if constexpr (!metrics::is_recorded) GTEST_SKIP() << "compiled out";
  Stages stages(1, 3);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(stages.begin(), nullptr);
    stages.take_back();
  }
  EXPECT_EQ(stages.begin(), nullptr);
  EXPECT_EQ(stages.begin(), nullptr);
  EXPECT_NE(stages.begin(), nullptr);
  stages.take_back();
  EXPECT_NE(stages.begin(), nullptr) << "the same request again";
  EXPECT_EQ(stages.begin(), nullptr);
}

TEST(Stages, begin_each_request_at_zero) {
  Stages stages(1, 1);
  stages.begin()->add(Stage::Handler, 5_ms);
  EXPECT_EQ(stages.begin()->of(Stage::Handler), Duration());
}

TEST(Stages, add_up_by_route) {
  Stages stages(3, 1);
  StageClock clock;
  clock.add(Stage::Parse, 1_us);
  clock.add(Stage::Handler, 20_us);
  stages.add(1, clock);
  stages.add(1, clock);
  stages.add_write(1, 7_us);
  stages.add(2, {});

  EXPECT_EQ(stages.measured(1), 2u);
  EXPECT_EQ(stages.written(1), 1u);
  EXPECT_EQ(stages.nanoseconds(1, Stage::Parse), 2'000u);
  EXPECT_EQ(stages.nanoseconds(1, Stage::Handler), 40'000u);
  EXPECT_EQ(stages.nanoseconds(1, Stage::Write), 7'000u);
  EXPECT_EQ(stages.nanoseconds(1, Stage::Route), 0u);
  EXPECT_EQ(stages.measured(2), 1u);
  EXPECT_EQ(stages.measured(0), 0u);
  EXPECT_EQ(stages.nanoseconds(0, Stage::Handler), 0u);
}

TEST(Stages, take_no_time_back) {
  // Of a handler that waited for several things at once: more than all of its time has stages of its own.
  Stages stages(1, 1);
  StageClock clock;
  clock.add(Stage::Handler, -5_us);
  stages.add(0, clock);
  stages.add_write(0, -5_us);
  EXPECT_EQ(stages.nanoseconds(0, Stage::Handler), 0u);
  EXPECT_EQ(stages.nanoseconds(0, Stage::Write), 0u);
}

TEST(ServerTiming, lists_the_stages_that_took_time_in_milliseconds) {
  StageClock clock;
  EXPECT_EQ(timing_of(clock), "");
  clock.add(Stage::Parse, Duration::nanoseconds(1'500));
  clock.add(Stage::Handler, 20_ms);
  clock.add(Stage::Database, Duration::nanoseconds(1));
  clock.add(Stage::Serialize, -1_ms);
  EXPECT_EQ(timing_of(clock), "parse;dur=0.0015, handler;dur=20, database;dur=0.000001");
}

}  // namespace
}  // namespace keel::http
