// Where base promises how often it asks the heap. Under a sanitizer, which replaces malloc itself, nothing is counted.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/base/arena.h"
#include "keel/base/buffer_chain.h"
#include "keel/base/circular_buffer.h"
#include "keel/base/object_pool.h"
#include "keel/observe/internal/allocation_count.h"

namespace keel {
namespace {

class Allocations : public testing::Test {
 protected:
  void SetUp() override {
    if (KEEL_SANITIZED) GTEST_SKIP() << "allocations are not counted";
  }
  // Of `work`, alone.
  template <class Work>
  static std::size_t of(Work work) {
    const std::size_t before = internal::allocations();
    work();
    return internal::allocations() - before;
  }
};

TEST_F(Allocations, of_an_object_that_takes_the_place_of_another_are_none) {
  ObjectPool<std::vector<int>> pool;
  pool.release(pool.make());

  EXPECT_EQ(of([&] {
              for (int i = 0; i < 100; ++i) pool.release(pool.make());
            }),
            0u);
}

TEST_F(Allocations, of_a_ring_are_made_at_its_beginning) {
  CircularBuffer<int> ring(16 * 1024);

  EXPECT_EQ(of([&] {
              for (int i = 0; i < 100'000; ++i) ring.push_overwriting(i);
            }),
            0u);
}

TEST_F(Allocations, of_an_arena_and_of_a_chain_end_when_they_have_had_as_much_before) {
  const std::string piece(1000, 'x');
  const auto use = [&] {
    Arena arena;
    BufferChain chain;
    for (int i = 0; i < 50; ++i) {
      arena.copy(piece);
      chain.append(piece);
    }
    chain.consume(20'000);
  };
  use();

  EXPECT_EQ(of(use), 0u);
}

}  // namespace
}  // namespace keel
