#include "keel/app/background_work.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "keel/base/bug.h"
#include "keel/base/host.h"
#include "keel/data/date.h"
#include "keel/data/timestamp.h"
#include "keel/exec/call.h"
#include "keel/io/testing/simulation.h"
#include "keel/observe/span.h"
#include "keel/task/leaf.h"
#include "keel/task/start.h"
#include "keel/task/timing.h"
#include "keel/telemetry/log_writer.h"

namespace keel::app::background_work_test {
namespace {

using State = WorkStatus::State;
using Seconds = std::vector<double>;

// A loop in virtual time, its background work, and what was logged.
class World {
 public:
  explicit World(const sim::SimOptions& options = {}) : simulation(options), loop(simulation.add_loop()) {
    log::set_level("app.background", Level::Debug);
    telemetry::LogWriterOptions logs;
    logs.mode = telemetry::LogWriterOptions::Mode::Manual;
    logs.sinks.emplace_back();
    logs.sinks[0].to = telemetry::LogSink::To::Function;
    logs.sinks[0].write = [this](std::string_view lines) { log_.append(lines); };
    logs_ = telemetry::LogWriter::make(std::move(logs)).value();
  }

  void start() {
    began_ = simulation.now();
    on_loop([this] {
      if (starting_.begin(work.start(), [](StartCore&) noexcept {})) return;
    });
  }
  // Seconds of virtual time since start().
  double now() { return std::round((simulation.now() - began_).count_seconds() * 100) / 100; }
  void run_for(Duration time) {
    const Instant until = simulation.now() + time;
    simulation.run_until([&] { return simulation.now() >= until; }, time + 1_s);
  }
  Result<> started() {
    EXPECT_TRUE(simulation.run_until([&] { return starting_.has_ended(); }, 1_h)) << "start() has not ended";
    return starting_.take();
  }
  void begin_stop() {
    on_loop([this] {
      if (stopping_.begin(work.stop(), [](StartCore&) noexcept {})) return;
    });
  }
  bool stops_within(Duration limit) {
    return simulation.run_until([&] { return stopping_.has_ended(); }, limit);
  }
  // The loop runs `f` in its next turn.
  void on_loop(Function<void()> f) {
    bool is_done = false;
    ASSERT_TRUE(execute(loop, [&is_done, f = std::move(f)] { f(), is_done = true; }));
    ASSERT_TRUE(simulation.run_until([&] { return is_done; }, 10_s));
  }
  WorkStatus status(std::size_t i = 0) const { return work.status().at(i); }
  const std::string& log() {
    logs_->flush();
    return log_;
  }
  int logged(std::string_view part) {
    int count = 0;
    for (std::size_t at = 0; (at = log().find(part, at)) != std::string::npos; ++at) ++count;
    return count;
  }

  sim::Simulation simulation;
  io::Loop& loop;
  metrics::Registry registry;
  BackgroundWork work{&registry};

 private:
  std::string log_;
  std::unique_ptr<telemetry::LogWriter> logs_;
  Instant began_;
  Start<void> starting_;
  Start<void> stopping_;
};

void end(World& world) {
  world.begin_stop();
  ASSERT_TRUE(world.stops_within(10_s));
}

// Runs that note when they begin, and then take a time of their own.
struct Noted {
  World& world;
  Seconds begins = {};
  Duration takes = {};
  int fails = 0;  // So many of the next ones.

