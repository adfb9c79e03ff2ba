#include "keel/http/message/date.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::http::date_test {
namespace {

constexpr std::int64_t in_2026 = 1'780'000'000;

std::string format(std::int64_t seconds) {
  char text[date_bytes];
  char* const end = format_date(seconds, text);
  EXPECT_EQ(end - text, std::ptrdiff_t{date_bytes});
  return std::string(text, date_bytes);
}

struct Known {
  std::int64_t seconds;
  const char* text;
};
constexpr Known known[] = {
    {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
    {784'111'777, "Sun, 06 Nov 1994 08:49:37 GMT"},  // RFC 9110 §5.6.7
    {951'782'400, "Tue, 29 Feb 2000 00:00:00 GMT"},
    {951'868'799, "Tue, 29 Feb 2000 23:59:59 GMT"},
    {951'868'800, "Wed, 01 Mar 2000 00:00:00 GMT"},
    {1'709'164'800, "Thu, 29 Feb 2024 00:00:00 GMT"},
    {1'735'689'599, "Tue, 31 Dec 2024 23:59:59 GMT"},
    {2'147'483'648, "Tue, 19 Jan 2038 03:14:08 GMT"},
    {4'107'542'400, "Mon, 01 Mar 2100 00:00:00 GMT"},  // 2100 has no leap day
    {253'402'300'799, "Fri, 31 Dec 9999 23:59:59 GMT"},
};

TEST(Date, is_written_as_imf_fixdate) {
  for (const Known& date : known) EXPECT_EQ(format(date.seconds), date.text);
}

TEST(Date, keeps_to_four_digits_of_year) {
  EXPECT_EQ(format(-1), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(format(INT64_MIN), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(format(INT64_MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
}

TEST(Date, is_read_back_as_written) {
  for (const Known& date : known) {
    Result<std::int64_t> read = parse_date(date.text, in_2026);
    ASSERT_TRUE(read) << date.text;
    EXPECT_EQ(*read, date.seconds);
  }
  for (std::int64_t second = 12'345; second < 253'402'300'799; second += 86'400 * 97 + 3'607) {
    Result<std::int64_t> read = parse_date(format(second), in_2026);
    ASSERT_TRUE(read);
    ASSERT_EQ(*read, second);
  }
}

TEST(Date, is_read_in_the_two_obsolete_forms) {
  EXPECT_EQ(parse_date("Sunday, 06-Nov-94 08:49:37 GMT", in_2026).value(), 784'111'777);
  EXPECT_EQ(parse_date("Sun Nov  6 08:49:37 1994", in_2026).value(), 784'111'777);
  EXPECT_EQ(parse_date("Wed Nov 16 08:49:37 1994", in_2026).value(), 784'975'777);
}

TEST(Date, takes_two_digit_years_for_the_past_when_they_are_far_ahead) {
  EXPECT_EQ(format(parse_date("Friday, 01-Jan-76 00:00:00 GMT", in_2026).value()), "Wed, 01 Jan 2076 00:00:00 GMT");
  EXPECT_EQ(format(parse_date("Saturday, 01-Jan-77 00:00:00 GMT", in_2026).value()), "Sat, 01 Jan 1977 00:00:00 GMT");
}

TEST(Date, refuses_everything_else) {
  for (const char* bad : {
           "",
           "0",
           "Sun, 06 Nov 1994 08:49:37 UTC",
           "Sun, 06 Nov 1994 08:49:37 GMT ",
           "Sun, 6 Nov 1994 08:49:37 GMT",
           "Xun, 06 Nov 1994 08:49:37 GMT",
           "Sun, 06 nov 1994 08:49:37 GMT",
           "Sun, 31 Apr 1994 08:49:37 GMT",
           "Wed, 29 Feb 2023 08:49:37 GMT",
           "Sun, 00 Nov 1994 08:49:37 GMT",
           "Sun, 06 Nov 1994 24:00:00 GMT",
           "Sun, 06 Nov 1994 08:60:37 GMT",
           "Sun, 06 Nov 1994 08:49:61 GMT",
           "Sun, 06 Nov 1994 +8:49:37 GMT",
           "Sunday, 06-Nov-94 08:49:37",
           "Sunday, 06-Nov-1994 08:49:37 GMT",
           "Sun Nov 6 08:49:37 1994",
           "Sun Nov  0 08:49:37 1994",
           "1994-11-06T08:49:37Z",
       }) {
    EXPECT_FALSE(parse_date(bad, in_2026)) << bad;
  }
}

TEST(Date, is_refused_when_cut_anywhere) {
  for (std::string text :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"}) {
    for (std::size_t size = 0; size < text.size(); ++size) {
      EXPECT_FALSE(parse_date(std::string_view(text).substr(0, size), in_2026)) << text.substr(0, size);
    }
  }
}

}  // namespace
}  // namespace keel::http::date_test
