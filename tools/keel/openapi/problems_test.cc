#include "openapi/problems.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

namespace keel::openapi::problems_test {
namespace {

TEST(Problems, are_sorted_by_file_and_place) {
  Problems problems;
  const auto add = [&](const char* file, std::uint32_t line, std::uint32_t column, const char* text) {
    problems.add({.file = file, .line = line, .column = column, .text = text, .pointer = {}});
  };
  add("b", 2, 1, "one");
  add("a", 1, 1, "two");
  add("b", 1, 5, "three");
  add("b", 1, 2, "four");
  std::string all;
  for (const Problem& problem : problems.sorted()) all += problem.describe() + '\n';
  EXPECT_EQ(all, "b:1:2: error: four\nb:1:5: error: three\nb:2:1: error: one\na:1:1: error: two\n");
}

TEST(Problems, are_kept_once) {
  Problems problems;
  for (int i = 0; i < 3; ++i) problems.add({.file = "a", .line = 1, .column = 1, .text = "one", .pointer = {}});
  EXPECT_EQ(problems.errors(), 1u);
  EXPECT_EQ(problems.sorted().size(), 1u);
}

TEST(Problems, are_counted_beyond_their_bound) {
  Problems problems;
  for (std::uint32_t i = 0; i < Problems::count_max + 5; ++i) {
    problems.add({.file = "a", .line = i + 1, .column = 1, .text = "one", .pointer = {}});
  }
  EXPECT_EQ(problems.errors(), Problems::count_max + 5);
  EXPECT_EQ(problems.sorted().size(), Problems::count_max);
}

TEST(Nearest, is_a_name_with_few_other_letters) {
  constexpr std::array<std::string_view, 3> names = {"name", "description", "tags"};
  EXPECT_EQ(nearest("naem", names), "name");
  EXPECT_EQ(nearest("descripton", names), "description");
  EXPECT_EQ(nearest("tag", names), "tags");
  EXPECT_EQ(nearest("servers", names), "");
  EXPECT_EQ(nearest(std::string(100, 'a'), names), "");
  EXPECT_EQ(suggestion("nam", names), "; did you mean 'name'?");
}

}  // namespace
}  // namespace keel::openapi::problems_test
