#include "keel/base/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

namespace keel {
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

TEST(Arena, moves_what_it_holds) {
  Arena from;
  const std::string_view text = from.copy("kept");

  Arena to(std::move(from));

  EXPECT_EQ(text, "kept");
  EXPECT_EQ(from.bytes_held(), 0u);
  EXPECT_EQ(to.bytes_held(), 4096u);
}

}  // namespace
}  // namespace keel