  Task<> run() {
    begins.push_back(world.now());
    co_await sleep_for(takes);
    if (fails > 0) {
      --fails;
      co_await fail(Code::Unavailable, "the warehouse does not respond");
    }
  }
};

TEST(Every, runs_at_once_and_then_in_a_fixed_rhythm) {
  World world;
  Noted noted{world, {}, 3_s};
  world.work.every(10_s, "expire", [&] { return noted.run(); });

  world.start();
  EXPECT_TRUE(world.started());
  world.run_for(35_s);
  end(world);

  EXPECT_EQ(noted.begins, (Seconds{0, 10, 20, 30})) << "the time that a run takes does not shift the next";
  EXPECT_EQ(world.status().runs, 4u);
  EXPECT_EQ(world.status().skipped, 0u);
}

TEST(Every, begins_later_when_it_is_asked_to) {
  World world;
  Noted noted{world};
  world.work.every(10_s, "expire", [&] { return noted.run(); }, {.first_after = 4_s});

  world.start();
  world.run_for(30_s);
  end(world);

  EXPECT_EQ(noted.begins, (Seconds{4, 14, 24}));
}

TEST(Every, is_late_at_random_and_stays_in_its_rhythm) {
  World world;
  Noted noted{world};
  world.work.every(10_s, "expire", [&] { return noted.run(); }, {.jitter = 5_s});

  world.start();
  world.run_for(1000_s);
  end(world);

  ASSERT_EQ(noted.begins.size(), 100u);
  double sum = 0;
  for (std::size_t i = 0; i < noted.begins.size(); ++i) {
    const double late = noted.begins[i] - 10 * static_cast<double>(i);
    EXPECT_GE(late, 0);
    EXPECT_LE(late, 5.01);
    sum += late;
  }
  EXPECT_NEAR(sum / 100, 2.5, 0.6);
}

TEST(Every, never_overlaps_itself_and_counts_the_beats_that_it_missed) {
  World world;
  Noted noted{world, {}, 25_s};
  world.work.every(10_s, "expire", [&] { return noted.run(); });

  world.start();
  world.run_for(80_s);
  end(world);

  EXPECT_EQ(noted.begins, (Seconds{0, 30, 60}));
  EXPECT_EQ(world.status().skipped, 4u) << "10 and 20, 40 and 50";
  EXPECT_EQ(
      world.registry
          .counter("background_skipped_total",
                   "Scheduled runs of repeated work that were skipped because an earlier run took too long or failed",
                   {{"work", "expire"}, {"reason", "overrun"}})
          .value(),
      metrics::is_recorded ? 4u : 0u);
}

// The hours of UTC at which runs began, on the clock of the simulation.
struct NotedTimes {
  std::vector<std::string> begins = {};
  Duration takes = {};
  int fails = 0;

  Task<> run() {
    begins.emplace_back(Timestamp::from_unix_ns(Host::current().wall_ns()).text().view().substr(0, 16));
    co_await sleep_for(takes);
    if (fails > 0) {
      --fails;
      co_await fail(Code::Unavailable, "the warehouse does not respond");
    }
  }
};

TEST(Daily, runs_once_a_day_at_its_time_of_day) {
  World world;
  const Timestamp begins = Timestamp::from_unix_ns(world.simulation.wall_ns());
  const Timestamp later = begins + 90_min;
  const std::string time(later.text().view().substr(11, 5));
  NotedTimes noted;
  world.work.daily(time, "tidy", [&] { return noted.run(); });

  world.start();
  EXPECT_TRUE(world.started());
  world.run_for(4_d);
  end(world);

  ASSERT_EQ(noted.begins.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(noted.begins[static_cast<std::size_t>(i)], (later + i * 1_d).text().view().substr(0, 16));
  }
  EXPECT_EQ(world.status().kind, WorkStatus::Kind::Daily);
  EXPECT_EQ(world.status().runs, 4u);
  EXPECT_EQ(world.status().skipped, 0u);
}

TEST(Daily, waits_for_the_next_day_when_its_time_is_past_and_does_not_run_at_the_start) {
  World world;
  const Timestamp begins = Timestamp::from_unix_ns(world.simulation.wall_ns());
  NotedTimes noted;
  world.work.daily((begins - 1_min).text().view().substr(11, 5), "tidy", [&] { return noted.run(); });

  world.start();
  EXPECT_TRUE(world.started());
  world.run_for(23_h);
  EXPECT_TRUE(noted.begins.empty());
  world.run_for(1_h);
  end(world);

  EXPECT_EQ(noted.begins.size(), 1u);
}

TEST(Daily, leaves_out_what_a_long_run_has_missed_and_stays_at_its_time) {
  World world;
  const Timestamp first = Timestamp::from_unix_ns(world.simulation.wall_ns()) + 10_min;
  NotedTimes noted{.takes = 50_h};
  world.work.daily(first.text().view().substr(11, 8), "tidy", [&] { return noted.run(); });

  world.start();
  EXPECT_TRUE(world.started());
  world.run_for(7_d);
  end(world);

  ASSERT_EQ(noted.begins.size(), 3u);
  EXPECT_EQ(noted.begins[1], (first + 3_d).text().view().substr(0, 16));
  EXPECT_EQ(noted.begins[2], (first + 6_d).text().view().substr(0, 16));
  EXPECT_EQ(world.status().skipped, 4u);
}

TEST(Daily, that_fails_runs_again_the_next_day) {
  World world;
  const Timestamp first = Timestamp::from_unix_ns(world.simulation.wall_ns()) + 10_min;
  NotedTimes noted{.fails = 1};
  world.work.daily(first.text().view().substr(11, 5), "tidy", [&] { return noted.run(); }, {.jitter = 30_min});

  world.start();
  EXPECT_TRUE(world.started());
  world.run_for(1_h);
  EXPECT_EQ(world.status().failures, 1u);
  EXPECT_EQ(world.status().state, WorkStatus::State::Waits) << "for its next day: daily work has no pause";
  EXPECT_EQ(world.logged("background work failed"), 1);
  EXPECT_EQ(world.logged("pause"), 0);
  world.run_for(2_d - 1_h);
  end(world);

  ASSERT_EQ(noted.begins.size(), 2u);
  EXPECT_EQ(noted.begins[0].substr(0, 10), Date::of(first).text());
  EXPECT_EQ(noted.begins[1].substr(0, 10), (Date::of(first + 1_d)).text());
  EXPECT_EQ(world.status().failures, 1u);
  EXPECT_EQ(world.logged("background work failed"), 1);
}

// A service whose daily work is due an hour after its start.
struct DueInAnHour {
  DueInAnHour() {
    world.work.daily(due.text().view().substr(11, 8), "tidy", [&] { return noted.run(); });
  }
  void start() {
    world.start();
    EXPECT_TRUE(world.started());
  }
  void run_until(Timestamp calendar) {
    while (wall() < calendar) world.run_for(calendar - wall());
  }
  Timestamp wall() { return Timestamp::from_unix_ns(world.simulation.wall_ns()); }
  std::string minute_of(Timestamp time) { return std::string(time.text().view().substr(0, 16)); }

