// Crosses threads: run under ThreadSanitizer.
#include "keel/exec/submitted.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "keel/base/bug.h"
#include "keel/base/host.h"
#include "keel/exec/inline_executor.h"
#include "keel/exec/thread_pool.h"

namespace keel::submitted_test {
namespace {

// A pool of one thread, which waits until go().
class Held {
 public:
  Held() {
    EXPECT_TRUE(execute(pool, [this] {
      began_.count_down();
      go_.wait();
    }));
    began_.wait();
  }
  ~Held() { go(); }
  void go() {
    if (!went_) go_.count_down();
    went_ = true;
  }

 private:
  std::latch began_{1}, go_{1};
  bool went_ = false;

 public:
  ThreadPool pool{{.threads = 1, .queue_max = 3}};  // Ends before what its first job refers to.
};

TEST(Submitted, gives_what_the_callable_returns) {
  ThreadPool pool({.threads = 2});

  EXPECT_EQ(submit(pool, [] { return 42; }).get().value(), 42);
  EXPECT_EQ(submit(pool, [] { return std::string(100, 'x'); }).get().value(), std::string(100, 'x'));
  EXPECT_EQ(*submit(pool, [] { return std::make_unique<int>(4); }).get().value(), 4);
  EXPECT_TRUE(submit(pool, [] {}).get().is_ok());
}

TEST(Submitted, gives_the_result_that_the_callable_returns) {
  InlineExecutor here;

  EXPECT_EQ(submit(here, []() -> Result<int> { return 3; }).get().value(), 3);
  EXPECT_EQ(submit(here, []() -> Result<int> { return fail(Code::NotFound, "no"); }).get().error().code(),
            Code::NotFound);
  EXPECT_TRUE(submit(here, []() -> Result<> { return {}; }).get().is_ok());
  EXPECT_EQ(submit(here, []() -> Result<> { return fail(Code::Conflict, "no"); }).get().error().code(), Code::Conflict);
}

TEST(Submitted, gives_the_exception_that_the_callable_throws_as_an_error) {
  InlineExecutor here;

  const auto thrown = submit(here, []() -> int { throw std::runtime_error("upside down"); }).get();
  EXPECT_EQ(thrown.error().code(), Code::Internal);
  EXPECT_EQ(thrown.error().message(), "exception: upside down");
  EXPECT_EQ(submit(here, [] { throw std::bad_alloc(); }).get().error().code(), Code::ResourceExhausted);
}

TEST(Submitted, lets_go_of_the_callable_when_it_has_run_although_the_handle_lives) {
  InlineExecutor here;
  auto held = std::make_shared<int>(1);

  auto handle = submit(here, [held] { return std::string("result"); });

  EXPECT_TRUE(handle.is_done());
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(handle.get().value(), "result");
  EXPECT_FALSE(handle);
}

TEST(Submitted, waits_no_longer_than_it_is_told) {
  Held held;
  auto handle = submit(held.pool, [] { return 1; });

  EXPECT_FALSE(handle.wait_for(5_ms));
  EXPECT_FALSE(handle.wait_until(Instant()));
  EXPECT_FALSE(handle.is_done());
  held.go();
  EXPECT_TRUE(handle.wait_for(20_s));
  EXPECT_EQ(handle.get().value(), 1);
}

TEST(Submitted, does_not_run_when_it_is_cancelled_before_it_begins) {
  Held held;
  bool ran = false;
  auto captured = std::make_shared<int>(1);
  auto handle = submit(held.pool, [&ran, captured] { ran = true; });

  EXPECT_TRUE(handle.cancel());
  EXPECT_EQ(captured.use_count(), 1) << "what it held is let go at once";
  EXPECT_FALSE(handle.cancel());
  EXPECT_TRUE(handle.is_done());
  EXPECT_EQ(handle.get().error().code(), Code::Cancelled);
  held.go();
  held.pool.stop();
  EXPECT_FALSE(ran);
}

TEST(Submitted, is_not_cancelled_once_it_runs) {
  ThreadPool pool({.threads = 1});
  std::latch began{1}, go{1};
  auto handle = submit(pool, [&] {
    began.count_down();
    go.wait();
    return 5;
  });
  began.wait();

  EXPECT_FALSE(handle.cancel());
  go.count_down();
  EXPECT_EQ(handle.get().value(), 5);
}

TEST(Submitted, is_cancelled_by_the_end_of_its_handle) {
  Held held;
  bool ran = false;
  {
    auto handle = submit(held.pool, [&ran] { ran = true; });
    auto moved = std::move(handle);
    moved = submit(held.pool, [&ran] { ran = true; });
  }
  held.go();
  held.pool.stop();
  EXPECT_FALSE(ran);
}

TEST(Submitted, to_a_full_queue_is_done_with_resource_exhausted) {
  Held held;
  auto taken = submit_all(held.pool, std::vector<std::function<int()>>(3, [] { return 1; }));

  auto refused = submit(held.pool, [] { return 1; });
  EXPECT_TRUE(refused.is_done());
  EXPECT_EQ(refused.get().error().code(), Code::ResourceExhausted);
  for (auto& one : submit_all(held.pool, std::vector<std::function<int()>>(1, [] { return 1; }))) {
    EXPECT_EQ(one.get().error().code(), Code::ResourceExhausted);
  }
  held.go();
  EXPECT_TRUE(wait_all(taken));
  for (auto& one : taken) EXPECT_EQ(one.get().value(), 1);
}

TEST(Submitted, several_are_waited_for_together_and_in_time) {
  Held held;
  auto handles = submit_all(held.pool, std::vector<std::function<int()>>(3, [] { return 2; }));

  EXPECT_FALSE(wait_all(handles, Host::system().now() + 5_ms));
  EXPECT_EQ(wait_any(handles, Host::system().now() + 5_ms).error().code(), Code::DeadlineExceeded);
  held.go();
  EXPECT_TRUE(wait_all(handles));
  EXPECT_TRUE(wait_any(handles).is_ok());
}

TEST(Submitted, the_first_of_several_that_is_done_is_told) {
  Held held;
  ThreadPool other({.threads = 1});
  std::latch go{1};
  std::vector<Submitted<int>> handles;
  handles.push_back(submit(held.pool, [] { return 1; }));
  handles.push_back(submit(other, [&] {
    go.wait();
    return 2;
  }));
  std::thread later([&] { go.count_down(); });

  EXPECT_EQ(wait_any(handles).value(), 1u);

  later.join();
  EXPECT_FALSE(handles[0].is_done());
  EXPECT_EQ(handles[1].get().value(), 2);
}

// The only thread of the pool would wait for itself.
int sum(ThreadPool& pool, int from, int to) {
  if (to - from < 10) {
    int total = 0;
    for (int i = from; i < to; ++i) total += i;
    return total;
  }
  const int middle = (from + to) / 2;
  auto left = submit(pool, [&pool, from, middle] { return sum(pool, from, middle); });
  const int right = sum(pool, middle, to);
  return left.get().value() + right;
}
TEST(Submitted, is_run_by_the_thread_of_its_pool_that_waits_for_it) {
  for (const int threads : {1, 3}) {
    ThreadPool pool({.threads = threads, .queue_max = 10'000});
    EXPECT_EQ(submit(pool, [&pool] { return sum(pool, 0, 2000); }).get().value(), 1'999'000);
    EXPECT_EQ(submit(pool,
                     [&pool] {
                       auto two = submit_all(pool, std::vector<std::function<int()>>(2, [] { return 4; }));
                       return two[wait_any(two).value()].get().value();
                     })
                  .get()
                  .value(),
              4);
  }
}

// Nobody else would: it has one thread.
TEST(Submitted, that_is_delayed_is_run_by_the_thread_of_its_pool_that_waits_for_it_and_not_before_its_time) {
  ThreadPool pool({.threads = 1});
  const auto now = [] { return Host::system().now(); };

  auto one = submit(pool, [&] {
    const Instant began = now();
    return submit_after(pool, 20_ms, now).get().value() - began;
  });
  EXPECT_GE(one.get().value(), 20_ms);

  auto any = submit(pool, [&] {
    const Instant began = now();
    std::vector<Submitted<Instant>> several;
    several.push_back(submit_after(pool, 1_h, now));
    several.push_back(submit_after(pool, 20_ms, now));
    EXPECT_EQ(wait_any(several, began + 5_ms).error().code(), Code::DeadlineExceeded);
    EXPECT_FALSE(several[1].wait_for(5_ms));
    EXPECT_EQ(wait_any(several).value(), 1u);
    return several[1].get().value() - began;
  });
  EXPECT_GE(any.get().value(), 20_ms);
}

TEST(Submitted, that_its_executor_discards_is_cancelled) {
  struct Keeping final : Executor {
    void post(Job& posted) noexcept override { job = &posted; }
    std::size_t discard_it() noexcept { return discard(*job); }
    Job* job = nullptr;
  } executor;
  bool ran = false;
  auto handle = submit(executor, [&ran] { ran = true; });

  EXPECT_EQ(executor.discard_it(), 1u);

  EXPECT_FALSE(ran);
  EXPECT_EQ(handle.get().error().code(), Code::Cancelled);

  auto cancelled = submit(executor, [&ran] { ran = true; });
  EXPECT_TRUE(cancelled.cancel());
  EXPECT_EQ(executor.discard_it(), 0u) << "it was not the executor that ended it";
}

TEST(Submitted, is_cancelled_and_run_at_the_same_time_by_one_of_them) {
  ThreadPool pool({.threads = 2, .queue_max = 10'000});
  std::atomic<int> ran{0};
  int cancelled = 0;
  for (int i = 0; i < 3000; ++i) {
    auto handle = submit(pool, [&ran] { ++ran; });
    if (i % 3 == 0) std::this_thread::yield();
    if (handle.cancel()) {
      ++cancelled;
      EXPECT_EQ(handle.get().error().code(), Code::Cancelled);
    } else {
      EXPECT_TRUE(handle.get().is_ok());
    }
  }
  EXPECT_EQ(ran + cancelled, 3000);
}

TEST(Submitted, may_be_done_in_the_moment_in_which_who_waits_gives_up) {
  ThreadPool pool({.threads = 2});
  for (int i = 0; i < 600; ++i) {
    auto handle = submit(pool, [i] { return i; });

    const bool is_done = handle.wait_for(Duration::nanoseconds(i % 60 * 500));
    EXPECT_TRUE(handle.is_done() || !is_done);
    EXPECT_EQ(handle.get().value(), i);
  }
}

TEST(Submitted, several_may_be_done_in_the_moment_in_which_who_waits_gives_up) {
  ThreadPool pool({.threads = 2});
  std::vector<std::function<int()>> callables;
  for (int i = 0; i < 600; ++i) {
    callables.assign(3, [i] { return i; });
    auto handles = submit_all(pool, callables);

    const Result<std::size_t> first = wait_any(handles, Host::system().now() + Duration::nanoseconds(i % 60 * 500));
    if (first) {
      EXPECT_TRUE(handles[*first].is_done());
    } else {
      EXPECT_EQ(first.error().code(), Code::DeadlineExceeded);
    }
    EXPECT_TRUE(wait_all(handles));
    for (auto& handle : handles) EXPECT_EQ(handle.get().value(), i);
  }
}

TEST(Submitted, is_not_used_after_its_result_was_taken) {
  InlineExecutor here;
  auto handle = submit(here, [] {});
  EXPECT_TRUE(handle.get());
  EXPECT_THROW((void)handle.get(), Bug);
  EXPECT_THROW((void)handle.is_done(), Bug);
  EXPECT_THROW((void)handle.cancel(), Bug);
}

TEST(Submitted, is_waited_for_among_one_at_least) {
  std::vector<Submitted<int>> none;
  EXPECT_TRUE(wait_all(none));
  EXPECT_THROW((void)wait_any(none), Bug);
}

}  // namespace
}  // namespace keel::submitted_test
