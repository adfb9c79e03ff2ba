#include "keel/exec/inline_executor.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/exec/call.h"
#include "keel/exec/submitted.h"

namespace keel::inline_executor_test {
namespace {

TEST(InlineExecutor, runs_a_job_inside_the_call) {
  InlineExecutor here;
  Executor* seen = nullptr;

  EXPECT_TRUE(execute(here, [&] { seen = Executor::current(); }));

  EXPECT_EQ(seen, &here);
  EXPECT_EQ(Executor::current(), nullptr);
}

TEST(InlineExecutor, runs_what_a_job_posts_after_it_has_returned) {
  InlineExecutor here;
  std::string order;

  EXPECT_TRUE(execute(here, [&] {
    EXPECT_TRUE(execute(here, [&] { order += 'b'; }));
    EXPECT_TRUE(execute(here, [&] {
      EXPECT_TRUE(execute(here, [&] { order += 'd'; }));
      order += 'c';
    }));
    order += 'a';
  }));
  EXPECT_TRUE(execute(here, [&] { order += 'e'; }));

  EXPECT_EQ(order, "abcde");
}

TEST(InlineExecutor, has_no_clock_to_run_anything_later) {
  InlineExecutor here;
  Executor& executor = here;
  bool ran = false;

  EXPECT_EQ(execute_after(executor, Duration(), [&] { ran = true; }).error().code(), Code::Unsupported);
  EXPECT_EQ(submit_after(executor, 1_ms, [&] { ran = true; }).get().error().code(), Code::Unsupported);

  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace keel::inline_executor_test
