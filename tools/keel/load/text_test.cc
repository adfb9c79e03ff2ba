#include "load/text.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace keel::load::load_text_test {
namespace {

TEST(Text, counts_are_digits_and_nothing_else) {
  EXPECT_EQ(parse_count("0"), 0u);
  EXPECT_EQ(parse_count("18446744073709551615"), 18446744073709551615u);
  for (const char* wrong : {"", "-1", "+1", " 1", "1 ", "1k", "0x1", "18446744073709551616"}) {
    EXPECT_EQ(parse_count(wrong), std::nullopt) << wrong;
  }
}

TEST(Text, numbers_may_have_a_fraction) {
  EXPECT_EQ(parse_number("12.5"), 12.5);
  EXPECT_EQ(parse_number("7"), 7);
  for (const char* wrong : {"", "-1", "inf", "nan", "1e3", "1.5x", ".5"}) {
    EXPECT_EQ(parse_number(wrong), std::nullopt) << wrong;
  }
}

TEST(Text, durations_need_a_unit) {
  EXPECT_EQ(parse_duration("250ms"), 250_ms);
  EXPECT_EQ(parse_duration("500us"), 500_us);
  EXPECT_EQ(parse_duration("1.5s"), 1500_ms);
  EXPECT_EQ(parse_duration("2min"), 120_s);
  EXPECT_EQ(parse_duration("1h"), 3600_s);
  for (const char* wrong : {"", "10", "10 s", "s", "-1s", "1d", "99999999999h"}) {
    EXPECT_EQ(parse_duration(wrong), std::nullopt) << wrong;
  }
}

TEST(Text, durations_are_shown_with_three_digits) {
  EXPECT_EQ(format_duration(Duration()), "0 ns");
  EXPECT_EQ(format_duration(999_ns), "999 ns");
  EXPECT_EQ(format_duration(1_us), "1.00 us");
  EXPECT_EQ(format_duration(12'340_ns), "12.3 us");
  EXPECT_EQ(format_duration(100_ms), "100 ms");
  EXPECT_EQ(format_duration(Duration::nanoseconds(999'960'000)), "1.00 s");
  EXPECT_EQ(format_duration(90_s), "90.0 s");
}

TEST(Text, counts_are_shown_in_groups) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1234567), "1,234,567");
}

TEST(Text, a_file_is_read_whole_or_refused) {
  const std::string path = ::testing::TempDir() + "keel_load_text_test";
  std::ofstream(path) << "hello";

  EXPECT_EQ(read_file(path, 5).value(), "hello");
  EXPECT_EQ(read_file(path, 4).error().code(), Code::OutOfRange);
  std::remove(path.c_str());
  const auto missing = read_file(path, 5);
  EXPECT_EQ(missing.error().code(), Code::NotFound);
  EXPECT_NE(missing.error().describe().find(path), std::string::npos);
}

}  // namespace
}  // namespace keel::load::load_text_test
