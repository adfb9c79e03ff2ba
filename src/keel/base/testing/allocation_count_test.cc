#include "keel/base/testing/allocation_count.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>

#include "keel/base/sanitizers.h"

namespace keel::allocation_count_test {
namespace {

TEST(AllocationCount, counts_each_allocation_of_this_thread) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer has replaced malloc";
  const std::size_t before = internal::allocations();

  const auto one = std::make_unique<int>(1);
  void* two = std::calloc(2, 8);
  two = std::realloc(two, 4096);
  std::free(two);

  EXPECT_EQ(internal::allocations() - before, 3u);
  EXPECT_EQ(*one, 1);
}

TEST(AllocationCount, refuses_memory_while_told_so) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer has replaced malloc";
  bool is_refused;
  {
    internal::WithoutMemory none;
    is_refused = ::operator new(8, std::nothrow) == nullptr;
  }
  EXPECT_TRUE(is_refused);
  EXPECT_NE(std::make_unique<int>(1), nullptr);
}

}  // namespace
}  // namespace keel::allocation_count_test
