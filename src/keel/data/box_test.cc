#include "keel/data/box.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "keel/base/bug.h"

namespace keel::box_test {
namespace {

struct Category {
  std::string name;
  Box<Category> parent;

  friend bool operator==(const Category&, const Category&) = default;
};

TEST(Box, is_empty_until_it_is_given_a_value) {
  Box<int> box;

  EXPECT_FALSE(box);
  EXPECT_THROW((void)*box, Bug);
  box.emplace() = 4;
  EXPECT_EQ(*box, 4);
  box.reset();
  EXPECT_FALSE(box.has_value());
}

TEST(Box, copies_and_compares_its_value) {
  const Category books{"books", Category{"all", {}}};
  Category copy = books;

  EXPECT_EQ(copy, books);
  copy.parent->name = "other";
  EXPECT_NE(copy, books);
  EXPECT_EQ(books.parent->name, "all");
  copy.parent.reset();
  EXPECT_NE(copy, books);
}

TEST(Box, is_empty_once_it_was_moved_from) {
  Box<std::string> from = std::string("text");
  const Box<std::string> to = std::move(from);

  EXPECT_EQ(*to, "text");
  EXPECT_FALSE(from.has_value());  // NOLINT
}

}  // namespace
}  // namespace keel::box_test
