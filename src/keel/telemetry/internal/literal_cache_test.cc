#include "keel/telemetry/internal/literal_cache.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace keel::telemetry::literal_cache_test {
namespace {

constexpr std::size_t size = 32;
constexpr auto any = [](const std::uint64_t&) { return true; };

TEST(LiteralCache, FindsNothingInAnEmptyOne) {
  LiteralCache<std::uint64_t, size> cache;
  EXPECT_EQ(cache.find(7, any), nullptr);
}

// Of literals that lie as closely together as a linker puts them, at any distance.
TEST(LiteralCache, KeepsAsManyAsItHasPlacesWhereverTheyLie) {
  for (std::uint64_t distance = 1; distance <= 4096; ++distance) {
    LiteralCache<std::uint64_t, size> cache;
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t id = 0x5555'0000'1234 + i * distance;
      ASSERT_EQ(cache.find(id, any), nullptr);
      cache.place(id) = i;
    }
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t* const found = cache.find(0x5555'0000'1234 + i * distance, any);
      ASSERT_NE(found, nullptr) << i << " at a distance of " << distance;
      ASSERT_EQ(*found, i);
    }
  }
}

TEST(LiteralCache, PushesOutOneAtATimeWhenItIsFull) {
  LiteralCache<std::uint64_t, size> cache;
  for (std::uint64_t id = 1; id <= 3 * size; ++id) {
    cache.place(id) = id;
    ASSERT_NE(cache.find(id, any), nullptr);
    std::uint64_t kept = 0;
    for (std::uint64_t other = 1; other <= id; ++other) {
      const std::uint64_t* const found = cache.find(other, any);
      if (found != nullptr) {
        ASSERT_EQ(*found, other);
        ++kept;
      }
    }
    ASSERT_EQ(kept, std::min<std::uint64_t>(id, size));
  }
}

TEST(LiteralCache, TellsThoseApartThatHaveOneId) {
  LiteralCache<std::uint64_t, size> cache;
  cache.place(7) = 70;
  cache.place(7) = 71;
  const std::uint64_t* const found = cache.find(7, [](const std::uint64_t& value) { return value == 71; });
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(*found, 71u);
  EXPECT_EQ(cache.find(7, [](const std::uint64_t& value) { return value == 72; }), nullptr);
}

}  // namespace
}  // namespace keel::telemetry::literal_cache_test
