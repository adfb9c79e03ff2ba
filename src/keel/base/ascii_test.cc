#include "keel/base/ascii.h"

#include <gtest/gtest.h>

#include <string_view>

namespace keel::ascii::ascii_test {
namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::string_view uppers = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view lowers = "abcdefghijklmnopqrstuvwxyz";

template <class F>
void for_each_byte(F&& check) {
  for (int byte = 0; byte < 256; ++byte) check(static_cast<char>(byte));
}

TEST(Ascii, knows_each_class_for_each_byte) {
  for_each_byte([](char c) {
    const bool is_one_of_digits = digits.find(c) != std::string_view::npos;
    const bool is_one_of_uppers = uppers.find(c) != std::string_view::npos;
    const bool is_one_of_lowers = lowers.find(c) != std::string_view::npos;

    EXPECT_EQ(is_digit(c), is_one_of_digits) << int(c);
    EXPECT_EQ(is_upper(c), is_one_of_uppers) << int(c);
    EXPECT_EQ(is_lower(c), is_one_of_lowers) << int(c);
    EXPECT_EQ(is_letter(c), is_one_of_uppers || is_one_of_lowers) << int(c);
    EXPECT_EQ(is_alphanumeric(c), is_one_of_digits || is_one_of_uppers || is_one_of_lowers) << int(c);
    EXPECT_EQ(is_blank(c), c == ' ' || c == '\t') << int(c);
  });
}

TEST(Ascii, changes_the_case_of_letters_only) {
  for_each_byte([](char c) {
    const std::size_t upper = uppers.find(c);
    const std::size_t lower = lowers.find(c);

    EXPECT_EQ(to_lower(c), upper == std::string_view::npos ? c : lowers[upper]) << int(c);
    EXPECT_EQ(to_upper(c), lower == std::string_view::npos ? c : uppers[lower]) << int(c);
  });
}

TEST(Ascii, reads_hexadecimal_digits_of_both_cases) {
  for (int value = 0; value < 16; ++value) {
    EXPECT_EQ(hex_value(hex_lower[value]), value);
    EXPECT_EQ(hex_value(hex_upper[value]), value);
  }
  int digits_found = 0;
  for_each_byte([&](char c) { digits_found += hex_value(c) >= 0; });
  EXPECT_EQ(digits_found, 22);
}

}  // namespace
}  // namespace keel::ascii::ascii_test
