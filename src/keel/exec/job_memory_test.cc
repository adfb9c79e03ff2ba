// Crosses threads: run under ThreadSanitizer.
#include "keel/exec/job_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "keel/base/sanitizers.h"
#include "keel/base/testing/allocation_count.h"

namespace keel::job_memory_test {
namespace {

TEST(JobMemory, gives_blocks_in_lines_of_their_own_that_do_not_overlap) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{64}, std::size_t{65}, job_block_max}) {
    std::set<std::uintptr_t> seen;
    std::vector<void*> blocks;
    for (int i = 0; i < 300; ++i) {
      void* const block = job_allocate(bytes);
      std::memset(block, 0xa5, bytes);
      if (!KEEL_SANITIZED) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0u);
      }
      for (std::size_t at = 0; at < bytes; ++at) {
        EXPECT_TRUE(seen.insert(reinterpret_cast<std::uintptr_t>(block) + at).second);
      }
      blocks.push_back(block);
    }
    for (void* const block : blocks) job_free(block, bytes);
  }
}

TEST(JobMemory, gives_larger_blocks_from_the_heap) {
  const std::size_t before = internal::allocations();

  void* const block = job_allocate(job_block_max + 1);
  std::memset(block, 1, job_block_max + 1);
  job_free(block, job_block_max + 1);

  if (!KEEL_SANITIZED) {
    EXPECT_EQ(internal::allocations() - before, 1u);
  }
}

// One thread only makes them and another only ends them, as a poster and a pool do.
TEST(JobMemory, comes_back_to_the_thread_that_makes_jobs) {
  constexpr std::size_t at_once = 1000;
  std::array<void*, at_once> blocks;
  std::size_t later = 0;
  for (int round = 0; round < 20; ++round) {
    const std::size_t before = internal::allocations();
    for (void*& block : blocks) block = job_allocate(48);
    if (round >= 10) later += internal::allocations() - before;
    std::thread([&] {
      for (void* const block : blocks) job_free(block, 48);
    }).join();
  }
  EXPECT_EQ(later, 0u);
}

}  // namespace
}  // namespace keel::job_memory_test
