#include "keel/base/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace keel::arena_test {
namespace {

TEST(Arena, aligns_what_it_allocates) {
  Arena arena;

  for (const std::size_t alignment : {1u, 2u, 4u, 8u, 16u}) {
    arena.allocate(1, 1);
    const void* at = arena.allocate(3, alignment);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % alignment, 0u) << alignment;
  }
}

TEST(Arena, gives_memory_that_does_not_overlap_across_blocks) {
  Arena arena;
  std::span<int> spans[200];

  for (int i = 0; i < 200; ++i) {
    spans[i] = arena.array<int>(100);
    for (int& cell : spans[i]) cell = i;
  }

  for (int i = 0; i < 200; ++i) {
    for (const int cell : spans[i]) ASSERT_EQ(cell, i);
  }
}

TEST(Arena, serves_requests_larger_than_a_block) {
  Arena arena;

  std::memset(arena.allocate(1'000'000), 'x', 1'000'000);

  EXPECT_GE(arena.bytes_held(), 1'000'000u);
}

TEST(Arena, never_gives_null_even_for_nothing) {
  Arena arena;
  EXPECT_NE(arena.allocate(0), nullptr);
}

TEST(Arena, copies_text) {
  Arena arena;
  std::string_view copy;
  {
    char text[] = "name";
    copy = arena.copy(text);
    text[0] = 'x';
  }
  EXPECT_EQ(copy, "name");
  EXPECT_TRUE(arena.copy({}).empty());
}

TEST(Arena, extends_the_last_block_in_place_and_moves_any_other) {
  Arena arena;
  auto* first = static_cast<char*>(arena.allocate(4, 1));
  std::memcpy(first, "abcd", 4);

  EXPECT_EQ(arena.extend(first, 4, 64), first);
  arena.allocate(1, 1);
  auto* moved = static_cast<char*>(arena.extend(first, 64, 128));

  EXPECT_NE(moved, first);
  EXPECT_EQ(std::string_view(moved, 4), "abcd");
}

TEST(Arena, extends_past_its_block_by_copying) {
  Arena arena;
  auto* first = static_cast<char*>(arena.allocate(4000, 1));
  std::memset(first, 'x', 4000);

  auto* moved = static_cast<char*>(arena.extend(first, 4000, 20'000));

  EXPECT_EQ(moved[0], 'x');
  EXPECT_EQ(moved[3999], 'x');
}

TEST(Arena, keeps_one_block_when_rewound_and_none_when_released) {
  Arena arena;
  const void* first = arena.allocate(8);
  for (int i = 0; i < 100; ++i) arena.allocate(1000);
  arena.allocate(100'000);

  arena.rewind();
  EXPECT_EQ(arena.bytes_held(), 4096u);
  EXPECT_EQ(arena.allocate(8), first);

  arena.release();
  EXPECT_EQ(arena.bytes_held(), 0u);
  EXPECT_NE(arena.allocate(8), nullptr);
}

TEST(Arena, keeps_no_large_block_when_rewound) {
  Arena arena;
  arena.allocate(100'000);

  arena.rewind();

  EXPECT_EQ(arena.bytes_held(), 0u);
  EXPECT_NE(arena.allocate(8), nullptr);
}

TEST(Arena, goes_back_to_a_mark_within_a_block_and_across_blocks) {
  Arena arena;
  const std::string_view kept = arena.copy("kept");
  const Arena::Mark mark = arena.mark();

  for (const std::size_t bytes : {10u, 3000u, 3000u, 100'000u}) {
    void* const first = arena.allocate(bytes);
    for (int i = 0; i < 3; ++i) arena.allocate(bytes);
    arena.rewind(mark);
    EXPECT_EQ(arena.statistics().used, 4u);
    EXPECT_EQ(arena.bytes_held(), 4096u);
    if (bytes < 4000) {
      EXPECT_EQ(arena.allocate(bytes), first) << bytes;
    }
    arena.rewind(mark);
  }

  EXPECT_EQ(kept, "kept");
}

TEST(Arena, goes_back_to_marks_one_after_the_other) {
  Arena arena;
  const Arena::Mark empty = arena.mark();
  arena.allocate(5000);
  const Arena::Mark first = arena.mark();
  arena.allocate(5000);
  const Arena::Mark second = arena.mark();
  arena.allocate(5000);

  arena.rewind(second);
  EXPECT_EQ(arena.statistics().used, 10'000u);
  arena.rewind(first);
  EXPECT_EQ(arena.statistics().used, 5000u);
  arena.rewind(empty);
  EXPECT_EQ(arena.statistics().used, 0u);
}

TEST(Arena, counts_what_is_used_and_reserved_and_the_most_there_was) {
  Arena arena;
  EXPECT_EQ(arena.statistics().chunks, 0u);

  arena.allocate(1, 1);
  arena.allocate(8, 8);
  EXPECT_EQ(arena.statistics().used, 16u) << "with what alignment took";
  arena.allocate(10'000);
  arena.rewind();
  arena.allocate(100);

  const auto [used, reserved, high_water, chunks] = arena.statistics();
  EXPECT_EQ(used, 100u);
  EXPECT_EQ(reserved, 4096u);
  EXPECT_EQ(high_water, 10'016u);
  EXPECT_EQ(chunks, 1u);
}

TEST(Arena, refuses_more_than_there_is_instead_of_wrapping_around) {
  Arena arena;
  arena.allocate(8);

  EXPECT_THROW(arena.allocate(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(arena.allocate(SIZE_MAX - 7, 1), std::bad_alloc);
  EXPECT_THROW((void)arena.array<int>(SIZE_MAX / 4 + 2), std::bad_alloc);
  EXPECT_EQ(arena.statistics().used, 8u);
}

TEST(Arena, fills_a_block_to_its_last_byte) {
  Arena arena;
  auto* const first = static_cast<char*>(arena.allocate(4000, 1));

  EXPECT_EQ(arena.allocate(80, 1), first + 4000);
  EXPECT_EQ(arena.statistics().chunks, 1u);
  arena.allocate(1, 1);
  EXPECT_EQ(arena.statistics().chunks, 2u);
}

TEST(ArenaDeathTest, aborts_when_told_to_go_back_to_a_mark_that_is_not_its_own_or_passed) {
  Arena arena;
  Arena other;
  arena.allocate(8);
  other.allocate(8);
  const Arena::Mark early = arena.mark();
  arena.allocate(8);
  const Arena::Mark late = arena.mark();

  EXPECT_DEATH(arena.rewind(other.mark()), "can rewind only to one of its own marks");
  arena.rewind(early);
  EXPECT_DEATH(arena.rewind(late), "can rewind only to one of its own marks");
}

TEST(Arena, moves_what_it_holds) {
  Arena from;
  const std::string_view text = from.copy("kept");

  Arena to(std::move(from));

  EXPECT_EQ(text, "kept");
  EXPECT_EQ(from.bytes_held(), 0u);
  EXPECT_EQ(to.bytes_held(), 4096u);
}

}  // namespace
}  // namespace keel::arena_test
