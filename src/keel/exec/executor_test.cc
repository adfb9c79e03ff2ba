#include "keel/exec/executor.h"

#include <gtest/gtest.h>

#include <thread>

namespace keel {
namespace {

struct Refusing final : Executor {
  void post(Job&) noexcept override {}
};

TEST(Executor, there_is_none_outside_jobs) { EXPECT_EQ(Executor::current(), nullptr); }

TEST(Executor, current_is_per_thread_and_set_current_returns_what_was) {
  Refusing first, second;

  EXPECT_EQ(Executor::set_current(&first), nullptr);
  EXPECT_EQ(Executor::set_current(&second), &first);
  EXPECT_EQ(Executor::current(), &second);
  std::thread([] { EXPECT_EQ(Executor::current(), nullptr); }).join();
  EXPECT_EQ(Executor::set_current(nullptr), &second);
}

TEST(Executor, is_serial_unless_it_says_otherwise) { EXPECT_TRUE(Refusing().is_serial()); }

}  // namespace
}  // namespace keel
