#include "keel/base/arena_resource.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory_resource>
#include <new>
#include <string>
#include <tuple>
#include <vector>

namespace keel::arena_resource_test {
namespace {

TEST(ArenaResource, gives_containers_the_memory_of_the_arena) {
  Arena arena;
  ArenaResource memory(arena);

  {
    std::pmr::vector<std::pmr::string> words(&memory);
    for (int i = 0; i < 100; ++i) words.emplace_back("a word that is too long to lie in the string itself");
    EXPECT_EQ(words.back(), "a word that is too long to lie in the string itself");
    EXPECT_GE(arena.statistics().used, 100 * 50u);
  }
  arena.rewind();

  EXPECT_EQ(arena.statistics().used, 0u);
}

TEST(ArenaResource, aligns_beyond_what_the_arena_does) {
  Arena arena;
  ArenaResource memory(arena);

  for (const std::size_t alignment : {1u, 16u, 32u, 64u, 4096u}) {
    std::ignore = memory.allocate(1, 1);
    const void* block = memory.allocate(100, alignment);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u) << alignment;
  }
  const volatile std::size_t too_many = SIZE_MAX;  // The compiler knows that nobody can have so much.
  EXPECT_THROW(std::ignore = memory.allocate(too_many, 64), std::bad_alloc);
}

TEST(ArenaResource, equals_another_one_of_the_same_arena) {
  Arena arena;
  Arena other;
  const ArenaResource memory(arena);

  EXPECT_EQ(memory, ArenaResource(arena));
  EXPECT_NE(memory, ArenaResource(other));
  EXPECT_NE(memory, *std::pmr::new_delete_resource());
}

}  // namespace
}  // namespace keel::arena_resource_test
