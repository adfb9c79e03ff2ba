#include "keel/data/patch.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace keel::patch_test {
namespace {

TEST(Patch, is_absent_null_or_a_value) {
  const Patch<int> absent;
  const auto null = Patch<int>::null();
  const auto four = Patch<int>::of(4);

  EXPECT_TRUE(absent.is_absent() && !absent.is_null() && !absent.has_value());
  EXPECT_TRUE(!null.is_absent() && null.is_null() && !null.has_value());
  EXPECT_TRUE(!four.is_absent() && !four.is_null() && four.has_value());
  EXPECT_EQ(*four, 4);
  EXPECT_NE(absent, null);
}

TEST(Patch, changes_only_what_it_speaks_of) {
  std::optional<std::string> name = "Ada";
  Patch<std::string>().apply_to(name);
  EXPECT_EQ(name, "Ada");
  Patch<std::string>::of("Bob").apply_to(name);
  EXPECT_EQ(name, "Bob");
  Patch<std::string>::null().apply_to(name);
  EXPECT_EQ(name, std::nullopt);

  std::string title = "Dr";
  Patch<std::string>().apply_to(title);
  EXPECT_EQ(title, "Dr");
  Patch<std::string>::of("Prof").apply_to(title);
  EXPECT_EQ(title, "Prof");
}

TEST(Patch, throws_a_Bug_where_there_is_no_value_or_none_may_be) {
  std::string title = "Dr";
  EXPECT_THROW(*Patch<int>(), Bug);
  EXPECT_THROW(*Patch<int>::null(), Bug);
  EXPECT_THROW(Patch<std::string>::null().apply_to(title), Bug);
}

TEST(Patch, forgets_its_value_for_null_and_null_for_a_value) {
  auto patch = Patch<int>::of(4);
  patch.set_null();
  EXPECT_EQ(patch, Patch<int>::null());
  patch.emplace() = 5;
  EXPECT_EQ(patch, Patch<int>::of(5));
}

}  // namespace
}  // namespace keel::patch_test
