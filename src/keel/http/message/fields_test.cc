#include "keel/http/message/fields.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace keel::http::fields_test {
namespace {

using namespace std::string_view_literals;

std::vector<std::string> elements(std::string_view list) {
  std::vector<std::string> found;
  for (std::string_view element; next_element(list, element);) found.emplace_back(element);
  return found;
}

TEST(Fields, know_a_token_from_other_text) {
  for (std::string_view good : {"a", "Content-Type", "x_y", "!#$%&'*+-.^_`|~09AZaz"}) EXPECT_TRUE(is_token(good));
  for (std::string_view bad :
       {"", "a b", "a:", "a/b", "(a)", "a\"", "a@b", "caf\xc3\xa9", "a\x7f", "a\t", "[a]", "{a}"}) {
    EXPECT_FALSE(is_token(bad)) << bad;
  }
}

TEST(Fields, refuse_values_that_could_split_a_message) {
  for (std::string_view good : {""sv, "a"sv, "a b\tc"sv, "caf\xc3\xa9 \xff"sv, "=?,;:\"()"sv}) {
    EXPECT_TRUE(is_field_value(good)) << good;
  }
  for (std::string_view bad : {"a\r\nX: y"sv, "a\r"sv, "\n"sv, "a\0b"sv, "\x1b[0m"sv, "a\x7f"sv, "\v"sv}) {
    EXPECT_FALSE(is_field_value(bad)) << bad;
  }
  for (std::size_t size = 1; size < 70; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'x');
      text[at] = '\n';
      ASSERT_FALSE(is_field_value(text));
    }
  }
}

TEST(Fields, compare_names_without_regard_to_case) {
  EXPECT_TRUE(equals_ignore_case("Content-Type", "content-TYPE"));
  EXPECT_TRUE(equals_ignore_case("", ""));
  EXPECT_FALSE(equals_ignore_case("Content_Type", "content-type"));
  EXPECT_FALSE(equals_ignore_case("a", "ab"));
  EXPECT_FALSE(equals_ignore_case("@", "`"));  // 0x40 and 0x60: not letters
  EXPECT_FALSE(equals_ignore_case("[", "{"));
}

// Every pair of bytes, at every place of texts around the sizes that are compared in one step.
TEST(Fields, compare_any_bytes_as_one_at_a_time) {
  const auto lower = [](int c) { return c >= 'A' && c <= 'Z' ? c + 0x20 : c; };
  for (std::size_t size : {1u, 7u, 8u, 9u, 15u, 16u, 17u, 23u}) {
    std::string a(size, 'x');
    std::string b(size, 'X');
    for (std::size_t at = 0; at < size; ++at) {
      for (int left = 0; left < 256; ++left) {
        a[at] = static_cast<char>(left);
        for (int right = 0; right < 256; right += size == 8 ? 1 : 0x20) {
          const int other = (left + right) & 0xff;  // The cases of letters differ by 0x20.
          b[at] = static_cast<char>(other);
          ASSERT_EQ(equals_ignore_case(a, b), lower(left) == lower(other)) << left << " " << other << " at " << at;
        }
      }
      a[at] = 'x';
      b[at] = 'X';
    }
  }
}

TEST(Fields, take_lists_apart) {
  EXPECT_EQ(elements("a"), (std::vector<std::string>{"a"}));
  EXPECT_EQ(elements(" a ,\tb,c "), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(elements(",a,,"), (std::vector<std::string>{"", "a", "", ""}));
  EXPECT_EQ(elements(""), (std::vector<std::string>{""}));
}

TEST(Fields, know_what_a_list_names) {
  for (const char* list : {"close", "Close", "keep-alive, CLOSE", ",, close ,"})
    EXPECT_TRUE(lists(list, "close")) << list;
  for (const char* list : {"", ",", "closed", "clos", "close;a", "a b, close-"})
    EXPECT_FALSE(lists(list, "close")) << list;
}

}  // namespace
}  // namespace keel::http::fields_test
