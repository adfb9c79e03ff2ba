#include "keel/base/pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "keel/base/host.h"
#include "keel/base/sanitizers.h"

namespace keel::pool_test {
namespace {

TEST(Pool, rounds_up_by_steps_of_16_bytes_and_from_a_kilobyte_on_to_powers_of_two) {
  EXPECT_EQ(pool_block_size(0), 24u);
  EXPECT_EQ(pool_block_size(1), 24u);
  EXPECT_EQ(pool_block_size(24), 24u);
  EXPECT_EQ(pool_block_size(25), 40u);
  EXPECT_EQ(pool_block_size(312), 312u);
  EXPECT_EQ(pool_block_size(313), 328u);
  EXPECT_EQ(pool_block_size(1024), 1032u);
  EXPECT_EQ(pool_block_size(1032), 1032u);
  EXPECT_EQ(pool_block_size(1033), 2048u);
  EXPECT_EQ(pool_block_size(2048), 2048u);
  EXPECT_EQ(pool_block_size(65'536), 65'536u);
  EXPECT_EQ(pool_block_size(65'537), 65'537u);
}

TEST(Pool, gives_blocks_that_are_usable_to_their_whole_size) {
  for (const std::size_t bytes : {1u, 64u, 100u, 1000u, 1024u, 1032u, 1033u, 4096u, 65'536u, 200'000u}) {
    void* block = pool_allocate(bytes);
    std::memset(block, 0x5a, pool_block_size(bytes));
    pool_free(block, bytes);
  }
}

TEST(Pool, reuses_the_block_freed_last_for_any_size_of_its_class) {
  if (KEEL_ADDRESS_SANITIZER) GTEST_SKIP() << "blocks come from malloc";
  void* first = pool_allocate(100);
  void* second = pool_allocate(100);
  pool_free(first, 100);
  pool_free(second, 100);

  EXPECT_EQ(pool_allocate(104), second);
  EXPECT_EQ(pool_allocate(89), first);

  pool_free(first, 100);
  pool_free(second, 100);
}

TEST(Pool, keeps_a_bounded_amount_and_gives_it_back_when_trimmed) {
  std::vector<void*> blocks;
  for (int i = 0; i < 200; ++i) blocks.push_back(pool_allocate(pool_block_max));  // 12.5 MiB; 4 are kept.
  for (void* block : blocks) pool_free(block, pool_block_max);
  pool_trim();
  void* block = pool_allocate(pool_block_max);
  EXPECT_NE(block, nullptr);
  pool_free(block, pool_block_max);
}

TEST(Pool, takes_a_block_back_on_another_thread) {
  void* block = pool_allocate(1000);
  std::memset(block, 1, 1000);

  Host::system()
      .start_thread("freeing",
                    [block] {
                      pool_free(block, 1000);
                      pool_free(pool_allocate(1000), 1000);
                    })
      ->join();

  void* next = pool_allocate(1000);
  std::memset(next, 2, 1000);
  pool_free(next, 1000);
}

}  // namespace
}  // namespace keel::pool_test
