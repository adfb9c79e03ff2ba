#include "keel/base/per_thread.h"

#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <thread>
#include <vector>

namespace keel::per_thread_test {
namespace {

TEST(PerThread, gives_each_thread_its_own_value_again_and_again) {
  PerThread<int> values;
  const auto zero = [] { return 0; };
  values.get(zero) = 7;

  // All begin together, and none ends before all are done: it would leave its value to another.
  std::barrier together(4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&values, &together, zero] {
      together.arrive_and_wait();
      for (int n = 0; n < 1'000; ++n) EXPECT_EQ(values.get(zero)++, n);
      together.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(values.get(zero), 7);
}

TEST(PerThread, of_two_objects_are_two_values) {
  PerThread<int> one;
  PerThread<int> two;
  one.get([] { return 1; });
  EXPECT_EQ(two.get([] { return 2; }), 2);
  EXPECT_EQ(one.get([] { return 3; }), 1);
}

TEST(PerThread, ends_its_values) {
  const auto counted = std::make_shared<int>(1);
  {
    PerThread<std::shared_ptr<int>> values;
    values.get([&] { return counted; });
    std::thread([&] { values.get([&] { return counted; }); }).join();
    EXPECT_EQ(counted.use_count(), 3);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

}  // namespace
}  // namespace keel::per_thread_test
