#include "keel/http/server/stages.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::http::stages_test {
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
  stages.begin()->add(stage::handler, 5_ms);
  EXPECT_EQ(stages.begin()->of(stage::handler), Duration());
}

TEST(Stages, add_up_by_route) {
  Stages stages(3, 1);
  StageClock clock;
  clock.add(stage::parse, 1_us);
  clock.add(stage::handler, 20_us);
  stages.add(1, clock);
  stages.add(1, clock);
  stages.add_write(1, 7_us);
  stages.add(2, {});

  EXPECT_EQ(stages.measured(1), 2u);
  EXPECT_EQ(stages.written(1), 1u);
  EXPECT_EQ(stages.nanoseconds(1, stage::parse), 2'000u);
  EXPECT_EQ(stages.nanoseconds(1, stage::handler), 40'000u);
  EXPECT_EQ(stages.nanoseconds(1, stage::write), 7'000u);
  EXPECT_EQ(stages.nanoseconds(1, stage::route), 0u);
  EXPECT_EQ(stages.measured(2), 1u);
  EXPECT_EQ(stages.measured(0), 0u);
  EXPECT_EQ(stages.nanoseconds(0, stage::handler), 0u);
}

TEST(Stages, take_no_time_back) {
  // Of a handler that waited for several things at the same time: more than all of its time has stages of its own.
  Stages stages(1, 1);
  StageClock clock;
  clock.add(stage::handler, -5_us);
  stages.add(0, clock);
  stages.add_write(0, -5_us);
  EXPECT_EQ(stages.nanoseconds(0, stage::handler), 0u);
  EXPECT_EQ(stages.nanoseconds(0, stage::write), 0u);
}

TEST(ServerTiming, lists_the_stages_that_took_time_in_milliseconds) {
  StageClock clock;
  EXPECT_EQ(timing_of(clock), "");
  clock.add(stage::parse, Duration::nanoseconds(1'500));
  clock.add(stage::handler, 20_ms);
  clock.add(Stage::Database, Duration::nanoseconds(1));
  clock.add(stage::serialize, -1_ms);
  EXPECT_EQ(timing_of(clock), "parse;dur=0.0015, handler;dur=20, database;dur=0.000001");
}

TEST(Stages, have_names_that_differ) {
  for (int i = 0; i < stage_count; ++i) {
    for (int j = 0; j < i; ++j) EXPECT_NE(to_string(static_cast<Stage>(i)), to_string(static_cast<Stage>(j)));
  }
  EXPECT_EQ(to_string(Stage::DatabaseWait), "database_wait");
  EXPECT_EQ(to_string(Stage::Database), "database");
  EXPECT_EQ(to_string(stage::write), "write");
}

TEST(Stages, know_what_of_a_handlers_time_has_a_stage_of_its_own) {
  StageClock clock;
  for (int i = 0; i < stage_count; ++i) clock.add(static_cast<Stage>(i), Duration::nanoseconds(std::int64_t{1} << i));

  EXPECT_EQ(inside_handler(clock), clock.of(stage::validate) + clock.of(Stage::DatabaseWait) +
                                       clock.of(Stage::Database) + clock.of(stage::serialize));
}

}  // namespace
}  // namespace keel::http::stages_test