  World world;
  const Timestamp due = Timestamp::from_unix_ns(world.simulation.wall_ns()) + 1_h;
  NotedTimes noted;
};

TEST(Daily, runs_once_each_day_while_a_clock_is_set_back_and_forward_by_minutes) {
  // Each at a moment relative to the time of the run, and by how much; the clock is corrected a quarter of an hour
  // later.
  const struct {
    Duration at, by;
  } steps[] = {{-2_min, -5_min}, {-2_min, 5_min}, {-1_s, 1_s},    {Duration(), -1_s}, {1_s, -2_s},      {1_s, -5_min},
               {1_s, 5_min},     {2_min, -5_min}, {2_min, 5_min}, {-10_min, 20_min},  {10_min, -20_min}};
  for (const auto& [at, by] : steps) {
    SCOPED_TRACE(std::to_string(at.count_ms()) + " ms, by " + std::to_string(by.count_ms()) + " ms");
    DueInAnHour daily;
    daily.start();
    daily.run_until(daily.due + at);
    daily.world.simulation.set_calendar(by);
    daily.world.run_for(15_min);
    daily.world.simulation.set_calendar(-by);
    daily.run_until(daily.due + 2_d + 12_h);

    ASSERT_EQ(daily.noted.begins.size(), 3u);
    for (int day = 0; day < 3; ++day) {
      EXPECT_EQ(daily.noted.begins[static_cast<std::size_t>(day)].substr(0, 10),
                Date::of(daily.due + day * 1_d).text().view());
    }
    EXPECT_EQ(daily.noted.begins[1], daily.minute_of(daily.due + 1_d));
    EXPECT_EQ(daily.noted.begins[2], daily.minute_of(daily.due + 2_d));
    EXPECT_EQ(daily.world.status().skipped, 0u);
    end(daily.world);
  }
}

TEST(Daily, does_not_run_again_when_the_clock_is_set_back_while_it_runs) {
  for (const Duration by : {1_s, 10_min, 23_h}) {
    DueInAnHour daily;
    daily.noted.takes = 10_min;
    daily.start();
    daily.run_until(daily.due + 5_min);
    daily.world.simulation.set_calendar(-by);
    daily.run_until(daily.due + 12_h);
    EXPECT_EQ(daily.noted.begins.size(), 1u) << by.count_seconds();
    daily.run_until(daily.due + 1_d + 12_h);
    EXPECT_EQ(daily.noted.begins.size(), 2u);
    end(daily.world);
  }
}

TEST(Daily, runs_once_when_a_machine_is_resumed_days_later_and_then_at_its_time) {
  DueInAnHour daily;
  daily.start();
  daily.world.run_for(10_min);
  daily.world.simulation.set_calendar(3_d + 5_h);
  daily.run_until(daily.due + 5_d + 1_h);
  end(daily.world);

  ASSERT_EQ(daily.noted.begins.size(), 3u);
  EXPECT_EQ(daily.noted.begins[0], daily.minute_of(daily.due - 49_min + 3_d + 5_h)) << "within a minute of the resume";
  EXPECT_EQ(daily.noted.begins[1], daily.minute_of(daily.due + 4_d));
  EXPECT_EQ(daily.noted.begins[2], daily.minute_of(daily.due + 5_d));
  EXPECT_EQ(daily.world.status().skipped, 0u) << "no run took too long";
}

TEST(Daily, follows_a_clock_that_was_wrong_by_years_for_some_minutes) {
  for (const Duration by : {-400_d, 400_d}) {
    DueInAnHour daily;
    daily.start();
    daily.world.run_for(10_min);
    daily.world.simulation.set_calendar(by);
    daily.world.run_for(10_min);
    daily.world.simulation.set_calendar(-by);
    daily.run_until(daily.due + 1_d + 1_h);
    end(daily.world);

    // The time of a run is passed once: by the wrong clock, or by its correction.
    ASSERT_EQ(daily.noted.begins.size(), 3u) << by.count_seconds();
    EXPECT_EQ(daily.noted.begins[1], daily.minute_of(daily.due));
    EXPECT_EQ(daily.noted.begins[2], daily.minute_of(daily.due + 1_d));
    EXPECT_EQ(daily.world.status().skipped, 0u);
  }
}

TEST(Daily, needs_a_time_of_day) {
  for (const char* time : {"", "3:30", "03.30", "24:00", "03:60", "03:30:60", "03:30Z", "0330", "03:30:1", "aa:bb"}) {
    BackgroundWork work;
    EXPECT_THROW(work.daily(time, "tidy", []() -> Task<> { co_return; }), Misconfigured) << time;
    EXPECT_TRUE(work.empty());
  }
  BackgroundWork work;
  work.daily("23:59:59", "tidy", []() -> Task<> { co_return; });
  EXPECT_EQ(work.status().at(0).time_of_day, 1_d - 1_s);
  work.daily("00:00", "midnight", []() -> Task<> { co_return; });
  EXPECT_EQ(work.status().at(1).time_of_day, Duration());
}

TEST(Every, logs_and_counts_each_failure_once_and_backs_off) {
  World world;
  Noted noted{world, {}, {}, 6};
  world.work.every(10_s, "expire", [&] { return noted.run(); }, {.backoff_first = 4_s, .backoff_max = 64_s});

  world.start();
  world.run_for(400_s);
  end(world);

  ASSERT_GE(noted.begins.size(), 8u);
  // Pauses of 2 to 4, 4 to 8, 8 to 16, 16 to 32, 32 to 64 and again 32 to 64 s, and then on to the next beat.
  const double least[] = {10, 10, 10, 20, 40, 40, 10};
  const double most[] = {10, 10, 20, 40, 70, 70, 10};
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_GE(noted.begins[i + 1] - noted.begins[i], least[i]) << i;
    EXPECT_LE(noted.begins[i + 1] - noted.begins[i], most[i]) << i;
    EXPECT_NEAR(std::fmod(noted.begins[i], 10), 0, 0.02) << "it stays in its rhythm";
  }
  EXPECT_EQ(world.status().failures, 6u);
  EXPECT_GT(world.status().skipped, 0u);
  EXPECT_EQ(world.status().state, State::Ended);
  EXPECT_NE(world.status().last_error.find("the warehouse does not respond"), std::string::npos);
  EXPECT_GT(world.status().last_success_wall_ns, 0);
  EXPECT_EQ(world.logged("background work failed"), 6) << world.log();
  EXPECT_EQ(world.logged(R"("level":"error")"), 6) << world.log();
  EXPECT_NE(world.log().find(R"("work":"expire")"), std::string::npos);
  EXPECT_NE(world.log().find(R"("failures":6)"), std::string::npos);
}

TEST(Every, survives_exceptions_of_a_coroutine_and_of_what_is_none) {
  World world;
  int runs = 0;
  world.work.every(10_s, "coroutine", [&]() -> Task<> {
    ++runs;
    co_await sleep_for(1_ms);
    throw std::runtime_error("thrown in a coroutine");
  });
  world.work.every(10_s, "plain", [&]() -> Task<> { throw std::runtime_error("thrown before there is one"); });

  world.start();
  world.run_for(25_s);
  end(world);

  EXPECT_EQ(runs, 3);
  EXPECT_EQ(world.status(0).failures, 3u);
  EXPECT_NE(world.status(0).last_error.find("thrown in a coroutine"), std::string::npos);
  EXPECT_EQ(world.status(1).failures, 3u);
  EXPECT_NE(world.status(1).last_error.find("thrown before there is one"), std::string::npos);
}

TEST(Every, stops_a_run_at_its_time_limit_and_has_failed) {
  World world;
  Noted noted{world, {}, 1_h};
  world.work.every(10_s, "expire", [&] { return noted.run(); }, {.time_limit = 4_s});

  world.start();
  world.run_for(12_s);
  end(world);

  EXPECT_EQ(noted.begins, (Seconds{0, 10}));
  EXPECT_EQ(world.status().failures, 1u) << "the second one was stopped with the work";
  EXPECT_NEAR(world.status().last_took.count_seconds(), 4, 1.1);
  EXPECT_NE(world.status().last_error.find("has passed"), std::string::npos) << world.status().last_error;
}

TEST(Every, gives_each_run_a_trace_that_its_log_lines_carry) {
  World world;
  std::vector<log::TraceId> traces;
  const log::Logger log("app.background.test");
  world.work.every(10_s, "expire", [&]() -> Task<> {
    log.info("begins");
    co_await sleep_for(1_s);
    log.info("goes on");
    traces.push_back(current_span()->trace);
  });

  world.start();
  world.run_for(15_s);
  end(world);

  ASSERT_EQ(traces.size(), 2u);
  EXPECT_TRUE(traces[0]);
  EXPECT_FALSE(traces[0] == traces[1]);
  EXPECT_EQ(world.logged(R"("trace":")"), 6) << "two lines and that of the end, twice: " << world.log();
}

TEST(Background, is_begun_again_after_it_has_failed_and_later_each_time) {
  World world;
  Noted noted{world, {}, 1_s, 4};
  world.work.background("consume", [&] { return noted.run(); }, {.backoff_first = 10_s, .backoff_max = 40_s});

  world.start();
  world.run_for(400_s);

  ASSERT_EQ(noted.begins.size(), 5u) << "the fifth is done";
  const double least[] = {5, 10, 20, 20};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_GE(noted.begins[i + 1] - noted.begins[i] - 1, least[i] - 0.02);
    EXPECT_LE(noted.begins[i + 1] - noted.begins[i] - 1, std::min(2 * least[i], 40.0) + 0.02);
  }
  EXPECT_EQ(world.status().state, State::Ended);
  EXPECT_EQ(world.logged("background work is done"), 1);
  EXPECT_EQ(world.logged("background work failed"), 4);
  end(world);
}

TEST(Background, that_ran_for_long_before_it_failed_begins_to_count_anew) {
  World world;
  Noted noted{world, {}, 100_s, 5};
  world.work.background("consume", [&] { return noted.run(); }, {.backoff_first = 10_s, .backoff_max = 80_s});

  world.start();
  world.run_for(550_s);
  end(world);

  ASSERT_EQ(noted.begins.size(), 6u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_LE(noted.begins[i + 1] - noted.begins[i], 110.02);
}

TEST(AtStart, runs_before_everything_else_and_in_order) {
  World world;
  std::vector<std::string> order;
  const auto step = [&](const char* name) {
    return [&order, name]() -> Task<> {
      co_await sleep_for(1_s);
      order.emplace_back(name);
    };
  };
  world.work.every(10_s, "expire", step("expire"));
  world.work.at_start("migrate", step("migrate"));
  world.work.at_start("warm", step("warm"));

  world.start();
  EXPECT_TRUE(world.started());
  EXPECT_EQ(order, (std::vector<std::string>{"migrate", "warm"}));
  world.run_for(5_s);
  end(world);

  EXPECT_EQ(order, (std::vector<std::string>{"migrate", "warm", "expire"}));
}

TEST(AtStart, that_fails_is_the_error_of_the_start_and_nothing_more_begins) {
  World world;
  Noted good{world};
  Noted bad{world, {}, 1_s, 1};
  world.work.at_start("warm", [&] { return bad.run(); });
  world.work.at_start("never", [&] { return good.run(); });
  world.work.every(10_s, "expire", [&] { return good.run(); });

  world.start();
  const Result<> result = world.started();
  world.run_for(30_s);
  end(world);

  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::Unavailable);
  EXPECT_NE(result.error().describe().find("at_start \"warm\""), std::string::npos) << result.error().describe();
  EXPECT_TRUE(good.begins.empty());
  EXPECT_EQ(world.logged("background work failed"), 0) << "whoever awaits start() has that error";
}

TEST(AtStart, is_stopped_with_the_start) {
  World world;
  Noted noted{world, {}, 1_h};
  world.work.at_start("warm", [&] { return noted.run(); });
  world.work.every(10_s, "expire", [&] { return noted.run(); });

  world.start();
  world.run_for(5_s);
  end(world);

  const Result<> result = world.started();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::Cancelled);
  EXPECT_EQ(noted.begins.size(), 1u);
}

