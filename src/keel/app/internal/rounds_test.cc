#include "keel/app/internal/rounds.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "keel/exec/call.h"

namespace keel::app::internal::rounds_test {
namespace {

TEST(Rounds, end_when_the_last_worker_has_ended_what_it_was_running) {
  Rounds rounds;
  const auto runtime = io::Runtime::make({.workers = 2}).value();
  ASSERT_TRUE(runtime->start().is_ok());
  std::atomic<bool> is_busy = false, may_end = false;
  std::atomic<int> calls = 0;
  const auto busy = execute(runtime->loop(1), [&] {
    is_busy = true;
    while (!may_end) std::this_thread::yield();
  });
  ASSERT_TRUE(busy.is_ok());
  while (!is_busy) std::this_thread::yield();

  rounds.begin(*runtime, [&] { ++calls; });

  EXPECT_FALSE(runtime->wait_until([&] { return calls > 0; }, 20_ms)) << "one worker is busy";
  may_end = true;
  EXPECT_TRUE(runtime->wait_until([&] { return calls > 0; }, 10_s));
  rounds.begin(*runtime, [&] { ++calls; });
  rounds.begin(*runtime, [&] { ++calls; });
  EXPECT_TRUE(runtime->wait_until([&] { return calls == 3; }, 10_s));
  runtime->stop();
}

TEST(Rounds, that_have_not_ended_when_the_runtime_stops_never_do) {
  Rounds rounds;
  int calls = 0;
  {
    const auto runtime = io::Runtime::make({.workers = 2}).value();
    ASSERT_TRUE(runtime->start().is_ok());
    runtime->stop();
    rounds.begin(*runtime, [&] { ++calls; });
  }
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace keel::app::internal::rounds_test
