// What the compiler says of enums, pinned for each.

#include "keel/data/enum_names.h"

#include <gtest/gtest.h>

#include <optional>

namespace keel::enum_names_test {

namespace inner {
enum class Mood { Good, BadMood = 2, Worse };
}
template <class T>
struct Box {
  enum class Kind { Small, Large };
};

}  // namespace keel::enum_names_test

template <>
inline constexpr keel::Case keel::name_case<keel::enum_names_test::inner::Mood> = keel::Case::UpperSnake;

namespace keel::enum_names_test {
namespace {

enum class Status { Open, InTransit, Paid = 127 };
enum Plain : unsigned char { red, dark_green };

enum class Unit { Kilogram, Speed, Empty };
inline constexpr std::string_view unit_names[] = {"kg", "m/s", ""};
constexpr const auto& enum_names(Unit) { return unit_names; }

TEST(EnumNames, are_those_that_the_enum_says_beside_it) {
  EXPECT_EQ(enum_name(Unit::Kilogram), "kg");
  EXPECT_EQ(enum_name(Unit::Speed), "m/s");
  EXPECT_EQ(enum_value<Unit>("m/s"), Unit::Speed);
  EXPECT_EQ(enum_value<Unit>("Speed"), std::nullopt);
}

TEST(EnumNames, has_the_names_of_values_from_0_to_127) {
  EXPECT_EQ(enum_name(Status::Open), "Open");
  EXPECT_EQ(enum_name(Status::InTransit), "InTransit");
  EXPECT_EQ(enum_name(Status::Paid), "Paid");
  EXPECT_EQ(enum_name(static_cast<Status>(2)), "");
  EXPECT_EQ(enum_name(static_cast<Status>(128)), "");
  EXPECT_EQ(enum_name(static_cast<Status>(-1)), "");
  EXPECT_EQ(enum_name(dark_green), "dark_green");
  EXPECT_EQ(enum_name(inner::Mood::BadMood), "BAD_MOOD");
  EXPECT_EQ((enum_name(Box<Box<int>>::Kind::Large)), "Large");
}

TEST(EnumNames, gives_the_value_of_a_name_that_is_spelled_exactly) {
  EXPECT_EQ(enum_value<Status>("Paid"), Status::Paid);
  EXPECT_EQ(enum_value<Plain>("red"), red);
  EXPECT_EQ(enum_value<Status>("paid"), std::nullopt);
  EXPECT_EQ(enum_value<Status>(""), std::nullopt);
  EXPECT_EQ(enum_value<Status>("Ope"), std::nullopt);
}

}  // namespace
}  // namespace keel::enum_names_test
