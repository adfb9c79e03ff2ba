#include "keel/observe/span.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "keel/base/host.h"

namespace keel::span_test {
namespace {

// Time moves when it is looked at.
class SteppingHost final : public Host {
 public:
  SteppingHost() : before_(Host::set_current(this)) {}
  ~SteppingHost() override { Host::set_current(before_); }
  Instant now() noexcept override { return Instant::from_ns(1); }
  Instant precise_now() noexcept override { return Instant::from_ns(100 * ++looks); }
  std::int64_t wall_ns() noexcept override { return 0; }
  std::uint64_t random() noexcept override { return 4; }
  void secret(std::span<std::byte> out) noexcept override { secret_from_random(out); }
  void start_timer(Timer&, Instant) noexcept override {}
  void stop_timer(Timer&) noexcept override {}
  std::unique_ptr<Thread> start_thread(const char*, Function<void()>) override { return nullptr; }

  int looks = 0;

 private:
  Host* before_;
};

TEST(Span, is_current_for_a_scope_and_its_thread) {
  const Span outer{{1, 2}};
  const Span inner{{3, 4}};
  ASSERT_EQ(current_span(), nullptr);
  {
    const ScopedSpan in_outer(outer);
    {
      const ScopedSpan in_inner(inner);
      EXPECT_EQ(current_span(), &inner);
      const ScopedSpan in_none(nullptr);
      EXPECT_EQ(current_span(), nullptr);
    }
    EXPECT_EQ(current_span(), &outer);
    const Span* elsewhere = &outer;
    Host::system().start_thread("other", [&elsewhere] { elsewhere = current_span(); })->join();
    EXPECT_EQ(elsewhere, nullptr);
  }
  EXPECT_EQ(current_span(), nullptr);
}

TEST(StageTimer, adds_what_passes_to_the_stage_of_the_current_span) {
  SteppingHost host;
  StageClock clock;
  const Span span{{1, 2}, &clock};
  const ScopedSpan scoped(span);

  for (int i = 0; i < 3; ++i) StageTimer timer(Stage::Database);
  {
    StageTimer timer(Stage{7}, &clock);
  }

  EXPECT_EQ(clock.of(Stage::Database), Duration::nanoseconds(300));
  EXPECT_EQ(clock.of(Stage{7}), Duration::nanoseconds(100));
  EXPECT_EQ(clock.of(Stage{0}), Duration());
}

TEST(StageTimer, does_not_look_at_the_clock_when_nobody_measures) {
  SteppingHost host;
  const Span span{{1, 2}};
  {
    StageTimer timer(Stage::Database);
  }
  const ScopedSpan scoped(span);
  {
    StageTimer timer(Stage::Database);
  }
  {
    StageTimer timer(Stage::Database, nullptr);
  }
  EXPECT_EQ(host.looks, 0);
}

}  // namespace
}  // namespace keel::span_test
