#include "keel/observe/repeated_state.h"

#include <gtest/gtest.h>

namespace keel::log::repeated_state_test {
namespace {

using Report = RepeatedState::Report;

Instant at(Duration since_begin) { return Instant::from_ns(1'000'000'000) + since_begin; }

TEST(RepeatedState, that_flickers_is_said_once_then_counted_then_over) {
  RepeatedState state;
  int begins = 0, goes_on = 0, over = 0;
  // Met twenty times a second for five minutes, and gone in between.
  for (int tick = 0; tick < 20 * 300; ++tick) {
    const Instant now = at(50_ms * tick);
    begins += state.enter(now);
    state.leave(now + 1_ms);
    if (tick % 100 == 0) {
      const Report say = state.look(now);
      goes_on += say == Report::Continues;
      over += say == Report::Over;
    }
  }
  EXPECT_EQ(begins, 1);
  EXPECT_EQ(goes_on, 4);
  EXPECT_EQ(over, 0);

  EXPECT_EQ(state.look(at(304_s)), Report::Continues) << "not gone for long enough";
  EXPECT_EQ(state.look(at(306_s)), Report::Over);
  EXPECT_EQ(state.times(), 6000u);
  EXPECT_EQ(state.lasted(at(306_s)), 50_ms * 5999 + 1_ms);
  EXPECT_EQ(state.look(at(600_s)), Report::Nothing);
  EXPECT_TRUE(state.enter(at(600_s))) << "the next one is a new one";
  EXPECT_EQ(state.times(), 1u);
}

TEST(RepeatedState, that_stays_is_not_over) {
  RepeatedState state;
  EXPECT_TRUE(state.enter(at(0_s)));

  EXPECT_EQ(state.look(at(59_s)), Report::Nothing);
  EXPECT_EQ(state.look(at(60_s)), Report::Continues);
  EXPECT_EQ(state.look(at(61_s)), Report::Nothing);
  EXPECT_EQ(state.lasted(at(61_s)), 61_s);

  state.leave(at(62_s));
  EXPECT_EQ(state.look(at(67_s)), Report::Over);
  EXPECT_EQ(state.lasted(at(67_s)), 62_s);
}

TEST(RepeatedState, that_never_was_is_not_left) {
  RepeatedState state;
  state.leave(at(0_s));
  EXPECT_EQ(state.look(at(100_s)), Report::Nothing);
}

}  // namespace
}  // namespace keel::log::repeated_state_test
