#include "keel/io/loop.h"

#include <gtest/gtest.h>

#include <deque>
#include <thread>
#include <vector>

#include "keel/io/sim.h"

namespace keel::io {
namespace {

struct Step : Job {
  Step(std::vector<int>& o, int n)
      : Job([](Job& job) noexcept { static_cast<Step&>(job).order.push_back(static_cast<Step&>(job).number); }),
        order(o),
        number(n) {}
  std::vector<int>& order;
  int number;
};

TEST(Loop, runs_posted_jobs_in_order_and_never_inside_post) {
  sim::Simulation simulation;
  Loop& loop = simulation.add_loop();
  std::vector<int> order;
  std::deque<Step> steps;
  for (int i = 0; i < 5; ++i) steps.emplace_back(order, i);

  for (Step& step : steps) loop.post(step);
  EXPECT_TRUE(order.empty());
  ASSERT_TRUE(simulation.run_until([&] { return order.size() == 5; }, 1_s));

  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(Loop, is_host_and_executor_of_what_it_runs) {
  sim::Simulation simulation;
  Loop& loop = simulation.add_loop();
  struct Look : Job {
    Look()
        : Job([](Job& job) noexcept {
            auto& self = static_cast<Look&>(job);
            self.loop = Loop::current();
            self.host = &Host::current();
            self.executor = Executor::current();
          }) {}
    Loop* loop = nullptr;
    Host* host = nullptr;
    Executor* executor = nullptr;
  } look;
  loop.post(look);

  ASSERT_TRUE(simulation.run_until([&] { return look.loop != nullptr; }, 1_s));

  EXPECT_EQ(look.loop, &loop);
  EXPECT_EQ(look.host, &loop);
  EXPECT_EQ(look.executor, &loop);
  EXPECT_EQ(Loop::current(), nullptr);
}

TEST(Loop, runs_deferred_jobs_after_posted_ones_and_timers) {
  sim::Simulation simulation;
  Loop& loop = simulation.add_loop();
  std::vector<int> order;
  Step posted(order, 1), deferred(order, 3);
  struct Ring : Timer {
    explicit Ring(std::vector<int>& o)
        : Timer([](Timer& t) noexcept { static_cast<Ring&>(t).order.push_back(2); }), order(o) {}
    std::vector<int>& order;
  } timer(order);

  loop.defer(deferred);
  loop.start_timer(timer, loop.now() - 2_ms);
  loop.post(posted);
  ASSERT_TRUE(simulation.run_until([&] { return order.size() == 3; }, 1_s));

  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(Loop, a_stopped_timer_does_not_fire) {
  sim::Simulation simulation;
  Loop& loop = simulation.add_loop();
  bool fired = false;
  struct Ring : Timer {
    explicit Ring(bool& f) : Timer([](Timer& t) noexcept { static_cast<Ring&>(t).flag = true; }), flag(f) {}
    bool& flag;
  } timer(fired);
  loop.start_timer(timer, loop.now() + 10_ms);

  loop.stop_timer(timer);

  EXPECT_FALSE(simulation.run_until([&] { return fired; }, 1_s));
  EXPECT_EQ(loop.timers(), 0);
}

TEST(Loop, keeps_the_calendar_with_the_clock) {
  sim::Simulation simulation;
  Loop& loop = simulation.add_loop();
  struct Look : Timer {
    explicit Look(Loop& l)
        : Timer([](Timer& t) noexcept { static_cast<Look&>(t).wall = static_cast<Look&>(t).loop.wall_ns(); }),
          loop(l) {}
    Loop& loop;
    std::int64_t wall = 0;
  } look(loop);
  const std::int64_t start = simulation.wall_ns();
  loop.start_timer(look, simulation.now() + 5_s);

  ASSERT_TRUE(simulation.run_until([&] { return look.wall != 0; }, 6_s));

  EXPECT_GE(look.wall - start, (5_s).count_ns());
  EXPECT_LT(look.wall - start, (5_s + 5_ms).count_ns());
}

TEST(Loop, two_loops_draw_different_random_numbers) {
  sim::Simulation simulation;
  Loop& a = simulation.add_loop();
  Loop& b = simulation.add_loop();

  EXPECT_NE(a.random(), b.random());
  EXPECT_NE(a.random(), a.random());
}

TEST(Loop, takes_jobs_from_many_threads_and_stops_from_another) {
  for (const EngineKind kind : {EngineKind::Epoll, EngineKind::Auto}) {
    Loop loop(make_engine(kind).value(), Host::system());
    std::vector<int> order;
    std::deque<Step> steps;
    for (int i = 0; i < 3000; ++i) steps.emplace_back(order, i);
    std::vector<std::thread> posters;
    for (int t = 0; t < 3; ++t) {
      posters.emplace_back([&, t] {
        for (int i = 0; i < 1000; ++i) loop.post(steps[static_cast<std::size_t>(t * 1000 + i)]);
      });
    }
    std::thread stopper([&] {
      for (std::thread& poster : posters) poster.join();
      loop.stop();
    });

    loop.run();
    stopper.join();
    {
      Loop::Entered entered(loop);
      loop.turn(Instant());
    }

    ASSERT_EQ(order.size(), 3000u);
    // Jobs of one thread keep their order.
    int last[3] = {-1, 999, 1999};
    for (const int number : order) EXPECT_EQ(++last[number / 1000], number);
  }
}

}  // namespace
}  // namespace keel::io
