#include "keel/app/signals.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>

#include "keel/base/host.h"

namespace keel::app::signals_test {
namespace {

TEST(SignalWaiter, tells_which_signal_came) {
  SignalWaiter signals;

  kill(getpid(), SIGHUP);
  EXPECT_EQ(signals.wait(), Signal::Reload);
  kill(getpid(), SIGQUIT);
  EXPECT_EQ(signals.wait(), Signal::Report);
  kill(getpid(), SIGINT);
  EXPECT_EQ(signals.wait(), Signal::Interrupt);
  kill(getpid(), SIGTERM);
  EXPECT_EQ(signals.wait_for(1_s), Signal::Terminate);
}

TEST(SignalWaiter, gives_nothing_when_the_time_is_up) {
  SignalWaiter signals;

  EXPECT_EQ(signals.wait_for(5_ms), std::nullopt);
  EXPECT_EQ(signals.wait_for(Duration()), std::nullopt);
}

TEST(SignalWaiter, waits_while_other_threads_run_undisturbed) {
  SignalWaiter signals;
  auto other = Host::current().start_thread("stopper", [&] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    EXPECT_EQ(sigismember(&mask, SIGTERM), 1);
    signals.request_stop();
  });

  EXPECT_EQ(signals.wait(), Signal::Terminate);
  other->join();
}

TEST(SignalWaiter, makes_a_broken_pipe_an_error_of_the_write) {
  SignalWaiter signals;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);

  EXPECT_EQ(write(ends[1], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  close(ends[1]);
}

TEST(SignalWaiter, puts_everything_back) {
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  {
    SignalWaiter signals;
    signals.end_on_next();
    signals.request_stop();
  }
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  struct sigaction action;
  sigaction(SIGTERM, nullptr, &action);

  EXPECT_EQ(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

const Duration later = SignalWaiter::same_request + 20_ms;

TEST(SignalWaiterDeathTest, ends_at_once_on_the_second_signal) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto drain = [](int second) {
    SignalWaiter signals;
    kill(getpid(), SIGTERM);
    signals.wait();
    signals.end_on_next();
    Host::system().sleep(later);
    kill(getpid(), SIGHUP);
    kill(getpid(), second);
    pause();
  };

  EXPECT_EXIT(drain(SIGTERM), ::testing::ExitedWithCode(128 + SIGTERM),
              "second signal while draining: exiting immediately");
  EXPECT_EXIT(drain(SIGINT), ::testing::ExitedWithCode(128 + SIGINT), "exiting immediately");
}

TEST(SignalWaiterDeathTest, does_not_miss_a_second_signal_that_came_early) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto drain = [] {
    SignalWaiter signals;
    kill(getpid(), SIGTERM);
    signals.wait();
    Host::system().sleep(later);
    kill(getpid(), SIGTERM);
    signals.end_on_next();
    _exit(0);
  };

  EXPECT_EXIT(drain(), ::testing::ExitedWithCode(128 + SIGTERM), "");
}

// What timeout(1) does: it signals its child and then their group.
TEST(SignalWaiterDeathTest, takes_a_second_signal_within_200_ms_for_the_same_request) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto drain = [](int first, int second, Duration waits) {
    SignalWaiter signals;
    kill(getpid(), first);
    signals.wait();
    if (waits == Duration()) kill(getpid(), second);
    signals.end_on_next();
    Host::system().sleep(waits);
    kill(getpid(), second);
    kill(getpid(), second);
    _exit(0);
  };

  EXPECT_EXIT(drain(SIGTERM, SIGTERM, 50_ms), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(drain(SIGINT, SIGINT, 50_ms), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(drain(SIGINT, SIGTERM, 50_ms), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(drain(SIGTERM, SIGTERM, Duration()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace keel::app::signals_test