TEST(Stop, ends_what_sleeps_at_once) {
  World world;
  Noted noted{world};
  world.work.every(1_h, "expire", [&] { return noted.run(); });
  world.start();
  world.run_for(5_s);

  world.begin_stop();

  EXPECT_TRUE(world.stops_within(10_ms));
  EXPECT_EQ(noted.begins, Seconds{0});
}

TEST(Stop, ends_what_runs_and_that_is_no_failure) {
  World world;
  Noted one{world, {}, 1_h};
  Noted two{world, {}, 1_h};
  world.work.every(10_s, "expire", [&] { return one.run(); });
  world.work.background("consume", [&] { return two.run(); });
  world.start();
  world.run_for(5_s);
  EXPECT_EQ(world.work.running(), "expire, consume");

  world.begin_stop();

  EXPECT_TRUE(world.stops_within(10_ms));
  EXPECT_EQ(world.work.running(), "");
  EXPECT_EQ(world.status(0).failures + world.status(1).failures, 0u);
  EXPECT_EQ(world.status(0).skipped, 0u);
  EXPECT_EQ(world.logged("background work failed"), 0);
}

Task<> with_limit(BackgroundWork& work) { co_await with_timeout(2_s, work.stop()); }

// Completes when the test says so, whether it is stopped or not.
class Deaf : public Leaf {
 public:
  using Value = void;
  explicit Deaf(Function<void()>& complete) noexcept : complete_(complete) {}
  bool start() noexcept {
    complete_ = [this] { wake(); };
    return false;
  }
  Result<> take() noexcept { return {}; }

