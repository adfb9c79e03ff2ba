#include "keel/app/health.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <regex>
#include <thread>

#include "keel/app/internal/no_threads_test.h"
#include "keel/base/bug.h"
#include "keel/base/host.h"
#include "keel/io/runtime.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"
#include "keel/task/timing.h"

namespace keel::app::health_test {
namespace {

using Kind = Health::Kind;

struct Answer {
  bool well;
  std::string body;  // Without what differs from run to run.
};
Answer tell(Health& health, bool (Health::*ask)(Buffer&)) {
  Buffer out;
  const bool well = (health.*ask)(out);
  static const std::regex times(R"(,"(since":"[^"]*"|(duration|age)_sec":[-+.e0-9]+))");
  return {well, std::regex_replace(std::string(out.view()), times, "")};
}
Answer live(Health& health) { return tell(health, &Health::live); }
Answer ready(Health& health) { return tell(health, &Health::ready); }
Answer started(Health& health) { return tell(health, &Health::started); }

bool until(auto done) {
  for (int i = 0; i < 10'000; ++i) {
    if (done()) return true;
    ::usleep(1000);
  }
  return false;
}
bool has(const Answer& answer, std::string_view text) { return answer.body.find(text) != std::string::npos; }

Result<> fine() { return {}; }
Task<> fine_later() { co_await sleep_for(1_ms); }
Task<> never_answers(std::atomic<int>& cancelled) {
  const Result<> slept = co_await attempt(sleep_for(1_h));
  if (!slept) ++cancelled;
}

// A function that hangs until it is let go.
class Gate {
 public:
  Result<> wait() {
    ++inside_;
    open_.wait(false);
    return {};
  }
  int inside() const { return inside_; }
  void open() {
    open_ = true;
    open_.notify_all();
  }

 private:
  std::atomic<int> inside_ = 0;
  std::atomic<bool> open_ = false;
};

TEST(Health, is_alive_before_it_is_ready) {
  Health health;

  EXPECT_TRUE(live(health).well);
  EXPECT_EQ(live(health).body, R"({"status":"ok","checks":[]})");
  for (const Answer& answer : {ready(health), started(health)}) {
    EXPECT_FALSE(answer.well);
    EXPECT_EQ(answer.body,
              R"({"status":"failing","checks":[{"name":"start","status":"failing","last_error":"not complete"}]})");
  }

  health.start_complete();
  for (const Answer& answer : {ready(health), started(health)}) {
    EXPECT_TRUE(answer.well);
    EXPECT_EQ(answer.body, R"({"status":"ok","checks":[{"name":"start","status":"ok"}]})");
  }
}

TEST(Health, a_check_runs_soon_when_it_is_asked_to) {
  Health health;
  health.start_complete();
  std::atomic<bool> down = false;
  std::atomic<int> writes = 0;
  const auto database = health.add({.name = "database"}, [&]() -> Result<> {
    if (down) return Error(Code::Unavailable, "away");
    return {};
  });
  const auto dependent = health.add({.name = "writes", .degrades = true, .needs = {"database"}}, [&]() -> Result<> {
    ++writes;
    return {};
  });
  health.start(1_h);
  ASSERT_TRUE(health.wait_checked(10_s));
  ASSERT_TRUE(ready(health).well);

  down = true;
  health.check_soon("nothing of this name");
  EXPECT_TRUE(ready(health).well);
  health.check_soon("database");

  EXPECT_TRUE(until([&] { return !ready(health).well; }));
  EXPECT_TRUE(until([&] { return has(ready(health), "not checked: database failed"); }));
  down = false;
  health.check_soon("database");
  EXPECT_TRUE(until([&] { return ready(health).well && writes == 2; }));
}

TEST(Health, checks_run_when_others_hang_and_no_thread_can_be_started) {
  Gate gate;
  std::atomic<bool> hangs = false;
  std::atomic<int> runs = 0;
  Health health;
  const auto stuck = health.add({.name = "stuck"}, [&]() -> Result<> { return hangs ? gate.wait() : Result<>(); });
  health.start(1_h);
  ASSERT_TRUE(health.wait_checked(10_s));
  {
    const NoThreads none;
    hangs = true;
    health.check_soon("stuck");
    EXPECT_TRUE(until([&] { return gate.inside() == 1; }));

    const auto other = health.add({.name = "other"}, [&]() -> Result<> {
      ++runs;
      return {};
    });
    EXPECT_TRUE(until([&] { return runs == 1; }));
  }
  gate.open();
}

TEST(Health, a_failing_check_gives_its_reason_and_concerns_its_kind_only) {
  Health health;
  health.start_complete();
  std::atomic<bool> down = false;
  const auto database = health.add({.name = "database"}, [&]() -> Result<> {
    if (down) return Error::from_errno("open \"x\"", ENOENT);
    return {};
  });
  EXPECT_FALSE(ready(health).well) << "nothing is known yet";
  EXPECT_TRUE(has(ready(health), R"({"name":"database","status":"not checked"})"));
  health.start(2_ms);
  ASSERT_TRUE(health.wait_checked(10_s));
  EXPECT_TRUE(ready(health).well) << ready(health).body;

  down = true;

  ASSERT_TRUE(until([&] { return !ready(health).well; }));
  EXPECT_EQ(ready(health).body,
            R"({"status":"failing","checks":[{"name":"start","status":"ok"},)"
            R"({"name":"database","status":"failing","last_error":"open \"x\": No such file or directory"}]})");
  EXPECT_TRUE(live(health).well);

