#include "keel/base/host.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <bit>
#include <csignal>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "keel/base/stack.h"

namespace keel::host_test {
namespace {

class FixedHost final : public Host {
 public:
  Instant now() noexcept override { return Instant::from_ns(42); }
  std::int64_t wall_ns() noexcept override { return 7; }
  std::uint64_t random() noexcept override { return 4; }
  void secret(std::span<std::byte> out) noexcept override { secret_from_random(out); }
  void start_timer(Timer&, Instant) noexcept override {}
  void stop_timer(Timer&) noexcept override {}
  std::unique_ptr<Thread> start_thread(const char*, Function<void()>) override { return nullptr; }
};

TEST(Host, is_the_system_until_another_is_installed) {
  FixedHost fixed;
  EXPECT_EQ(&Host::current(), &Host::system());

  EXPECT_EQ(Host::set_current(&fixed), nullptr);
  EXPECT_EQ(Host::current().now(), Instant::from_ns(42));
  EXPECT_EQ(Host::set_current(nullptr), &fixed);

  EXPECT_EQ(&Host::current(), &Host::system());
}

TEST(Host, is_current_for_one_thread_only) {
  FixedHost fixed;
  Host::set_current(&fixed);
  Host* seen = nullptr;

  Host::system().start_thread("other", [&seen] { seen = &Host::current(); })->join();

  Host::set_current(nullptr);
  EXPECT_EQ(seen, &Host::system());
}

TEST(Host, has_a_clock_that_does_not_go_back_and_a_calendar) {
  const Instant first = Host::system().now();
  const Instant second = Host::system().now();

  EXPECT_LE(first, second);
  EXPECT_GT(Host::system().wall_ns(), 1'700'000'000'000'000'000);
}

TEST(Host, gives_different_random_numbers) { EXPECT_NE(Host::system().random(), Host::system().random()); }

TEST(Host, fills_a_secret_of_any_size_with_the_bits_of_the_kernel) {
  std::byte none[1] = {};
  Host::system().secret(std::span(none, 0));
  EXPECT_EQ(none[0], std::byte{0});

  // More than getrandom() gives without being interrupted by signals.
  std::vector<std::byte> first(1000);
  std::vector<std::byte> second(1000);
  Host::system().secret(first);
  Host::system().secret(second);
  EXPECT_NE(first, second);
  // 8000 random bits: that half of them and 12 standard deviations are not set does not happen.
  int ones = 0;
  for (const std::byte byte : first) ones += std::popcount(static_cast<unsigned char>(byte));
  EXPECT_GT(ones, 4000 - 540);
  EXPECT_LT(ones, 4000 + 540);
}

TEST(Host, makes_secrets_of_its_seed_where_it_has_one) {
  FixedHost fixed;
  std::array<std::byte, 11> secret;
  secret.fill(std::byte{9});
  fixed.secret(secret);
  for (std::size_t i = 0; i < secret.size(); ++i) EXPECT_EQ(secret[i], i % 8 == 0 ? std::byte{4} : std::byte{0}) << i;
}

TEST(Host, gives_each_time_of_the_calendar_once) {
  FixedHost fixed;  // Its clock stands.
  EXPECT_EQ(fixed.next_wall_ns(), 7);
  EXPECT_EQ(fixed.next_wall_ns(), 8);
  EXPECT_EQ(fixed.next_wall_ns(), 9);

  const std::int64_t before = Host::system().wall_ns();
  const std::int64_t next = Host::system().next_wall_ns();
  EXPECT_GE(next, before);
  EXPECT_GT(Host::system().next_wall_ns(), next);
}

TEST(Host, runs_threads_with_their_name_and_the_signals_of_others_blocked) {
  std::string name;
  bool blocked = false;
  bool blocks_faults = true;

  Host::system()
      .start_thread("a-name-longer-than-fits",
                    [&] {
                      // The name is set by the starter, so it may come a moment after the body begins.
                      char text[16] = "";
                      for (int i = 0; i < 10'000'000 && std::string_view(text) != "a-name-longer-t"; ++i) {
                        pthread_getname_np(pthread_self(), text, sizeof text);
                      }
                      name = text;
                      sigset_t mask;
                      pthread_sigmask(SIG_BLOCK, nullptr, &mask);
                      blocked = sigismember(&mask, SIGTERM) == 1;
                      blocks_faults = sigismember(&mask, SIGSEGV) == 1 || sigismember(&mask, stack_signal) == 1;
                    })
      ->join();

  EXPECT_EQ(name, "a-name-longer-t");
  EXPECT_TRUE(blocked);
  EXPECT_FALSE(blocks_faults);
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGTERM), 0) << "the starter's own mask is as it was";
}

// A stack that does not fit into the address space: the thread cannot be started.
TEST(Host, leaves_the_starters_signals_alone_when_a_thread_does_not_start) {
  pthread_attr_t before;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  pthread_attr_t huge;
  ASSERT_EQ(pthread_attr_init(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 48), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  bool has_run = false;

  std::string said;
  try {
    Host::system().start_thread("none", [&] { has_run = true; });
  } catch (const std::system_error& error) {
    said = error.what();
  }

  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
  pthread_attr_destroy(&huge);
  pthread_attr_destroy(&before);
  EXPECT_FALSE(has_run);
  EXPECT_EQ(said.rfind("cannot start a thread: ", 0), 0) << said;
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGTERM), 0);
  EXPECT_EQ(sigismember(&mask, SIGUSR1), 0);
  Host::system().start_thread("one", [&] { has_run = true; })->join();
  EXPECT_TRUE(has_run);
}

TEST(HostDeathTest, has_no_timers_on_the_plain_system) {
  Timer timer;
  EXPECT_DEATH(Host::system().start_timer(timer, Instant::never()), "timers can be started only on a worker");
}

}  // namespace
}  // namespace keel::host_test
