// Crosses threads: run under ThreadSanitizer.
#include "keel/task/completion.h"

#include <gtest/gtest.h>

#include <latch>
#include <stdexcept>
#include <string>
#include <thread>

#include "keel/exec/call.h"
#include "keel/exec/inline_executor.h"
#include "keel/exec/serial_executor.h"
#include "keel/exec/thread_pool.h"
#include "keel/task/group.h"
#include "keel/task/resume_on.h"
#include "keel/task/scope.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::completion_test {
namespace {

struct CompletionTest : ::testing::Test {
  testing::TestLoop loop;
  ThreadPool pool{{.name = "test", .threads = 2, .queue_max = 10'000}};
};
void ignore(StartCore&) noexcept {}

int next(int value) { return value + 1; }

Task<int> counts(ThreadPool& pool, int times) {
  Executor& home = *(co_await this_task()).executor;
  int value = 0;
  for (int i = 0; i < times; ++i) {
    auto handle = submit(pool, [value] { return next(value); });
    // Done before, during and after the suspension.
    if (i % 3 == 0) std::this_thread::yield();
    value = co_await completion(std::move(handle));
    if (Executor::current() != &home) co_return -1;
  }
  co_return value;
}
TEST_F(CompletionTest, gives_a_task_what_a_job_returned_and_leaves_it_at_home) {
  EXPECT_EQ(loop.run(counts(pool, 2000)).value(), 2000);
}

TEST_F(CompletionTest, of_many_tasks_at_once) {
  auto body = [](ThreadPool& p) -> Task<int> {
    auto all_three = co_await all(counts(p, 300), counts(p, 300), counts(p, 300));
    auto& [a, b, c] = all_three;
    co_return a + b + c;
  };
  EXPECT_EQ(loop.run(body(pool)).value(), 900);
}

Task<std::string> fails(ThreadPool& pool) {
  auto handle = submit(pool, []() -> std::string { throw std::runtime_error("upside down"); });
  co_return co_await completion(std::move(handle));
}
TEST_F(CompletionTest, ends_the_task_with_the_error_of_the_job) {
  const auto result = loop.run(fails(pool));
  EXPECT_EQ(result.error().code(), Code::Internal);
  EXPECT_EQ(result.error().message(), "exception: upside down");
}

TEST_F(CompletionTest, of_a_job_that_is_done_does_not_wait) {
  InlineExecutor here;
  auto body = [](Submitted<int> handle) -> Task<int> { co_return co_await completion(std::move(handle)); };
  Start<int> start;
  EXPECT_TRUE(start.begin(body(submit(here, [] { return 3; })), &ignore));
  EXPECT_EQ(start.take().value(), 3);
}

Task<> awaits(Submitted<> handle) { co_await completion(std::move(handle)); }

TEST_F(CompletionTest, cancels_a_job_that_has_not_begun_when_the_task_is_stopped) {
  ThreadPool single({.threads = 1});
  std::latch go{1};
  EXPECT_TRUE(execute(single, [&go] { go.wait(); }));
  bool ran = false;
  Start<void> start;
  EXPECT_FALSE(start.begin(awaits(submit(single, [&ran] { ran = true; })), &ignore));

  start.stop();
  loop.run_until([&] { return start.has_ended(); });

  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
  go.count_down();
  single.stop();
  EXPECT_FALSE(ran);
}

TEST_F(CompletionTest, waits_for_a_job_that_runs_when_the_task_is_stopped) {
  std::latch began{1}, go{1};
  bool ran = false;
  Start<void> start;
  EXPECT_FALSE(start.begin(awaits(submit(pool,
                                         [&] {
                                           began.count_down();
                                           go.wait();
                                           ran = true;
                                         })),
                           &ignore));
  began.wait();

  start.stop();
  loop.run_jobs();
  EXPECT_FALSE(start.has_ended());
  go.count_down();
  loop.run_until([&] { return start.has_ended(); });

  EXPECT_TRUE(start.take().is_ok());
  EXPECT_TRUE(ran);
}

Task<int> blocks(ThreadPool& pool, std::latch& go) {
  auto handle = submit(pool, [&go] {
    go.wait();
    return 1;
  });
  co_return co_await Result<int>(handle.get());
}
TEST_F(CompletionTest, is_what_a_task_awaits_because_a_loop_must_not_wait) {
  std::latch go{1};
  ThreadPool single({.threads = 1});  // Its job ends before the latch does.
  const Result<int> waited = loop.run(blocks(single, go));
  go.count_down();
  ASSERT_FALSE(waited);
  EXPECT_TRUE(waited.error().is_bug());
  EXPECT_NE(waited.error().message().find("await completion(handle)"), std::string_view::npos);
}

TEST_F(CompletionTest, is_bounded_in_time_as_every_operation) {
  std::latch go{1};
  ThreadPool single({.threads = 1});
  EXPECT_TRUE(execute(single, [&go] { go.wait(); }));
  auto body = [](Submitted<> handle) -> Task<> { co_await with_timeout(5_ms, completion(std::move(handle))); };

  EXPECT_EQ(loop.run(body(submit(single, [] {}))).error().code(), Code::DeadlineExceeded);

  go.count_down();
}

TEST_F(CompletionTest, that_a_stopped_pool_discards_ends_with_cancelled) {
  ThreadPool single({.threads = 1});
  std::latch began{1}, go{1};
  EXPECT_TRUE(execute(single, [&] {
    began.count_down();
    go.wait();
  }));
  began.wait();  // Or what is more urgent would come first.
  Start<void> start, moving;
  auto moves = [](ThreadPool& p) -> Task<> { co_await resume_on(p, Priority::High); };
  EXPECT_FALSE(start.begin(awaits(submit_after(single, 1_h, [] {})), &ignore));
  EXPECT_FALSE(moving.begin(moves(single), &ignore));

  std::thread stopper([&] { single.stop(Duration()); });
  loop.run_until([&] { return start.has_ended(); });
  go.count_down();
  loop.run_until([&] { return moving.has_ended(); });
  stopper.join();

  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
  EXPECT_EQ(moving.take().error().code(), Code::Cancelled) << "a task on its way to the pool is told as well";
}

TEST_F(CompletionTest, is_awaited_on_a_serial_executor_of_another_pool) {
  SerialExecutor serial(pool);
  ThreadPool other({.threads = 1});
  auto body = [](SerialExecutor& s, ThreadPool& p) -> Task<int> {
    Executor& home = *(co_await this_task()).executor;
    co_await resume_on(s);
    int right = 0;
    for (int i = 0; i < 100; ++i) {
      auto handle = submit(p, [] { return 1; });
      right += co_await completion(std::move(handle));
      if (Executor::current() != &s) co_return -1;
    }
    co_await resume_on(home);
    co_return right;
  };
  EXPECT_EQ(loop.run(body(serial, other)).value(), 100);
}

}  // namespace
}  // namespace keel::completion_test
