#include "keel/app/internal/supervision.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

namespace keel::app::internal::supervision_test {
namespace {

TEST(Supervision, keeps_a_reload_during_the_start_for_later_and_forgets_a_report) {
  Supervision supervision;
  ::kill(::getpid(), SIGHUP);
  ::kill(::getpid(), SIGQUIT);

  EXPECT_FALSE(supervision.is_stop_asked());
  EXPECT_EQ(supervision.stop_asked(), std::nullopt);
  EXPECT_EQ(supervision.wait(), Signal::Reload);
}

TEST(Supervision, says_once_and_for_all_that_a_stop_was_asked_for) {
  Supervision supervision;
  ::kill(::getpid(), SIGINT);

  EXPECT_TRUE(supervision.is_stop_asked());
  EXPECT_TRUE(supervision.is_stop_asked());
  EXPECT_EQ(supervision.stop_asked(), Signal::Interrupt);
}

TEST(Supervision, forgets_signals_that_came_with_the_successor) {
  Supervision supervision;
  ::kill(::getpid(), SIGTERM);

  supervision.begin_stop(/*forget=*/true);

  SUCCEED() << "the process goes on: a signal that had come does not end it";
}

TEST(Supervision, ends_the_process_at_the_second_signal) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        Supervision supervision;
        supervision.begin_stop(/*forget=*/false);
        ::kill(::getpid(), SIGTERM);
        ::pause();
      },
      ::testing::ExitedWithCode(128 + SIGTERM), "");
}

TEST(Supervision, tells_the_supervisor_only_when_there_is_one) {
  Supervision supervision;
  supervision.connect();
  EXPECT_FALSE(supervision.supervisor().is_on());
  supervision.tell(supervision.supervisor().status("nobody listens"));
  supervision.beat();
}

TEST(Supervision, knows_the_main_thread) {
  Supervision supervision;
  EXPECT_TRUE(supervision.is_main_thread());
  bool elsewhere = true;
  std::thread([&] { elsewhere = supervision.is_main_thread(); }).join();
  EXPECT_FALSE(elsewhere);
}

}  // namespace
}  // namespace keel::app::internal::supervision_test
