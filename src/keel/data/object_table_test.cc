// What generated sources are made of; tools/keel/gen/shapes_test.cc has the rest of it.

#include "keel/data/internal/object_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace keel::object_table_test {
namespace {

using namespace keel::json::internal;

// A struct of 70 members, "m0" to "m69", whose other members are kept.
struct Wide {
  std::int64_t members[70] = {};
  std::map<std::string, std::int64_t> others;

  void read_json(json::Reader& in, Violations& wrong);
};
struct WideKeys {
  char text[70][8] = {};
  ObjectMember members[70] = {};
};
constexpr WideKeys wide_keys = [] {
  WideKeys keys;
  for (int i = 0; i < 70; ++i) {
    char* to = keys.text[i];
    *to++ = '"';
    *to++ = 'm';
    if (i >= 10) *to++ = static_cast<char>('0' + i / 10);
    *to++ = static_cast<char>('0' + i % 10);
    *to++ = '"';
    *to++ = ':';
  }
  return keys;
}();
consteval auto wide_members() {
  ObjectMember members[70] = {};
  for (int i = 0; i < 70; ++i) {
    members[i] = {std::string_view(wide_keys.text[i]), read_member<std::int64_t, read_value<std::int64_t>>,
                  i % 69 == 0};
  }
  return WideMembers<70>(members);
}
constexpr WideMembers<70> members_of_wide = wide_members();
constexpr WideTable table_of_wide =
    members_of_wide.wide_table(false, read_other<std::int64_t, read_value<std::int64_t>>);
void Wide::read_json(json::Reader& in, Violations& wrong) {
  void* fields[71];
  for (int i = 0; i < 70; ++i) fields[i] = &members[i];
  fields[70] = &others;
  read_wide_object(in, table_of_wide, fields, wrong);
}

std::vector<std::string> wrong_of(Wide& value, std::string_view text) {
  Arena arena;
  Violations wrong;
  read_text(text, arena, {}, &read_field<Wide>, &value, wrong);
  std::vector<std::string> lines;
  for (const Violation& one : wrong) lines.push_back(one.pointer + ' ' + one.message);
  return lines;
}
using Lines = std::vector<std::string>;

TEST(ObjectTable, reads_more_than_64_members_in_any_order_and_keeps_the_others) {
  Wide value;

  EXPECT_EQ(wrong_of(value, R"({"m69": 1, "other": 2, "m0": 3, "m7": 4})"), Lines());
  EXPECT_EQ(value.members[69], 1);
  EXPECT_EQ(value.members[0], 3);
  EXPECT_EQ(value.members[7], 4);
  EXPECT_EQ(value.others, (std::map<std::string, std::int64_t>{{"other", 2}}));
}

TEST(ObjectTable, tells_all_that_is_wrong_with_a_wide_object) {
  Wide value;

  EXPECT_EQ(wrong_of(value, R"({"m1": "a", "x": true})"),
            (Lines{"/m1 expected a number", "/x expected a number", "/m0 is required", "/m69 is required"}));
  EXPECT_EQ(wrong_of(value, R"({"m1": 1, "m1": 1})"), (Lines{"/m1 is given twice"}));
  EXPECT_EQ(wrong_of(value, R"({"x": 1, "x": 1})"), (Lines{"/x is given twice"}));
}

TEST(ObjectTable, counts_characters_and_not_bytes) {
  EXPECT_TRUE(has_length("äöü", 3, 3));
  EXPECT_FALSE(has_length("äöü", 4, 6));
  EXPECT_FALSE(has_length("", 1, 2));
  EXPECT_TRUE(has_length("abc", 0, SIZE_MAX));
}

TEST(ObjectTable, a_multiple_is_one_in_decimal) {
  EXPECT_TRUE(is_multiple(0.3, 0.1));
  EXPECT_TRUE(is_multiple(-7.5, 2.5));
  EXPECT_TRUE(is_multiple(0, 3));
  EXPECT_FALSE(is_multiple(0.35, 0.1));
  EXPECT_FALSE(is_multiple(1e-20, 0.1));
}

TEST(ObjectTable, elements_are_different) {
  enum class Color : std::uint8_t { Red, Green };

  EXPECT_TRUE(are_different(std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(are_different(std::vector<std::string>{"a", "b", "a"}));
  EXPECT_FALSE(are_different(std::vector<std::int64_t>{1, 1}));
  EXPECT_FALSE(are_different(std::vector<double>{0.5, 0.25, 0.5}));
  EXPECT_TRUE(are_different(std::vector<Color>{Color::Red, Color::Green}));
  EXPECT_FALSE(are_different(std::vector<Color>{Color::Green, Color::Green}));
}

}  // namespace
}  // namespace keel::object_table_test
