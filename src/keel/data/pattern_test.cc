#include "keel/data/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "keel/base/bug.h"
#include "keel/base/testing/allocation_count.h"

namespace keel::pattern_test {
namespace {

constexpr Pattern sku = "[A-Z]{3}-[0-9]+";

TEST(Pattern, is_matched_by_a_text_as_a_whole) {
  EXPECT_TRUE(sku.matches("ABC-17"));
  EXPECT_FALSE(sku.matches("ABC-17 "));
  EXPECT_FALSE(sku.matches("xABC-17"));
  EXPECT_FALSE(sku.matches("ABC-17\n"));
  EXPECT_FALSE(sku.matches(""));
  EXPECT_TRUE(Pattern("a|ab").matches("ab"));
  EXPECT_TRUE(Pattern("").matches(""));
  EXPECT_FALSE(Pattern("").matches("a"));
  EXPECT_TRUE(Pattern("(a)(b)?c").matches("abc"));
}

TEST(Pattern, counts_characters_of_utf_8_and_takes_null_bytes) {
  EXPECT_TRUE(Pattern("..").matches("ä😀"));
  EXPECT_FALSE(Pattern("..").matches("ä"));
  EXPECT_TRUE(Pattern("[ä-ü]+").matches("äöü"));
  EXPECT_TRUE(Pattern("\\pL+").matches("Ångström"));
  EXPECT_TRUE(Pattern("a\\x00b").matches(std::string_view("a\0b", 3)));
  EXPECT_FALSE(Pattern("a").matches(std::string_view("a\0", 2)));
}

TEST(Pattern, is_a_Bug_that_names_it_and_its_place_when_it_is_no_regular_expression) {
  constexpr unsigned line = __LINE__ + 1;
  const auto use = [] { return Pattern("[A-").matches("x"); };
  for (int i = 0; i < 2; ++i) {  // Every time, not only the first.
    try {
      use();
      ADD_FAILURE() << "no Bug";
    } catch (const Bug& bug) {
      const std::string said = bug.what();
      EXPECT_NE(said.find("the pattern \"[A-\" at "), std::string::npos) << said;
      EXPECT_NE(said.find("pattern_test.cc:" + std::to_string(line) + " is not a regular expression: missing ]"),
                std::string::npos)
          << said;
    }
  }
  EXPECT_THROW(Pattern("(a)\\1").matches("aa"), Bug);
  EXPECT_THROW(Pattern("a{100000}").matches("a"), Bug);
}

TEST(Pattern, takes_linear_time_where_backtracking_takes_forever) {
  const auto cpu = [](std::size_t bytes) {
    const std::string text(bytes, 'a');
    double least = 1e9;
    for (int i = 0; i < 5; ++i) {
      const std::clock_t begin = std::clock();
      EXPECT_FALSE(Pattern("(a|aa)+(a*)*b").matches(text));
      least = std::min(least, static_cast<double>(std::clock() - begin));
    }
    return least / CLOCKS_PER_SEC;
  };
  cpu(1000);                       // Compiled.
  EXPECT_LT(cpu(1'000'000), 0.5);  // 30 would be too many for one that backtracks.
}

TEST(Pattern, is_compiled_once_and_then_needs_no_heap) {
  ASSERT_TRUE(sku.matches("ABC-17"));
  ASSERT_FALSE(sku.matches("ABC-x"));
  const std::size_t before = internal::allocations();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(sku.matches("ABC-17"));
  EXPECT_EQ(internal::allocations(), before);
}

TEST(Pattern, is_looked_for_in_a_text) {
  constexpr Pattern code = "[A-Z]{2}[0-9]";

  EXPECT_TRUE(code.is_in("the code AB1 is taken"));
  EXPECT_TRUE(code.is_in("AB1"));
  EXPECT_FALSE(code.is_in("AB-1"));
  EXPECT_FALSE(code.matches("the code AB1 is taken"));
  EXPECT_TRUE(Pattern("").is_in(""));
}

TEST(Pattern, is_used_by_several_threads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int j = 0; j < 200; ++j) {
        EXPECT_TRUE(Pattern("t[0-9]+").matches("t" + std::to_string(j)));
        EXPECT_FALSE(Pattern("u[0-9]+").matches("u"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace keel::pattern_test
