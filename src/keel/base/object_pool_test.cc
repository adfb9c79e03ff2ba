#include "keel/base/object_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "keel/base/sanitizers.h"

namespace keel::object_pool_test {
namespace {

struct Order {
  Order(int number, std::string who) : id(number), customer(std::move(who)) {}
  int id;
  std::string customer;
};

TEST(ObjectPool, makes_objects_from_arguments_and_ends_them_when_released) {
  ObjectPool<std::shared_ptr<int>> pool;
  const auto watched = std::make_shared<int>(1);

  auto& object = pool.make(watched);
  EXPECT_EQ(watched.use_count(), 2);
  pool.release(object);

  EXPECT_EQ(watched.use_count(), 1);
}

TEST(ObjectPool, uses_the_place_that_was_released_last) {
  ObjectPool<Order> pool;
  Order& first = pool.make(1, "first");
  Order& second = pool.make(2, "second");
  const void* const places[] = {&second, &first};
  pool.release(first);
  pool.release(second);

  Order& third = pool.make(3, "third");
  Order& fourth = pool.make(4, "fourth");

  EXPECT_EQ(&third, places[0]);
  EXPECT_EQ(&fourth, places[1]);
  pool.release(third);
  pool.release(fourth);
}

TEST(ObjectPool, keeps_objects_apart_and_in_place_however_many_come_and_go) {
  std::minstd_rand random(7);
  ObjectPool<Order> pool;
  std::vector<std::pair<Order*, int>> live;

  for (int i = 0; i < 20'000; ++i) {
    if (live.size() < 10 || (live.size() < 1000 && random() % 2 == 0)) {
      live.emplace_back(&pool.make(i, std::to_string(i)), i);
    } else {
      std::swap(live[random() % live.size()], live.back());
      const auto [order, number] = live.back();
      ASSERT_EQ(order->id, number);
      ASSERT_EQ(order->customer, std::to_string(number));
      pool.release(*order);
      live.pop_back();
    }
    ASSERT_EQ(pool.statistics().live, live.size());
  }

  for (const auto& [order, number] : live) pool.release(*order);
}

TEST(ObjectPool, counts_what_is_live_what_was_and_what_it_holds) {
  ObjectPool<std::uint64_t> pool;
  EXPECT_EQ(pool.statistics().blocks, 0u);
  std::vector<std::uint64_t*> numbers{&pool.make(0u)};
  const std::size_t of_a_block = pool.statistics().capacity;
  EXPECT_EQ(of_a_block, 255u);  // Of 16 bytes each.

  while (numbers.size() < of_a_block) numbers.push_back(&pool.make(numbers.size()));
  EXPECT_EQ(pool.statistics().blocks, 1u);
  numbers.push_back(&pool.make(1u));
  EXPECT_EQ(pool.statistics().blocks, 2u);
  for (std::uint64_t* number : numbers) pool.release(*number);

  const auto [live, high_water, capacity, blocks] = pool.statistics();
  EXPECT_EQ(live, 0u);
  EXPECT_EQ(high_water, of_a_block + 1);
  EXPECT_EQ(capacity, 2 * of_a_block);
  EXPECT_EQ(blocks, 2u);
}

TEST(ObjectPool, aligns_and_holds_objects_larger_than_a_page) {
  struct alignas(16) Large {
    char bytes[5000];
  };
  ObjectPool<Large> pool;

  Large& first = pool.make();
  Large& second = pool.make();

  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&first) % 16, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&second) % 16, 0u);
  EXPECT_GE(pool.statistics().capacity, 8u);
  pool.release(first);
  pool.release(second);
}

TEST(ObjectPool, is_as_before_when_a_constructor_throws) {
  struct Picky {
    explicit Picky(bool refuses) {
      if (refuses) throw std::runtime_error("refused");
    }
  };
  ObjectPool<Picky> pool;
  Picky& first = pool.make(false);
  const void* const place = &first;
  pool.release(first);

  EXPECT_THROW((void)pool.make(true), std::runtime_error);

  EXPECT_EQ(pool.statistics().live, 0u);
  Picky& again = pool.make(false);
  EXPECT_EQ(&again, place);
  pool.release(again);
}

TEST(ObjectPool, releases_for_a_unique_ptr) {
  ObjectPool<Order> pool;
  {
    const std::unique_ptr<Order, ObjectPool<Order>::Release> owned(&pool.make(1, "owned"),
                                                                   ObjectPool<Order>::Release(pool));
    EXPECT_EQ(pool.statistics().live, 1u);
  }
  EXPECT_EQ(pool.statistics().live, 0u);
}

TEST(ObjectPoolDeathTest, aborts_when_an_object_is_released_twice) {
  ObjectPool<Order> pool;
  Order& order = pool.make(1, "once");
  pool.release(order);

  EXPECT_DEATH(pool.release(order), "an object must be released exactly once, to the pool that made it");
}

TEST(ObjectPoolDeathTest, aborts_when_an_object_is_released_to_another_pool) {
  ObjectPool<Order> pool;
  ObjectPool<Order> other;
  Order& order = pool.make(1, "here");

  EXPECT_DEATH(other.release(order), "an object must be released exactly once, to the pool that made it");
  pool.release(order);
}

TEST(ObjectPoolDeathTest, aborts_when_it_ends_before_its_objects) {
  EXPECT_DEATH(
      {
        ObjectPool<Order> pool;
        pool.make(1, "left");
      },
      "every object must be released before its pool is destroyed");
}

TEST(ObjectPoolDeathTest, lets_AddressSanitizer_find_an_object_that_is_used_after_its_release) {
  if (!KEEL_ADDRESS_SANITIZER) GTEST_SKIP() << "only AddressSanitizer looks at every access";
  ObjectPool<std::uint64_t> pool;
  std::uint64_t& number = pool.make(5u);
  pool.release(number);

  EXPECT_DEATH(*const_cast<volatile std::uint64_t*>(&number) = 6, "use-after-poison");
}

}  // namespace
}  // namespace keel::object_pool_test
