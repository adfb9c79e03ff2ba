#include "keel/io/loop.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string_view>
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

std::vector<std::unique_ptr<Loop>> loops_of_every_engine() {
  std::vector<std::unique_ptr<Loop>> loops;
  for (const EngineKind kind : {EngineKind::Epoll, EngineKind::Uring}) {
    if (auto engine = make_engine(kind)) loops.push_back(std::make_unique<Loop>(*std::move(engine), Host::system()));
  }
  return loops;
}

// Looks at the clocks of the loop that runs it.
struct Look : Job {
  Look()
      : Job([](Job& job) noexcept {
          auto& self = static_cast<Look&>(job);
          self.now = Loop::current()->now();
          self.busy_since = Loop::current()->busy_since();
        }) {}
  Instant now;
  Instant busy_since;
};

TEST(Loop, knows_the_time_after_turns_that_found_nothing) {
  for (auto& loop : loops_of_every_engine()) {
    SCOPED_TRACE(loop->engine().name());
    const Loop::Entered entered(*loop);
    Look look;
    const Instant end = Host::system().now() + 5_ms;
    while (Host::system().now() < end) loop->turn(Instant());
    EXPECT_EQ(loop->busy_since(), Instant());

    loop->post(look);
    loop->turn(Instant());

    EXPECT_GE(look.now, end);
    EXPECT_EQ(look.busy_since, look.now);
    EXPECT_GE(loop->now(), end);
  }
}

TEST(Loop, knows_the_time_in_its_first_turn) {
  for (auto& loop : loops_of_every_engine()) {
    SCOPED_TRACE(loop->engine().name());
    Look look;
    Look again;
    usleep(1000);
    const Instant start = Host::system().now();
    loop->post(look);
    {
      const Loop::Entered entered(*loop);
      loop->turn(Instant());
    }
    EXPECT_GE(look.now, start);
    EXPECT_EQ(look.busy_since, look.now);

    // And in the first one of another run.
    loop->stop();
    loop->run();
    usleep(1000);
    const Instant restart = Host::system().now();
    loop->post(again);
    {
      const Loop::Entered entered(*loop);
      loop->turn(Instant());
    }
    EXPECT_GE(again.now, restart);
    EXPECT_EQ(again.busy_since, again.now);
  }
}

// What arrives while a loop looks for jobs must not run with the clock of an earlier turn.
TEST(Loop, knows_the_time_in_whatever_others_post) {
  for (auto& loop : loops_of_every_engine()) {
    SCOPED_TRACE(loop->engine().name());
    const Loop::Entered entered(*loop);
    std::vector<Look> looks(20'000);
    std::thread other([&] {
      for (Look& look : looks) {
        loop->post(look);
        const Instant pause = Host::system().now() + 500_ns;  // In which the loop finds nothing.
        while (Host::system().now() < pause) continue;
      }
    });
    while (looks.back().now == Instant()) loop->turn(Instant());
    other.join();
    EXPECT_EQ(std::ranges::count(looks, Instant(), &Look::busy_since), 0);
  }
}

TEST(Loop, fires_a_timer_in_turns_that_do_not_wait) {
  for (auto& loop : loops_of_every_engine()) {
    SCOPED_TRACE(loop->engine().name());
    const Loop::Entered entered(*loop);
    struct Ring : Timer {
      Ring() : Timer([](Timer& timer) noexcept { static_cast<Ring&>(timer).rang = Loop::current()->now(); }) {}
      Instant rang;
    } ring;
    for (int i = 0; i < 10; ++i) loop->turn(Instant());
    const Instant due = loop->now() + 3_ms;
    loop->start_timer(ring, due);

    const Instant end = Host::system().now() + 10_s;
    while (ring.is_running() && Host::system().now() < end) loop->turn(Instant());

    EXPECT_GE(ring.rang, due);
  }
}

TEST(Loop, finds_what_arrives_in_turns_that_do_not_wait) {
  for (auto& loop : loops_of_every_engine()) {
    SCOPED_TRACE(loop->engine().name());
    const Loop::Entered entered(*loop);
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    struct Bytes : Receive {
      Bytes()
          : Receive([](Op& op) noexcept {
              if (op.result > 0) static_cast<Bytes&>(op).count += op.result;
            }) {}
      int count = 0;
    } bytes;
    bytes.fd = pair[0];
    loop->engine().submit(bytes);
    for (int i = 0; i < 100; ++i) loop->turn(Instant());
    const std::uint64_t calls_before = loop->engine().system_calls();
    for (int i = 0; i < 100; ++i) loop->turn(Instant());
    const std::uint64_t calls = loop->engine().system_calls() - calls_before;
    // io_uring says in its ring that nothing has come.
    EXPECT_EQ(calls, loop->engine().name() == std::string_view("uring") ? 0u : 100u);

    for (int sent = 1; sent <= 20; ++sent) {
      ASSERT_EQ(write(pair[1], "k", 1), 1);
      const Instant end = Host::system().now() + 10_s;
      while (bytes.count < sent && Host::system().now() < end) loop->turn(Instant());
      ASSERT_EQ(bytes.count, sent);
    }

    loop->engine().cancel(bytes);
    while (bytes.pending) loop->turn(Instant());
    loop->engine().close(pair[0]);
    loop->turn(Instant());
    close(pair[1]);
  }
}

}  // namespace
}  // namespace keel::io
