// Where base promises how often it asks the heap. Under a sanitizer, which replaces malloc itself, nothing is counted.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "keel/base/arena.h"
#include "keel/base/buffer_chain.h"
#include "keel/base/circular_buffer.h"
#include "keel/base/error.h"
#include "keel/base/object_pool.h"
#include "keel/base/result.h"
#include "keel/base/testing/allocation_count.h"

namespace keel::allocation_test {
namespace {

class Allocations : public ::testing::Test {
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

Result<int> deep(int levels) {
  if (levels == 0) return fail(Code::NotFound, "no such user");
  return deep(levels - 1).because("one level of the context");
}
Result<int> deep_below_a_message(int levels) {
  if (levels == 0) return Error::text(Code::NotFound, "no user with the number 1234567");
  return deep_below_a_message(levels - 1).because("reading the settings");
}

TEST_F(Allocations, of_a_value_or_a_literal_are_none) {
  EXPECT_EQ(of([] { EXPECT_EQ(deep(0).error().code(), Code::NotFound); }), 0u);
  EXPECT_EQ(of([] { EXPECT_EQ(Result<int>(3).map([](int i) { return i + 1; }).value(), 4); }), 0u);
  EXPECT_EQ(of([] { EXPECT_TRUE(Error::from_errno("open", 2).clone().message() == "open"); }), 0u);
}

TEST_F(Allocations, of_a_message_and_five_levels_of_context_is_one) {
  EXPECT_EQ(of([] { EXPECT_TRUE(deep(1).is_err()); }), 1u);
  EXPECT_EQ(of([] { EXPECT_TRUE(deep(5).is_err()); }), 1u);
  EXPECT_EQ(of([] { EXPECT_TRUE(deep_below_a_message(0).is_err()); }), 1u);
  EXPECT_EQ(of([] { EXPECT_TRUE(deep_below_a_message(5).is_err()); }), 1u);
}

TEST_F(Allocations, of_context_are_none_as_long_as_it_finds_the_room_that_is_promised) {
  const std::string fits(Error::context_room - 2, 'x');  // Without its ": ".
  for (const std::size_t size : {1u, 30u, 1000u}) {
    Error error = Error::text(Code::Internal, std::string(size, 'y'));
    EXPECT_EQ(of([&] { error = std::move(error).because(fits); }), 0u) << size;
  }

  const std::string too_long = fits + 'x';
  Error small = Error::text(Code::Internal, "y");
  EXPECT_EQ(of([&] { small = std::move(small).because(too_long); }), 1u);
  EXPECT_EQ(small.message(), too_long + ": y");
}

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
}  // namespace keel::allocation_test
