// docs/executors.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <atomic>
#include <utility>
#include <vector>

#include "keel/exec/call.h"
#include "keel/exec/inline_executor.h"
#include "keel/exec/serial_executor.h"
#include "keel/exec/submitted.h"
#include "keel/exec/thread_pool.h"
#include "keel/task/completion.h"
#include "keel/task/resume_on.h"
#include "keel/task/testing.h"

namespace keel::executors_doc_test {
namespace {

struct Cache {
  void sweep() { ++sweeps; }
  std::atomic<int> sweeps{0};
};

int shrink(int width) { return width / 2; }

Result<> refresh(Executor& executor, Cache& cache) {
  KEEL_TRY_VOID(execute(executor, [&cache] { cache.sweep(); }));  // ResourceExhausted: its queue is full
  return execute_after(executor, 5_ms, [&cache] { cache.sweep(); });
}

Task<int> thumbnail(ThreadPool& pool, int width) {
  auto shrinking = submit(pool, [width] { return shrink(width); });  // named first: GCC 12
  const int small = co_await completion(std::move(shrinking));
  Executor& home = *(co_await this_task()).executor;
  co_await resume_on(pool, Priority::Low);
  const int smaller = shrink(small);
  co_await resume_on(home);
  co_return smaller;
}

TEST(ExecutorsDoc, does_what_it_says) {
  Cache cache;
  ThreadPool pool({.name = "images", .threads = 2, .queue_max = 256});
  Submitted<int> one = submit(pool, [] { return shrink(640); });
  Submitted<int> later = submit_after(pool, 5_ms, [] { return shrink(320); });
  std::vector<Submitted<int>> parts = submit_all(pool, std::vector(3, [] { return shrink(160); }));

  EXPECT_TRUE(wait_all(parts));
  Result<int> width = one.get();
  if (!later.wait_for(50_ms) && later.cancel()) width = 0;  // it had not begun, and will not
  EXPECT_TRUE(width.value_or(-1) == 320 || width.value_or(-1) == 0);
  EXPECT_EQ(parts[2].get(), 80);

  EXPECT_TRUE(refresh(pool, cache));
  {
    testing::TestLoop loop;
    EXPECT_EQ(loop.run(thumbnail(pool, 64)), 16);
    EXPECT_TRUE(refresh(loop, cache));
    loop.advance(10_ms);
    EXPECT_TRUE(pool.drain(20_s));  // A thread of it may still be in post() of the loop.
  }
  {
    InlineExecutor here;
    EXPECT_EQ(refresh(here, cache).error().code(), Code::Unsupported);
  }

  {
    SerialExecutor account(pool);
    int balance = 0;
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(execute(account, [&balance] { balance += 5; }));
    EXPECT_EQ(submit(account, [&balance] { return balance; }).get(), 500);
  }

  EXPECT_TRUE(execute(pool, [] { shrink(80); }, Priority::High));
  EXPECT_TRUE(execute(pool, [] { shrink(40); }, Priority::Low));

  while (cache.sweeps < 5) Host::system().sleep(1_ms);  // Twice on the pool, twice on the loop, once here.
  auto never = submit_after(pool, 1_h, [] { return shrink(20); });
  EXPECT_TRUE(pool.drain(20_s));
  EXPECT_EQ(pool.stop(500_ms), 1u);
  EXPECT_EQ(never.get().error().code(), Code::Cancelled);
}

}  // namespace
}  // namespace keel::executors_doc_test
