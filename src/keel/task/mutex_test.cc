#include "keel/task/mutex.h"

#include <gtest/gtest.h>

#include "keel/task/scope.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::mutex_test {
namespace {

// Reads, waits, writes: correct only when nobody comes between.
Task<> add_one(Mutex& mutex, int& value) {
  Mutex::Lock lock = co_await mutex.lock();
  const int before = value;
  co_await sleep_for(1_ms);
  value = before + 1;
}
Task<> add_one_unlocked(int& value) {
  const int before = value;
  co_await sleep_for(1_ms);
  value = before + 1;
}

Task<> add_many(Mutex& mutex, int& locked, int& unlocked) {
  Scope scope;
  for (int i = 0; i < 20; ++i) {
    scope.spawn(add_one(mutex, locked));
    scope.spawn(add_one_unlocked(unlocked));
  }
  co_await scope.join();
}

TEST(Mutex, keeps_others_out_across_awaits) {
  testing::TestLoop loop;
  Mutex mutex;
  int locked = 0;
  int unlocked = 0;
  EXPECT_TRUE(loop.run(add_many(mutex, locked, unlocked)).is_ok());
  EXPECT_EQ(locked, 20);
  EXPECT_LT(unlocked, 20) << "without the lock this test could not fail";
  EXPECT_FALSE(mutex.is_locked());
}
TEST(Mutex, try_lock_does_not_wait) {
  Mutex mutex;
  auto lock = mutex.try_lock();
  ASSERT_TRUE(lock);
  EXPECT_TRUE(mutex.is_locked());
  EXPECT_FALSE(mutex.try_lock());
  lock->release();
  EXPECT_TRUE(mutex.try_lock());
}
TEST(Mutex, who_locks_twice_waits_until_stopped) {
  testing::TestLoop loop;
  Mutex mutex;
  auto twice = [](Mutex& m) -> Task<> {
    Mutex::Lock first = co_await m.lock();
    Mutex::Lock second = co_await with_timeout(10_ms, m.lock());
  };
  EXPECT_EQ(loop.run(twice(mutex)).error().code(), Code::DeadlineExceeded);
  EXPECT_FALSE(mutex.is_locked());
}

}  // namespace
}  // namespace keel::mutex_test
