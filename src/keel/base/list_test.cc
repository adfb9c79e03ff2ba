#include "keel/base/list.h"

#include <gtest/gtest.h>

#include <vector>

namespace keel::list_test {
namespace {

struct Item : Link {
  explicit Item(int n) : number(n) {}
  int number;
};

std::vector<int> drain(List<Item>& list) {
  std::vector<int> numbers;
  while (Item* item = list.pop_front()) numbers.push_back(item->number);
  return numbers;
}

TEST(List, keeps_the_order_of_insertion) {
  Item a(1), b(2), c(3);
  List<Item> list;

  EXPECT_TRUE(list.empty());
  list.push_back(b);
  list.push_back(c);
  list.push_front(a);

  EXPECT_EQ(list.front().number, 1);
  EXPECT_EQ(drain(list), (std::vector{1, 2, 3}));
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.pop_front(), nullptr);
}

TEST(List, removes_from_anywhere) {
  Item a(1), b(2), c(3);
  List<Item> list;
  for (Item* item : {&a, &b, &c}) list.push_back(*item);

  list.remove(b);
  EXPECT_FALSE(b.linked());
  c.unlink();

  EXPECT_EQ(drain(list), std::vector{1});
}

TEST(List, takes_over_another_list) {
  Item a(1), b(2), c(3);
  List<Item> first;
  List<Item> second;
  first.push_back(a);
  second.push_back(b);
  second.push_back(c);

  first.splice_back(second);

  EXPECT_TRUE(second.empty());
  EXPECT_EQ(drain(first), (std::vector{1, 2, 3}));
}

TEST(List, lets_each_element_leave_while_it_is_visited) {
  Item a(1), b(2), c(3);
  List<Item> list;
  for (Item* item : {&a, &b, &c}) list.push_back(*item);
  std::vector<int> seen;

  list.for_each([&](Item& item) {
    seen.push_back(item.number);
    if (item.number != 2) item.unlink();
  });

  EXPECT_EQ(seen, (std::vector{1, 2, 3}));
  EXPECT_EQ(drain(list), std::vector{2});
}

#ifndef NDEBUG
TEST(ListDeathTest, refuses_an_element_that_is_in_a_list_already) {
  Item a(1);
  List<Item> list;
  list.push_back(a);
  EXPECT_DEATH(list.push_back(a), "one list at a time");
  a.unlink();
}
#endif

}  // namespace
}  // namespace keel::list_test
