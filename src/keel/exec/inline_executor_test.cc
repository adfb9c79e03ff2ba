#include "keel/exec/inline_executor.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/exec/call.h"

namespace keel {
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

}  // namespace
}  // namespace keel
