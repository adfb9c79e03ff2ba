#include "keel/task/gate.h"

#include <gtest/gtest.h>

#include "keel/task/scope.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::gate_test {
namespace {

struct GateTest : ::testing::Test {
  testing::TestLoop loop;
  Gate gate;
};
void ignore(StartCore&) noexcept {}

Task<> work(Gate& gate, Duration duration) {
  Gate::Pass pass = co_await gate.enter();
  co_await sleep_for(duration);
}
Task<> close(Gate& gate) { co_await gate.close(); }

TEST_F(GateTest, close_waits_for_those_inside) {
  Start<void> a, b, closing;
  a.begin(work(gate, 10_ms), &ignore);
  b.begin(work(gate, 30_ms), &ignore);
  EXPECT_EQ(gate.inside(), 2u);
  EXPECT_FALSE(closing.begin(close(gate), &ignore));
  loop.advance(20_ms);
  EXPECT_FALSE(closing.has_ended());
  loop.advance(20_ms);
  EXPECT_TRUE(closing.take().is_ok());
  EXPECT_EQ(gate.inside(), 0u);
}
TEST_F(GateTest, close_of_an_empty_gate_completes_at_once) {
  Start<void> closing;
  EXPECT_TRUE(closing.begin(close(gate), &ignore));
}
TEST_F(GateTest, a_closed_gate_refuses) {
  EXPECT_TRUE(loop.run(close(gate)).is_ok());
  EXPECT_EQ(gate.enter().error().code(), Code::Cancelled);
  EXPECT_EQ(loop.run(work(gate, 1_ms)).error().code(), Code::Cancelled);
}
TEST_F(GateTest, refuses_from_the_call_of_close_on_not_only_from_its_end) {
  Start<void> inside, closing;
  inside.begin(work(gate, 10_ms), &ignore);
  closing.begin(close(gate), &ignore);
  EXPECT_TRUE(gate.is_closed());
  EXPECT_FALSE(gate.enter().is_ok());
  loop.advance(20_ms);
}
TEST_F(GateTest, a_stopped_close_can_be_awaited_again) {
  Start<void> inside, closing, again;
  inside.begin(work(gate, 10_ms), &ignore);
  closing.begin(close(gate), &ignore);
  closing.stop();
  loop.run_jobs();
  EXPECT_EQ(closing.take().error().code(), Code::Cancelled);
  EXPECT_TRUE(gate.is_closed());
  EXPECT_EQ(gate.inside(), 1u);
  EXPECT_FALSE(again.begin(close(gate), &ignore));
  loop.advance(20_ms);
  EXPECT_TRUE(again.take().is_ok());
}
TEST_F(GateTest, a_pass_moves) {
  Gate::Pass first = *gate.enter();
  Gate::Pass second = std::move(first);
  EXPECT_EQ(gate.inside(), 1u);
  Gate::Pass third = *gate.enter();
  EXPECT_EQ(gate.inside(), 2u);
  third = std::move(second);
  EXPECT_EQ(gate.inside(), 1u);
}

TEST(GateDeathTest, ending_before_a_pass_is_a_bug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        std::optional<Result<Gate::Pass>> pass;
        Gate gate;
        pass = gate.enter();
      },
      "must outlive its passes");
}

}  // namespace
}  // namespace keel::gate_test
