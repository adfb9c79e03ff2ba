// Which routes are worth rejecting, in virtual time: what a worker does beside its requests is not their cost.

#include "keel/http/server/internal/queue_delay.h"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <utility>

#include "keel/base/check.h"
#include "keel/io/engine.h"

namespace keel::http::queue_delay_test {
namespace {

// Time passes when a test says so.
class Clock final : public Host {
 public:
  Instant now() noexcept override { return now_; }
  std::int64_t wall_ns() noexcept override { return now_.ns(); }
  std::uint64_t random() noexcept override { return ++random_; }
  void secret(std::span<std::byte> out) noexcept override { secret_from_random(out); }
  void start_timer(Timer&, Instant) noexcept override { KEEL_CHECK(false, "a clock has no timers"); }
  void stop_timer(Timer&) noexcept override {}
  std::unique_ptr<Thread> start_thread(const char*, Function<void()>) override { return nullptr; }
  void pass(Duration time) noexcept { now_ = now_ + time; }

 private:
  Instant now_ = Instant() + 1_s;
  std::uint64_t random_ = 0;
};

constexpr std::uint32_t route = 0;

struct QueueDelays : ::testing::Test {
  Clock clock;
  io::Loop loop{io::make_engine(io::EngineKind::Epoll).value(), clock};
  QueueDelay delay{loop, 1};
  int rejected = 0;

  // An iteration in which the worker has worked for others, and then answers one request.
  template <class Answer>
  void iteration(Duration for_others, const Answer& answer) {
    static_cast<void>(loop.turn(Instant()));
    static_cast<void>(loop.now());
    clock.pass(for_others);
    Duration late;
    if (delay.may_be_costly(route)) delay.begins();
    if (delay.is_costly(route) && delay.rejects(-1, Instant(), 5_ms, late)) {
      ++rejected;
      return;
    }
    answer();
  }
  void respond_synchronously(Duration cost) {
    clock.pass(cost);
    delay.worked(route, clock.now());
  }
};

// A thousand clients take their responses slowly: sending to them lasts for 10 ms of each iteration.
TEST_F(QueueDelays, never_reject_a_cheap_route_for_what_is_done_for_slow_readers) {
  for (int i = 0; i < 20'000; ++i) iteration(10_ms, [&] { respond_synchronously(5_us); });
  EXPECT_EQ(rejected, 0);
  // Nor one that costs nearly as much as a costly one.
  for (int i = 0; i < 20'000; ++i) iteration(10_ms * (i % 3), [&] { respond_synchronously(25_us); });
  EXPECT_EQ(rejected, 0);
}

TEST_F(QueueDelays, never_reject_a_cheap_route_that_waits_for_what_is_done_for_slow_readers) {
  for (int i = 0; i < 20'000; ++i) {
    iteration(10_ms, [&] { respond_synchronously(5_us); });
    // What it waited for comes in an iteration of its own, now and then as the first of it.
    static_cast<void>(loop.turn(Instant()));
    static_cast<void>(loop.now());
    clock.pass(i % 8 == 0 ? Duration() : 10_ms);
    clock.pass(4_us);
    delay.went_on(route, clock.now());
  }
  EXPECT_EQ(rejected, 0);
}

TEST_F(QueueDelays, reject_a_costly_route) {
  for (int i = 0; i < 100; ++i) iteration(10_ms, [&] { respond_synchronously(200_us); });
  EXPECT_GT(rejected, 50);
  EXPECT_TRUE(delay.is_overloaded());
}

TEST_F(QueueDelays, reject_a_route_that_is_costly_after_it_has_waited) {
  for (int i = 0; i < 400; ++i) {
    iteration(10_ms, [&] {
      respond_synchronously(5_us);
      static_cast<void>(loop.turn(Instant()));
      static_cast<void>(loop.now());
      clock.pass(1_ms);
      delay.went_on(route, clock.now());
    });
  }
  EXPECT_GT(rejected, 100);
}

}  // namespace
}  // namespace keel::http::queue_delay_test
