#include "keel/base/collect.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::collect_test {
namespace {

Result<int> digit(char c) {
  if (c < '0' || c > '9') return Error::text(Code::InvalidArgument, std::string("no digit: ") + c);
  return c - '0';
}
Result<> even(int value) {
  if (value % 2 != 0) return fail(Code::InvalidArgument, "odd");
  return {};
}

TEST(Collect, gives_the_values_in_their_order) {
  const std::string_view text = "3141";

  EXPECT_EQ(collect(text | std::views::transform(digit)).value(), (std::vector{3, 1, 4, 1}));
  EXPECT_TRUE(collect(std::vector<Result<int>>()).value().empty());
}

TEST(Collect, stops_at_the_first_error) {
  int asked = 0;
  const auto counted = [&asked](char c) {
    ++asked;
    return digit(c);
  };

  EXPECT_EQ(collect(std::string_view("3x4y") | std::views::transform(counted)).error().message(), "no digit: x");
  EXPECT_EQ(asked, 2);
}

TEST(Collect, of_Results_without_a_value_says_whether_all_succeeded) {
  const std::vector<int> good{2, 4};
  const std::vector<int> bad{2, 3};

  EXPECT_TRUE(collect(good | std::views::transform(even)).is_ok());
  EXPECT_EQ(collect(bad | std::views::transform(even)).error().message(), "odd");
}

TEST(Collect, moves_out_of_a_container_that_is_given_away) {
  std::vector<Result<std::unique_ptr<int>>> results;
  results.emplace_back(std::make_unique<int>(7));

  const auto values = collect(std::move(results));

  EXPECT_EQ(*values.value().at(0), 7);
}

TEST(Collect, leaves_alone_what_it_only_sees) {
  std::array<Result<std::string>, 2> results{std::string("first, long enough for the heap"), std::string("second")};
  const std::array<Result<int>, 1> failed{Error::text(Code::NotFound, "gone")};

  EXPECT_EQ(collect(results).value().size(), 2u);
  EXPECT_EQ(collect(std::span(results)).value().size(), 2u);
  EXPECT_EQ(collect(failed).error().message(), "gone");

  EXPECT_EQ(results[0].value(), "first, long enough for the heap");
  EXPECT_EQ(failed[0].error().message(), "gone");
}

TEST(All, gives_values_of_different_types_as_a_tuple) {
  auto both = all(digit('7'), Result<std::string>("text"), even(2));

  auto& [number, text, nothing] = both.value();
  EXPECT_EQ(number, 7);
  EXPECT_EQ(text, "text");
  EXPECT_EQ(nothing, std::monostate());
}

TEST(All, gives_the_first_error_in_the_order_of_its_arguments) {
  EXPECT_EQ(all(digit('1'), digit('x'), digit('y')).error().message(), "no digit: x");
  EXPECT_EQ(all(even(1), digit('y')).error().message(), "odd");
}

TEST(All, carries_values_that_can_only_be_moved) {
  const auto owned = all(Result<std::unique_ptr<int>>(std::make_unique<int>(3)), digit('1'));

  EXPECT_EQ(*std::get<0>(owned.value()), 3);
}

}  // namespace
}  // namespace keel::collect_test
