#include "keel/app/health.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>

#include "keel/base/host.h"

namespace keel::app {
namespace {

struct Answer {
  bool well;
  std::string body;
};
Answer live(Health& health) {
  Buffer out;
  const bool well = health.live(out);
  return {well, std::string(out.view())};
}
Answer ready(Health& health) {
  Buffer out;
  const bool well = health.ready(out);
  return {well, std::string(out.view())};
}

TEST(Health, is_alive_before_it_is_ready) {
  Health health;

  EXPECT_TRUE(live(health).well);
  EXPECT_EQ(live(health).body, R"({"status":"ok","checks":[]})");
  EXPECT_FALSE(ready(health).well);
  EXPECT_EQ(ready(health).body,
            R"({"status":"failing","checks":[{"name":"start","status":"failing","reason":"not complete"}]})");

  health.start_complete();
  EXPECT_TRUE(ready(health).well);
  EXPECT_EQ(ready(health).body, R"({"status":"ok","checks":[{"name":"start","status":"ok"}]})");
}

TEST(Health, a_failing_check_gives_its_reason_and_concerns_its_kind_only) {
  Health health;
  health.start_complete();
  bool down = false;
  const auto database = health.add("database", Health::Kind::Readiness, [&]() -> Result<> {
    if (down) return fail_errno("open \"x\"", ENOENT);
    return {};
  });
  EXPECT_TRUE(ready(health).well);

  down = true;

  EXPECT_FALSE(ready(health).well);
  EXPECT_EQ(ready(health).body,
            R"({"status":"failing","checks":[{"name":"start","status":"ok"},)"
            R"({"name":"database","status":"failing","reason":"open \"x\": No such file or directory"}]})");
  EXPECT_TRUE(live(health).well);
}

TEST(Health, a_drain_fails_readiness_and_not_liveness) {
  Health health;
  health.start_complete();

  health.drain("draining");

  EXPECT_TRUE(live(health).well);
  EXPECT_FALSE(ready(health).well);
  EXPECT_EQ(ready(health).body, R"({"status":"failing","checks":[{"name":"start","status":"ok"},)"
                                R"({"name":"drain","status":"failing","reason":"draining"}]})");
}

TEST(Health, a_check_ends_with_its_handle) {
  Health health;
  {
    auto first = health.add("loop", Health::Kind::Liveness, []() -> Result<> { return fail(Code::Internal, "stuck"); });
    Health::Check moved = std::move(first);
    EXPECT_FALSE(live(health).well);
  }
  EXPECT_TRUE(live(health).well);
}

TEST(Health, may_be_asked_and_changed_on_any_thread) {
  Health health;
  std::atomic<bool> stop = false;
  auto asking = Host::current().start_thread("asking", [&] {
    while (!stop) ready(health);
  });

  for (int i = 0; i < 200; ++i) {
    bool alive = true;  // Gone with the loop's turn: a check that still ran would be a use after scope.
    const auto check = health.add("x", Health::Kind::Readiness, [&alive]() -> Result<> {
      if (!alive) return fail(Code::Internal, "gone");
      return {};
    });
    if (i == 100) health.start_complete();
  }
  stop = true;
  asking->join();

  EXPECT_TRUE(ready(health).well);
}

TEST(HealthDeathTest, refuses_a_name_twice) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  Health health;
  const auto check = health.add("database", Health::Kind::Liveness, [] { return Result<>(); });

  EXPECT_DEATH((void)health.add("database", Health::Kind::Liveness, [] { return Result<>(); }), "used once");
}

}  // namespace
}  // namespace keel::app
