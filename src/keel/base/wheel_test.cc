#include "keel/base/wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace keel::wheel_test {
namespace {

constexpr Duration tick = Duration::nanoseconds(1 << 20);

struct Recorder {
  std::vector<int> fired;
};

struct Entry : Timer {
  explicit Entry(int n, Recorder& r) : number(n), recorder(r) {
    fire = [](Timer& timer) noexcept {
      auto& self = static_cast<Entry&>(timer);
      self.recorder.fired.push_back(self.number);
    };
  }
  int number;
  Recorder& recorder;
};

TEST(TimerWheel, fires_at_or_after_the_instant_and_never_before) {
  for (const Duration wait : {1_ns, 1_ms, 63_ms, tick * 64, tick * 65, 1_s, 5_s, 1_min, 1_h, 2400_h}) {
    const Instant start = Instant::from_ns(123'456'789'012);
    Recorder recorder;
    Entry entry(1, recorder);
    TimerWheel wheel(start);
    wheel.start(entry, start + wait);

    wheel.advance(start + wait - 1_ns);
    EXPECT_TRUE(recorder.fired.empty()) << wait.count_ns();
    EXPECT_LE(wheel.next(), start + wait + tick);
    wheel.advance(start + wait + tick);
    EXPECT_EQ(recorder.fired.size(), 1u) << wait.count_ns();
    EXPECT_FALSE(entry.is_running());
    EXPECT_EQ(wheel.running(), 0);
    EXPECT_TRUE(wheel.next().is_never());
  }
}

TEST(TimerWheel, fires_one_tick_in_the_order_of_starting_even_after_a_cascade) {
  Recorder recorder;
  Entry early(1, recorder), late(2, recorder), last(3, recorder);
  TimerWheel wheel(Instant::from_ns(0));
  const Instant at = Instant::from_ns(0) + tick * 100;

  wheel.start(early, at);
  wheel.advance(Instant::from_ns(0) + tick * 70);
  wheel.start(late, at);
  wheel.start(last, at);
  wheel.advance(at);

  EXPECT_EQ(recorder.fired, (std::vector{1, 2, 3}));
}

TEST(TimerWheel, fires_past_instants_at_the_next_advance) {
  Recorder recorder;
  Entry entry(1, recorder);
  TimerWheel wheel(Instant::from_ns(10'000'000'000));

  wheel.start(entry, Instant::from_ns(5));
  EXPECT_LE(wheel.next(), Instant::from_ns(10'000'000'000));

  EXPECT_EQ(wheel.advance(Instant::from_ns(10'000'000'000)), 1);
}

TEST(TimerWheel, does_not_fire_what_was_stopped) {
  Recorder recorder;
  Entry a(1, recorder), b(2, recorder);
  TimerWheel wheel(Instant::from_ns(0));
  wheel.start(a, Instant::from_ns(0) + 10_ms);
  wheel.start(b, Instant::from_ns(0) + 10_s);

  wheel.stop(a);
  wheel.stop(a);
  wheel.stop(b);

  EXPECT_TRUE(wheel.next().is_never());
  EXPECT_EQ(wheel.advance(Instant::from_ns(0) + 1_min), 0);
}

TEST(TimerWheel, restarts_a_running_timer) {
  Recorder recorder;
  Entry entry(1, recorder);
  TimerWheel wheel(Instant::from_ns(0));

  wheel.start(entry, Instant::from_ns(0) + 10_ms);
  wheel.start(entry, Instant::from_ns(0) + 1_s);

  EXPECT_EQ(wheel.running(), 1);
  EXPECT_EQ(wheel.advance(Instant::from_ns(0) + 500_ms), 0);
  EXPECT_EQ(wheel.advance(Instant::from_ns(0) + 1100_ms), 1);
}

TEST(TimerWheel, lets_a_timer_restart_itself_without_firing_again_in_the_same_advance) {
  struct Again : Timer {
    explicit Again(TimerWheel& w) : wheel(w) {
      fire = [](Timer& timer) noexcept {
        auto& self = static_cast<Again&>(timer);
        ++self.count;
        self.wheel.start(self, Instant::from_ns(0));
      };
    }
    TimerWheel& wheel;
    int count = 0;
  };
  TimerWheel wheel(Instant::from_ns(0));
  Again again(wheel);
  wheel.start(again, Instant::from_ns(0));

  wheel.advance(Instant::from_ns(0) + 1_ms);
  EXPECT_EQ(again.count, 1);
  wheel.advance(Instant::from_ns(0) + 2_ms);
  EXPECT_EQ(again.count, 2);
  wheel.stop(again);
}

TEST(TimerWheel, lets_a_firing_timer_stop_one_that_is_due_as_well) {
  struct Stopper : Timer {
    Stopper(TimerWheel& w, Timer& o) : wheel(w), other(o) {
      fire = [](Timer& timer) noexcept {
        auto& self = static_cast<Stopper&>(timer);
        self.wheel.stop(self.other);
      };
    }
    TimerWheel& wheel;
    Timer& other;
  };
  Recorder recorder;
  TimerWheel wheel(Instant::from_ns(0));
  Entry victim(1, recorder);
  Stopper stopper(wheel, victim);
  wheel.start(stopper, Instant::from_ns(0) + 5_ms);
  wheel.start(victim, Instant::from_ns(0) + 5_ms);

  EXPECT_EQ(wheel.advance(Instant::from_ns(0) + 10_ms), 1);
  EXPECT_TRUE(recorder.fired.empty());
  EXPECT_EQ(wheel.running(), 0);
}

TEST(TimerWheel, holds_a_timer_that_never_fires) {
  Recorder recorder;
  Entry entry(1, recorder);
  TimerWheel wheel(Instant::from_ns(0));
  wheel.start(entry, Instant::never());

  EXPECT_EQ(wheel.advance(Instant::from_ns(0) + 8760_h), 0);
  wheel.stop(entry);
}

TEST(TimerWheel, holds_a_timer_of_any_distance_and_fires_it_then) {
  const Instant start = Instant::from_ns(987'654'321);
  for (int bit = 36; bit < 63; ++bit) {
    const Duration wait = Duration::nanoseconds(std::int64_t{1} << bit);
    Recorder recorder;
    Entry far(1, recorder), near(2, recorder);
    TimerWheel wheel(start);
    wheel.start(far, start + wait);
    wheel.start(near, start + 1_s);

    EXPECT_EQ(wheel.advance(start + 1_s + tick), 1) << bit;
    EXPECT_GT(wheel.next(), start + 1_s) << bit;
    EXPECT_EQ(wheel.advance(start + wait - 1_ns), 0) << bit;
    EXPECT_EQ(wheel.advance(start + wait + tick), 1) << bit;
    EXPECT_EQ(recorder.fired, (std::vector{2, 1})) << bit;
  }
}

TEST(TimerWheel, may_begin_before_zero) {
  Recorder recorder;
  Entry past(1, recorder), future(2, recorder);
  TimerWheel wheel(Instant::from_ns(-5'000'000'000));
  wheel.start(past, Instant::from_ns(-1'000'000'000));
  wheel.start(future, Instant::from_ns(1'000'000'000));

  wheel.advance(Instant::from_ns(500'000'000));
  EXPECT_EQ(recorder.fired, (std::vector{1}));
  wheel.advance(Instant::from_ns(1'100'000'000));
  EXPECT_EQ(recorder.fired, (std::vector{1, 2}));
}

// A sorted list says what the wheel must do.
TEST(TimerWheel, agrees_with_a_sorted_list_over_random_operations) {
  constexpr unsigned seed = 20240611;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  Recorder recorder;
  Instant now = Instant::from_ns(987'654'321);
  TimerWheel wheel(now);
  std::vector<std::unique_ptr<Entry>> entries;
  for (int i = 0; i < 100; ++i) entries.push_back(std::make_unique<Entry>(i, recorder));

  for (int step = 0; step < 5'000; ++step) {
    Entry& entry = *entries[random() % entries.size()];
    const auto wait = Duration::nanoseconds(static_cast<std::int64_t>(random() >> (20 + random() % 30)));
    if (random() % 5 == 0) {
      wheel.stop(entry);
    } else {
      wheel.start(entry, now + wait);
    }
    if (random() % 3 != 0) continue;
    const Instant before = wheel.next();
    const auto leap = Duration::nanoseconds(static_cast<std::int64_t>(random() >> (22 + random() % 30)));
    now = now + leap;
    std::vector<int> late;
    std::vector<int> early;
    for (const auto& each : entries) {
      if (!each->is_running()) continue;
      if (each->at + tick <= now) late.push_back(each->number);
      if (each->at > now) early.push_back(each->number);
    }
    recorder.fired.clear();
    wheel.advance(now);
    if (!recorder.fired.empty()) {
      ASSERT_LE(before, now);
    }
    for (const int number : late) {
      ASSERT_TRUE(std::ranges::count(recorder.fired, number) == 1) << step;
    }
    for (const int number : early) {
      ASSERT_TRUE(std::ranges::count(recorder.fired, number) == 0) << step;
    }
  }
  for (const auto& each : entries) wheel.stop(*each);
  EXPECT_EQ(wheel.running(), 0);
}

}  // namespace
}  // namespace keel::wheel_test
