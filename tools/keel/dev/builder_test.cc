// Builds whose compiler is a shell.

#include "dev/builder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "keel/base/host.h"
#include "keel/db/testing/folder.h"

namespace keel::dev::builder_test {
namespace {

Instant now() { return Host::system().now(); }

BuildStep step(const std::string& name, const std::string& script) { return {name, {"sh", "-c", script}}; }

class BuilderTest : public ::testing::Test {
 protected:
  Built built() {
    for (const Instant end = now() + 10_s; now() < end; Host::system().sleep(2_ms)) {
      auto ended = builder_.ended(now()).value();
      if (ended) return *std::move(ended);
    }
    ADD_FAILURE() << "the build has not ended";
    return {};
  }
  std::string log() const {
    std::ifstream file(folder_ / "build/log");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  db::testing::Folder folder_;
  Builder builder_{folder_.path(), "build/log"};
};

TEST_F(BuilderTest, runs_its_steps_in_their_order_and_keeps_what_they_say) {
  ASSERT_TRUE(builder_.start({step("configure", "echo one"), step("build", "echo two >&2; pwd")}, now()));
  EXPECT_TRUE(builder_.is_running());

  const Built ended = built();

  EXPECT_TRUE(ended.is_good);
  EXPECT_EQ(ended.step, "build");
  EXPECT_GT(ended.took, Duration());
  EXPECT_EQ(log(), "one\ntwo\n" + folder_.path() + "\n");
  EXPECT_FALSE(builder_.is_running());
  EXPECT_EQ(builder_.ended(now()).value(), std::nullopt) << "it is told once";
}

TEST_F(BuilderTest, stops_at_a_step_that_fails_and_has_its_first_error) {
  ASSERT_TRUE(
      builder_.start({step("configure", "echo src/a.cc:3:1: error: bad; exit 3"), step("build", "echo no")}, now()));

  const Built ended = built();

  EXPECT_FALSE(ended.is_good);
  EXPECT_EQ(ended.step, "configure");
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.error.text, "src/a.cc:3:1: error: bad\n");
  EXPECT_EQ(log(), ended.error.text);
}

TEST_F(BuilderTest, ends_a_build_that_runs_when_another_begins) {
  ASSERT_TRUE(
      builder_.start({step("build", "trap 'echo interrupted; exit 1' TERM; touch begun; sleep 100 & wait")}, now()));
  while (!std::ifstream(folder_ / "begun")) Host::system().sleep(2_ms);

  ASSERT_TRUE(builder_.start({step("build", "echo again")}, now()));

  EXPECT_TRUE(built().is_good);
  EXPECT_EQ(log(), "again\n");
}

TEST_F(BuilderTest, can_be_cancelled) {
  ASSERT_TRUE(builder_.start({step("build", "sleep 100")}, now()));

  builder_.cancel();

  EXPECT_FALSE(builder_.is_running());
  EXPECT_EQ(builder_.ended(now()).value(), std::nullopt);
}

TEST_F(BuilderTest, says_which_command_cannot_be_started) {
  const auto started = builder_.start({{"build", {"there/is/none"}}}, now());
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().describe().find("there/is/none"), std::string::npos);
}

}  // namespace
}  // namespace keel::dev::builder_test