  down = false;
  ASSERT_TRUE(until([&] { return ready(health).well; })) << "and it recovers by itself";
  EXPECT_TRUE(has(ready(health), R"("status":"ok","last_error":"open)")) << ready(health).body;
}

TEST(Health, shows_since_when_for_how_long_and_how_old) {
  Health health;
  const auto check = health.add({.name = "x"}, fine);
  health.start(1_h);
  ASSERT_TRUE(health.wait_checked(10_s));

  Buffer out;
  health.ready(out);

  const std::regex form(R"(.*"since":"20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-9]{2}:[0-9]{2}:[0-9]{2}Z",)"
                        R"("duration_sec":[-.e0-9]+,"age_sec":[-.e0-9]+\}.*)");
  EXPECT_TRUE(std::regex_match(std::string(out.view()), form)) << out.view();
}

TEST(Health, a_check_that_degrades_is_shown_and_fails_nothing) {
  Health health;
  health.start_complete();
  const auto check = health.add({.name = "disk", .degrades = true},
                                []() -> Result<> { return fail(Code::ResourceExhausted, "almost full"); });
  health.start(1_h);
  ASSERT_TRUE(health.wait_checked(10_s));

  EXPECT_TRUE(ready(health).well);
  EXPECT_EQ(ready(health).body, R"({"status":"degraded","checks":[{"name":"start","status":"ok"},)"
                                R"({"name":"disk","status":"degraded","last_error":"almost full"}]})");
}

TEST(Health, what_needs_a_failed_check_is_not_run) {
  Health health;
  health.start_complete();
  std::atomic<bool> down = true;
  std::atomic<int> runs = 0;
  const auto first = health.add({.name = "database"}, [&]() -> Result<> {
    if (down) return fail(Code::Unavailable, "down");
    return {};
  });
  const auto second = health.add({.name = "orders", .needs = {"database"}}, [&]() -> Result<> {
    ++runs;
    return {};
  });
  const auto third = health.add({.name = "bills", .needs = {"orders"}}, [&]() -> Result<> {
    ++runs;
    return {};
  });
  health.start(5_ms);
  ASSERT_TRUE(health.wait_checked(10_s));

  EXPECT_TRUE(
      has(ready(health), R"({"name":"orders","status":"not checked","last_error":"not checked: database failed"})"));
  EXPECT_TRUE(
      has(ready(health), R"({"name":"bills","status":"not checked","last_error":"not checked: orders failed"})"));
  EXPECT_EQ(runs, 0);
  EXPECT_FALSE(ready(health).well);

  down = false;
  EXPECT_TRUE(until([&] { return ready(health).well; })) << ready(health).body;
  EXPECT_GE(runs, 2);
}

TEST(Health, a_need_that_was_not_checked_fails_no_liveness) {
  Health health;
  const auto first = health.add({.name = "database"}, []() -> Result<> { return fail(Code::Unavailable, "down"); });
  const auto second = health.add({.name = "loop", .kind = Kind::Liveness, .needs = {"database"}}, fine);
  health.start(1_h);
  ASSERT_TRUE(health.wait_checked(10_s));

  EXPECT_TRUE(live(health).well);
  EXPECT_TRUE(has(live(health), R"("status":"not checked")"));
}

TEST(Health, a_check_that_hangs_has_failed_and_holds_up_nobody) {
  Health health;
  health.start_complete();
  Gate gate;
  std::atomic<int> runs = 0;
  const auto hangs = health.add({.name = "hangs", .timeout = 20_ms}, [&] { return gate.wait(); });
  const auto hangs_too = health.add({.name = "hangs too", .timeout = 20_ms}, [&] { return gate.wait(); });
  const auto needs = health.add({.name = "needs", .needs = {"hangs"}}, fine);
  const auto other = health.add({.name = "other"}, [&]() -> Result<> {
    ++runs;
    return {};
  });
  health.start(5_ms);

  ASSERT_TRUE(
      until([&] { return has(ready(health), R"("hangs","status":"failing","last_error":"no result for 0.02 s")"); }));
  EXPECT_TRUE(until([&] { return has(ready(health), R"("hangs too","status":"failing")"); }));
  EXPECT_TRUE(until([&] { return has(ready(health), R"("needs","status":"not checked")"); })) << ready(health).body;
  EXPECT_TRUE(until([&] { return runs > 3; }));
  EXPECT_EQ(gate.inside(), 2) << "a check does not run twice at a time";

  gate.open();
  EXPECT_TRUE(until([&] { return ready(health).well; })) << ready(health).body;
  EXPECT_TRUE(has(ready(health), "the limit is 0.02 s")) << "that run came too late: " << ready(health).body;
}

TEST(Health, tasks_are_checks_too_and_are_cancelled_at_their_time_out) {
  auto runtime = io::Runtime::make({.workers = 1, .engine = io::EngineKind::Epoll}).value();
  ASSERT_TRUE(runtime->start());
  Health health;
  health.start_complete();
  std::atomic<int> cancelled = 0;
  {
    const auto good = health.add({.name = "good"}, runtime->loop(0), [] { return fine_later(); });
    const auto hangs = health.add({.name = "hangs", .degrades = true, .timeout = 10_ms}, runtime->loop(0),
                                  [&] { return never_answers(cancelled); });
    health.start(5_ms);

    EXPECT_TRUE(until([&] { return cancelled > 1; })) << "and it is run again";
    EXPECT_TRUE(until([&] { return has(ready(health), R"("good","status":"ok")"); }));
    EXPECT_TRUE(has(ready(health), R"("hangs","status":"degraded")")) << ready(health).body;
  }
  EXPECT_TRUE(ready(health).well);
  runtime->stop();
}

TEST(Health, a_loop_that_does_not_turn_answers_no_check) {
  auto runtime = io::Runtime::make({.workers = 1, .engine = io::EngineKind::Epoll}).value();
  ASSERT_TRUE(runtime->start());
  Health health;
  Gate gate;
  std::thread holds([&] { runtime->each([&](io::Loop&) { (void)gate.wait().is_ok(); }); });
  {
    const auto check = health.add({.name = "worker 0", .kind = Kind::Liveness, .timeout = 20_ms}, runtime->loop(0),
                                  [] { return fine_later(); });
    health.start(5_ms);

    EXPECT_TRUE(until([&] { return !live(health).well; }));
    EXPECT_TRUE(has(live(health), "no result for 0.02 s")) << live(health).body;
    gate.open();
    EXPECT_TRUE(until([&] { return live(health).well; }));
  }
  holds.join();
  runtime->stop();
}

TEST(Health, start_up_checks_pass_once_and_readiness_waits_for_them) {
  Health health;
  health.start_complete();
  std::atomic<bool> warm = false;
  std::atomic<int> runs = 0;
  const auto check = health.add({.name = "cache is warm", .kind = Kind::Startup}, [&]() -> Result<> {
    ++runs;
    if (!warm) return fail(Code::Unavailable, "cold");
    return {};
  });
  health.start(2_ms);
  EXPECT_TRUE(until([&] { return runs > 2; }));
  EXPECT_FALSE(started(health).well);
  EXPECT_TRUE(has(ready(health), R"({"name":"start","status":"failing","last_error":"not complete"})"));

  warm = true;
  EXPECT_TRUE(until([&] { return started(health).well && ready(health).well; }));
  warm = false;
  const int before = runs;
  ::usleep(20'000);
  EXPECT_EQ(runs, before);
  EXPECT_TRUE(started(health).well);
}

TEST(Health, a_drain_fails_readiness_and_nothing_else) {
  Health health;
  health.start_complete();

  health.drain("draining");

  EXPECT_TRUE(live(health).well);
  EXPECT_TRUE(started(health).well);
  EXPECT_FALSE(ready(health).well);
  EXPECT_EQ(ready(health).body, R"({"status":"failing","checks":[{"name":"start","status":"ok"},)"
                                R"({"name":"drain","status":"failing","last_error":"draining"}]})");
}

TEST(Health, an_exception_fails_its_check) {
  Health health;
  const auto check = health.add({.name = "throws"}, []() -> Result<> { throw std::runtime_error("oh"); });
  health.start(1_h);
  ASSERT_TRUE(health.wait_checked(10_s));

  EXPECT_TRUE(has(ready(health), R"("last_error":"exception: oh")")) << ready(health).body;
}

TEST(Health, a_check_ends_with_its_handle) {
  Health health;
  health.start(1_ms);
  {
    auto first = health.add({.name = "loop", .kind = Kind::Liveness},
                            []() -> Result<> { return fail(Code::Internal, "stuck"); });
    Health::Check moved = std::move(first);
    EXPECT_TRUE(until([&] { return !live(health).well; }));
  }
  EXPECT_TRUE(live(health).well);
}

TEST(Health, may_be_asked_and_changed_on_any_thread) {
  Health health;
  health.start(1_ms);
  std::atomic<bool> stop = false;
  auto asking = Host::current().start_thread("asking", [&] {
    while (!stop) ready(health);
  });

  for (int i = 0; i < 200; ++i) {
    bool alive = true;  // Gone with the loop's turn: a check that still ran would be a use after scope.
    const auto check = health.add({.name = "x"}, [&alive]() -> Result<> {
      if (!alive) return fail(Code::Internal, "gone");
      return {};
    });
    if (i == 100) health.start_complete();
    if (i % 4 == 0) {
      EXPECT_TRUE(health.wait_checked(10_s));
    }
  }
  stop = true;
  asking->join();

  EXPECT_TRUE(ready(health).well);
}

TEST(Health, has_metrics) {
  metrics::Registry registry;
  Health health(&registry);
  const auto good = health.add({.name = "good"}, fine);
  const auto bad = health.add({.name = "bad"}, []() -> Result<> {
    ::usleep(2000);
    return fail(Code::Unavailable, "down");
  });
  health.start(1_h);
  ASSERT_TRUE(health.wait_checked(10_s));

  EXPECT_EQ(registry.gauge("health_check_up", "Whether the last run of the check passed", {{"check", "good"}}).value(),
            metrics::is_recorded ? 1 : 0);
  EXPECT_EQ(registry.gauge("health_check_up", "Whether the last run of the check passed", {{"check", "bad"}}).value(),
            0);
  const double took =
      registry.gauge("health_check_duration_seconds", "Duration of the last run of the check", {{"check", "bad"}})
          .value();
  EXPECT_TRUE(!metrics::is_recorded || took >= 0.002) << took;
}

TEST(Health, logs_when_a_check_begins_and_ceases_to_fail) {
  if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  log::Reader reader(false);
  reader.drain([](const log::Record&) {});
  {
    Health health;
    std::atomic<bool> down = true;
    std::atomic<int> runs = 0;
    const auto check = health.add({.name = "x"}, [&]() -> Result<> {
      ++runs;
      if (down) return fail(Code::Unavailable, "down");
      return {};
    });
    health.start(1_ms);
    ASSERT_TRUE(until([&] { return runs > 5; }));
    down = false;
    const int before = runs;
    ASSERT_TRUE(until([&] { return runs > before + 5; }));
  }

  std::vector<std::string> lines;
  reader.drain([&](const log::Record& record) { lines.emplace_back(record.message()); });
  EXPECT_EQ(lines, (std::vector<std::string>{"a health check failed", "a health check succeeds again"}));
}

TEST(HealthChecks, of_a_name_twice_or_with_a_need_that_is_not_there_are_a_bug) {
  Health health;
  const auto check = health.add({.name = "database", .kind = Kind::Liveness}, fine);

  EXPECT_THROW((void)health.add({.name = "database"}, fine), Bug);
  EXPECT_THROW((void)health.add({.name = "drain"}, fine), Bug);
  EXPECT_THROW((void)health.add({.name = "x", .needs = {"y"}}, fine), Bug);
}

}  // namespace
}  // namespace keel::app::health_test