 private:
  Function<void()>& complete_;
};

TEST(Stop, waits_for_what_does_not_listen_as_long_as_its_caller_does) {
  World world;
  Function<void()> complete;
  world.work.background("deaf", [&]() -> Task<> { co_await Deaf(complete); });
  world.start();
  world.run_for(100_ms);
  Start<void> bounded;
  world.on_loop([&] { bounded.begin(with_limit(world.work), [](StartCore&) noexcept {}); });

  EXPECT_TRUE(world.simulation.run_until([&] { return bounded.has_ended(); }, 10_s));
  EXPECT_EQ(bounded.take().error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(world.work.running(), "deaf") << "so that it can be named";

  world.begin_stop();
  EXPECT_FALSE(world.stops_within(5_s));
  world.on_loop([&] { complete(); });
  EXPECT_TRUE(world.stops_within(1_s));
}

TEST(Stop, counts_what_fails_while_it_ends) {
  World world;
  world.work.background("consume", []() -> Task<> {
    const Result<> slept = co_await attempt(sleep_for(1_h));
    if (!slept) throw std::runtime_error("could not tidy up");
  });
  world.start();
  world.run_for(1_s);

  end(world);

  EXPECT_EQ(world.status().failures, 1u);
  EXPECT_EQ(world.logged("could not tidy up"), 1);
}

TEST(Stop, of_what_never_began_has_nothing_to_wait_for) {
  World world;
  world.work.every(1_s, "expire", []() -> Task<> { co_return; });

  end(world);

  EXPECT_EQ(world.status().state, State::NotBegun);
}

TEST(BackgroundWork, is_measured) {
  if (!metrics::is_recorded) GTEST_SKIP() << "compiled out";
  World world;
  Noted noted{world, {}, 2_s, 1};
  world.work.every(10_s, "expire", [&] { return noted.run(); });
  world.start();
  world.run_for(15_s);
  auto& registry = world.registry;
  const metrics::Label label[] = {{"work", "expire"}};
  const metrics::Labels labels{std::span(label)};

  EXPECT_EQ(registry.counter("background_runs_total", "Runs of background work that have ended", labels).value(), 2u);
  EXPECT_EQ(registry.counter("background_failures_total", "Runs of background work that failed", labels).value(), 1u);
  const metrics::Gauge running = registry.gauge("background_running", "Whether the background work is running", labels);
  EXPECT_EQ(running.value(), 0);
  world.run_for(6_s);
  EXPECT_EQ(running.value(), 1);
  EXPECT_NEAR(registry
                  .gauge("background_last_success_timestamp_seconds",
                         "End time of the last successful run of background work", labels)
                  .value(),
              1'767'225'612, 1)
      << "twelve seconds into 2026";
  end(world);
  EXPECT_EQ(running.value(), 0);
}

// Loops that stand still, clocks that jump: whatever happens, there is one run at a time, and it ends.
TEST(BackgroundWork, holds_its_promises_under_faults) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    World world(sim::SimOptions::faulty(seed));
    int at_once = 0, most_at_once = 0, runs = 0;
    std::uint32_t random = static_cast<std::uint32_t>(seed);
    const auto work = [&]() -> Task<> {
      ++runs;
      most_at_once = std::max(most_at_once, ++at_once);
      struct Leaves {
        int& count;
        ~Leaves() { --count; }
      } leaves{at_once};
      random = (random * 1103515245U + 12345U) & 0x7fffffffU;
      co_await sleep_for(Duration::milliseconds(random % 2000));
      if (random % 3 == 0) co_await fail(Code::Unavailable, "every third one fails");
      if (random % 7 == 0) throw std::runtime_error("every seventh throws");
    };
    world.work.every(1_s, "repeat", work, {.jitter = 500_ms, .time_limit = 1500_ms, .backoff_max = 4_s});

    world.start();
    world.run_for(100_s);
    world.begin_stop();

    EXPECT_TRUE(world.stops_within(10_s)) << world.simulation.replay();
    EXPECT_EQ(most_at_once, 1) << world.simulation.replay();
    EXPECT_EQ(at_once, 0) << world.simulation.replay();
    EXPECT_GT(runs, 15) << world.simulation.replay();
    const WorkStatus status = world.status();
    EXPECT_EQ(status.runs, static_cast<std::uint64_t>(runs)) << world.simulation.replay();
    EXPECT_GT(status.failures, 0u) << world.simulation.replay();
    EXPECT_LT(status.failures, status.runs) << world.simulation.replay();
    // Beats that are left out are counted when that is known, up to four seconds ahead.
    EXPECT_LE(static_cast<double>(status.runs + status.skipped), world.now() + 6) << world.simulation.replay();
  }
}

TEST(BackgroundWorkDeathTest, names_the_mistake) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto nothing = []() -> Task<> { co_return; };
  BackgroundWork work;
  work.at_start("warm", nothing);
  EXPECT_DEATH(work.background("warm", nothing), "two pieces of background work have the name \"warm\"");
  EXPECT_DEATH(work.at_start("", nothing), "needs a name");
  EXPECT_DEATH(work.every(Duration(), "a", nothing), "a period above zero");
  EXPECT_DEATH(work.every(1_s, "a", nothing, {.jitter = 2_s}), "the jitter of repeated work");
}

}  // namespace
}  // namespace keel::app::background_work_test
