#include "keel/io/loop.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "keel/exec/call.h"
#include "keel/exec/serial_executor.h"
#include "keel/exec/submitted.h"
#include "keel/io/testing/loop_test.h"
#include "keel/io/testing/simulation.h"

namespace keel::io::loop_test {
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

// The system, whose calendar is set to another time.
struct SetClock final : Host {
  Instant now() noexcept override { return time; }
  std::int64_t wall_ns() noexcept override { return time.ns() + offset_ns; }
  std::uint64_t random() noexcept override { return Host::system().random(); }
  void secret(std::span<std::byte> out) noexcept override { secret_from_random(out); }
  void start_timer(Timer&, Instant) noexcept override {}
  void stop_timer(Timer&) noexcept override {}
  std::unique_ptr<Thread> start_thread(const char* name, Function<void()> body) override {
    return Host::system().start_thread(name, std::move(body));
  }
  Instant time = Instant() + 1_h;
  std::int64_t offset_ns = 0;
};

TEST(Loop, has_the_calendar_that_was_set_after_a_tenth_of_a_second) {
  SetClock clock;
  Loop loop(make_engine(EngineKind::Epoll).value(), clock);
  const Loop::Entered entered(loop);
  const auto turn = [&] {
    Job nothing([](Job&) noexcept {});
    loop.post(nothing);
    loop.turn(Instant());
    return loop.wall_ns();
  };
  EXPECT_EQ(turn(), clock.wall_ns());

  clock.offset_ns = (24_h).count_ns();
  clock.time = clock.time + 100_ms;

  EXPECT_EQ(turn(), clock.wall_ns());
}

TEST(Loop, two_loops_draw_different_random_numbers) {
  sim::Simulation simulation;
  Loop& a = simulation.add_loop();
  Loop& b = simulation.add_loop();

  EXPECT_NE(a.random(), b.random());
  EXPECT_NE(a.random(), a.random());
}

// The output function of SplitMix64, turned around: from a number to the state it was made of.
std::uint64_t unmix(std::uint64_t word) {
  word = (word ^ word >> 31 ^ word >> 62) * 0x319642b2d24d8ec3;
  word = (word ^ word >> 27 ^ word >> 54) * 0x96de1b173f119089;
  return word ^ word >> 30 ^ word >> 60;
}

TEST(Loop, gives_no_random_number_that_follows_from_those_before) {
  Loop loop(make_engine(EngineKind::Epoll).value(), Host::system());

  const std::uint64_t first = loop.random();
  const std::uint64_t second = loop.random();
  const std::uint64_t third = loop.random();

  EXPECT_NE(unmix(third), 2 * unmix(second) - unmix(first)) << "the steps between states are equal";
  EXPECT_NE(third, 2 * second - first);
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

class LoopLater : public testing::LoopTest {
 protected:
  Executor& executor() { return loop(); }
};
INSTANTIATE_TEST_SUITE_P(, LoopLater, testing::every_engine(), testing::name_of_engine);

TEST_P(LoopLater, runs_delayed_jobs_not_before_their_time_and_in_its_order) {
  std::string order;
  const Instant began = now();
  Instant at;
  auto last = submit_after(executor(), 20_ms, [&] {
    EXPECT_EQ(Executor::current(), &loop());
    at = now();
    order += 'c';
  });
  EXPECT_TRUE(execute_after(executor(), 10_ms, [&] { order += 'b'; }));
  EXPECT_TRUE(execute_after(executor(), Duration(), [&] { order += 'a'; }));
  EXPECT_EQ(order, "") << "never inside the call";

  ASSERT_TRUE(until([&] { return last.is_done(); }));

  EXPECT_TRUE(last.get());
  EXPECT_EQ(order, "abc");
  EXPECT_GE(at - began, 20_ms);
  EXPECT_EQ(loop().timers(), 0);
}

TEST_P(LoopLater, counts_the_delay_from_the_call_and_not_from_the_beginning_of_the_turn) {
  if (is_sim()) GTEST_SKIP() << "time does not pass within a turn";
  Instant asked, at;
  EXPECT_TRUE(execute(executor(), [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    asked = now();
    EXPECT_TRUE(execute_after(executor(), 5_ms, [&] { at = now(); }));
  }));

  ASSERT_TRUE(until([&] { return at != Instant(); }));

  EXPECT_GE(at - asked, 5_ms);
}

// What a turn does before.
void work_for(Duration time) { std::this_thread::sleep_for(std::chrono::nanoseconds(time.count_ns())); }

Task<Duration> work_and_sleep(Loop& loop, Duration work, Duration time) {
  co_await sleep_for(1_ms);  // Now in a turn of the loop.
  work_for(work);
  const Instant began = loop.precise_now();
  co_await sleep_for(time);
  co_return loop.precise_now() - began;
}
TEST_P(LoopLater, a_sleep_counts_from_the_call_and_not_from_the_beginning_of_the_turn) {
  if (is_sim()) GTEST_SKIP() << "time does not pass within a turn";

  EXPECT_GE(*run(work_and_sleep(loop(), 30_ms, 20_ms)), 20_ms);
}

struct Limited {
  Code code;
  Duration waited;
};
Task<Limited> work_and_limit(Loop& loop, Duration work, Duration limit) {
  co_await sleep_for(1_ms);
  work_for(work);
  const Instant began = loop.precise_now();
  const Result<> slept = co_await attempt(with_timeout(limit, sleep_for(10_s)));
  co_return Limited{slept ? Code::Internal : slept.error().code(), loop.precise_now() - began};
}
TEST_P(LoopLater, a_time_limit_counts_from_the_call_and_not_from_the_beginning_of_the_turn) {
  if (is_sim()) GTEST_SKIP() << "time does not pass within a turn";

  const Limited limited = *run(work_and_limit(loop(), 30_ms, 20_ms));

  EXPECT_EQ(limited.code, Code::DeadlineExceeded);
  EXPECT_GE(limited.waited, 20_ms);
}

Task<> sleep_long() { co_await sleep_for(Duration::forever() / 2); }
Task<> limit_long() { co_await with_timeout(Duration::forever() / 2, sleep_for(Duration::forever())); }
TEST_P(LoopLater, a_wait_of_a_hundred_years_and_more_waits_and_is_cancelled) {
  for (Task<> (*const wait)() : {&sleep_long, &limit_long}) {
    Start<void> start;
    ASSERT_FALSE(start.begin(wait(), [](StartCore&) noexcept {}));
    pass(20_ms);
    ASSERT_FALSE(start.has_ended());

    start.stop();

    ASSERT_TRUE(until([&] { return start.has_ended(); }));
    EXPECT_EQ(start.take().error().code(), Code::Cancelled);
    EXPECT_EQ(loop().timers(), 0);
  }
}

TEST_P(LoopLater, takes_delayed_jobs_from_elsewhere_and_wakes_for_them) {
  const Instant began = now();
  Instant at;
  const auto ask = [&] { EXPECT_TRUE(execute_after(executor(), 10_ms, [&] { at = now(); })); };
  if (is_sim()) {
    entered_.reset();  // Not from the loop: from the one thread that there is.
    ask();
    entered_ = std::make_unique<Loop::Entered>(loop());
    ASSERT_TRUE(until([&] { return at != Instant(); }));
  } else {
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // The loop waits for ever.
      ask();
      EXPECT_TRUE(execute_after(executor(), 12_ms, [&] { loop().stop(); }));
    });
    loop().run();
    other.join();
  }
  EXPECT_GE(at - began, 10_ms);
}

