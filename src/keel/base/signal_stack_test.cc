#include "keel/base/signal_stack.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <cstdint>

#include "keel/base/host.h"

namespace keel::signal_stack_test {
namespace {

std::uintptr_t handler_ran_at = 0;

void note_place(int) { handler_ran_at = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); }

// The stack that a handler with SA_ONSTACK runs on, and whether it did.
bool handler_runs_on(const stack_t& stack) {
  struct sigaction action = {};
  action.sa_handler = note_place;
  action.sa_flags = SA_ONSTACK;
  struct sigaction before;
  sigaction(SIGURG, &action, &before);
  handler_ran_at = 0;
  pthread_kill(pthread_self(), SIGURG);
  sigaction(SIGURG, &before, nullptr);
  const auto begin = reinterpret_cast<std::uintptr_t>(stack.ss_sp);
  return handler_ran_at >= begin && handler_ran_at < begin + stack.ss_size;
}

TEST(SignalStack, is_where_handlers_run_and_is_given_back) {
  stack_t before{};
  sigaltstack(nullptr, &before);
  {
    const SignalStack stack;
    stack_t inside{};
    sigaltstack(nullptr, &inside);

    EXPECT_EQ(inside.ss_size, SignalStack::bytes);
    EXPECT_TRUE(handler_runs_on(inside));
  }
  stack_t after{};
  sigaltstack(nullptr, &after);
  EXPECT_EQ(after.ss_sp, before.ss_sp);
  EXPECT_EQ(after.ss_flags, before.ss_flags);
}

TEST(SignalStack, is_had_by_every_thread_that_the_system_host_starts) {
  bool ran_there = false;

  Host::system()
      .start_thread("other",
                    [&ran_there] {
                      stack_t mine{};
                      sigaltstack(nullptr, &mine);
                      ran_there = mine.ss_size == SignalStack::bytes && handler_runs_on(mine);
                    })
      ->join();

  EXPECT_TRUE(ran_there);
}

}  // namespace
}  // namespace keel::signal_stack_test
