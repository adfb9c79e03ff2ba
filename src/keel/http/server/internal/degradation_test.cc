// What a worker's log says of a state in which it serves less, in virtual time.

#include "keel/http/server/internal/degradation.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "keel/io/testing/simulation.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"

namespace keel::http::degradation_test {
namespace {

constexpr Degradation::Lines lines_of_memory = {.begins = "out of memory; a connection was closed",
                                                .goes_on = "still out of memory; connections are closed",
                                                .is_over = "memory is available again"};

struct Degradations : ::testing::Test {
  Degradations() { told(); }
  ~Degradations() override { state.stop(); }
  void SetUp() override {
    if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  }

  void pass(Duration time) {
    static_cast<void>(simulation.run_until([] { return false; }, time));
  }
  // "level: message field=…" of each line since the last call.
  std::vector<std::string> told() {
    std::vector<std::string> all;
    reader.drain([&](const log::Record& record) {
      std::string line = std::string(log::to_string(record.level())) + ": " + std::string(record.message());
      record.for_each([&](const log::FieldView& field) {
        if (field.kind == log::FieldKind::Duration) return;  // By the loop's clock, which stands still between turns.
        line += " " + std::string(field.name) + "=";
        line += field.kind == log::FieldKind::String ? std::string(field.text) : std::to_string(field.word);
      });
      all.push_back(std::move(line));
    });
    return all;
  }

  log::Reader reader{false};
  const log::Ring ring;
  const log::Logger logger{"degradation.test"};
  sim::Simulation simulation;
  io::Loop& loop = simulation.add_loop();
  Degradation state{loop, logger, lines_of_memory};
};

using Lines = std::vector<std::string>;

TEST_F(Degradations, are_said_when_they_begin_and_when_they_are_over) {
  state.meet(log::field("for", "a request"));
  EXPECT_EQ(told(), Lines({"warn: out of memory; a connection was closed worker=0 for=a request"}));
  state.meet(log::field("for", "a connection"));
  pass(4_s);
  EXPECT_EQ(told(), Lines()) << "once, however often";

  pass(7_s);
  EXPECT_EQ(told(), Lines({"info: memory is available again worker=0 times=2"}));
  pass(60_s);
  EXPECT_EQ(told(), Lines()) << "and that it is over, once";

  state.meet(log::field("for", "a request"));
  EXPECT_EQ(told(), Lines({"warn: out of memory; a connection was closed worker=0 for=a request"})) << "it begins anew";
}

TEST_F(Degradations, that_last_are_said_again_each_minute_with_how_often_they_were_met) {
  state.enter();
  EXPECT_EQ(told().size(), 1u);
  for (int second = 0; second < 59; ++second) {
    pass(1_s);
    state.enter();
  }
  EXPECT_EQ(told(), Lines());

  pass(6_s);
  EXPECT_EQ(told(), Lines({"warn: still out of memory; connections are closed worker=0 times=60"}));
}

TEST_F(Degradations, that_come_and_go_are_one) {
  for (int i = 0; i < 10; ++i) {
    state.enter();
    pass(1_s);
    state.leave();
    pass(3_s);
  }
  EXPECT_EQ(told().size(), 1u);
  pass(20_s);
  EXPECT_EQ(told(), Lines({"info: memory is available again worker=0 times=10"}));
}

TEST_F(Degradations, are_not_told_of_by_a_worker_that_drains) {
  state.enter();
  EXPECT_EQ(told().size(), 1u);
  state.stop();
  state.leave();
  pass(120_s);
  EXPECT_EQ(told(), Lines());
}

}  // namespace
}  // namespace keel::http::degradation_test