TEST_P(LoopLater, takes_delayed_jobs_from_many_threads) {
  if (is_sim()) GTEST_SKIP() << "has one thread";
  int count = 0;  // Without a lock.
  std::vector<std::thread> others;
  for (int t = 0; t < 3; ++t) {
    others.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        EXPECT_TRUE(execute_after(executor(), 10_us * (i % 300), [&] {
          if (++count == 3000) loop().stop();
        }));
      }
    });
  }
  loop().run();
  for (std::thread& other : others) other.join();
  EXPECT_EQ(count, 3000);
}

TEST_P(LoopLater, runs_what_a_serial_executor_delays) {
  SerialExecutor serial(loop());
  std::string order;
  auto second = submit_after(serial, 2_ms, [&] {
    EXPECT_EQ(Executor::current(), &serial);
    order += 'b';
  });
  EXPECT_TRUE(execute(serial, [&] { order += 'a'; }));
  ASSERT_TRUE(until([&] { return second.is_done(); }));
  settle();
  EXPECT_EQ(order, "ab");
}

TEST_P(LoopLater, keeps_what_is_not_due_while_it_is_stopped_and_discards_it_at_its_end) {
  bool ran = false;
  auto held = std::make_shared<int>(7);
  auto soon = submit_after(executor(), 5_ms, [] {});
  auto later = submit_after(executor(), 1_h, [&ran] { ran = true; });
  EXPECT_TRUE(execute_after(executor(), 1_h, [&ran, held] { ran = true; }));
  if (!is_sim()) {
    loop().stop();
    loop().run();
    EXPECT_FALSE(soon.is_done());
  }
  ASSERT_TRUE(until([&] { return soon.is_done(); }));
  settle();

  entered_.reset();
  EXPECT_TRUE(execute_after(executor(), 1_h, [&ran, held] { ran = true; })) << "from elsewhere; it is not looked at";
  loop_ = nullptr;
  owned_.reset();
  simulation_.reset();

  EXPECT_TRUE(soon.get());
  EXPECT_EQ(later.get().error().code(), Code::Cancelled);
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace keel::io::loop_test
