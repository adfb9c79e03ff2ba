#include "keel/data/timestamp.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/base/host.h"

namespace keel::timestamp_test {
namespace {

std::string normal(std::string_view text) {
  const Result<Timestamp> time = Timestamp::parse(text);
  return time ? std::string(time->text().view()) : "none";
}

// RFC 3339 §5.8.
TEST(Timestamp, reads_the_examples_of_its_rfc) {
  EXPECT_EQ(normal("1985-04-12T23:20:50.52Z"), "1985-04-12T23:20:50.520Z");
  EXPECT_EQ(normal("1996-12-19T16:39:57-08:00"), "1996-12-20T00:39:57Z");
  EXPECT_EQ(normal("1990-12-31T23:59:60Z"), "1991-01-01T00:00:00Z");
  EXPECT_EQ(normal("1990-12-31T15:59:60-08:00"), "1991-01-01T00:00:00Z");
  EXPECT_EQ(normal("1937-01-01T12:00:27.87+00:20"), "1937-01-01T11:40:27.870Z");
}

TEST(Timestamp, is_normalised_to_utc) {
  EXPECT_EQ(normal("2026-11-24T12:00:37Z"), "2026-11-24T12:00:37Z");
  EXPECT_EQ(normal("2026-11-24t12:00:37z"), "2026-11-24T12:00:37Z");
  EXPECT_EQ(normal("2026-11-24T12:00:37+00:00"), "2026-11-24T12:00:37Z");
  EXPECT_EQ(normal("2026-11-24T12:00:37-00:00"), "2026-11-24T12:00:37Z");
  EXPECT_EQ(normal("2026-01-01T00:30:00+01:00"), "2025-12-31T23:30:00Z");
  EXPECT_EQ(normal("2026-12-31T23:30:00-23:59"), "2027-01-01T23:29:00Z");
  EXPECT_EQ(normal("2024-02-29T12:00:00+05:45"), "2024-02-29T06:15:00Z");
}

TEST(Timestamp, has_fractions_down_to_the_nanosecond) {
  EXPECT_EQ(normal("2026-11-24T12:00:37.000Z"), "2026-11-24T12:00:37Z");
  EXPECT_EQ(normal("2026-11-24T12:00:37.1Z"), "2026-11-24T12:00:37.100Z");
  EXPECT_EQ(normal("2026-11-24T12:00:37.1234Z"), "2026-11-24T12:00:37.123400Z");
  EXPECT_EQ(normal("2026-11-24T12:00:37.000000001Z"), "2026-11-24T12:00:37.000000001Z");
  EXPECT_EQ(normal("2026-11-24T12:00:37.99999999999999999999999999Z"), "2026-11-24T12:00:37.999999999Z");
  EXPECT_EQ(Timestamp::parse("2026-11-24T12:00:37.250Z").value().nanosecond(), 250'000'000u);
}

TEST(Timestamp, takes_a_leap_second_only_where_one_can_be) {
  EXPECT_EQ(normal("2016-12-31T23:59:60Z"), "2017-01-01T00:00:00Z");
  EXPECT_EQ(normal("2015-06-30T23:59:60.75Z"), "2015-07-01T00:00:00.750Z");
  EXPECT_EQ(normal("2017-01-01T08:59:60+09:00"), "2017-01-01T00:00:00Z");
  for (const char* text : {"2016-12-31T23:58:60Z", "2016-12-31T22:59:60Z", "2016-12-30T23:59:60Z",
                           "2016-12-31T23:59:60+01:00", "2016-12-31T23:59:61Z", "9999-12-31T23:59:60Z"}) {
    EXPECT_EQ(normal(text), "none") << text;
  }
}

TEST(Timestamp, takes_nothing_else) {
  for (const char* text : {"",
                           "2026",
                           "2026-11-24",
                           "2026-11-24T12:00Z",
                           "2026-11-24T12:00:37",
                           "2026-11-24 12:00:37Z",
                           "2026-11-24T12:00:37 Z",
                           " 2026-11-24T12:00:37Z",
                           "2026-11-24T12:00:37Z ",
                           "2026-11-24T12:00:37.Z",
                           "2026-11-24T12:00:37,5Z",
                           "2026-11-24T12:00:37+0100",
                           "2026-11-24T12:00:37+01",
                           "2026-11-24T12:00:37+1:00",
                           "2026-11-24T12:00:37+24:00",
                           "2026-11-24T12:00:37+01:60",
                           "2026-11-24T12:00:37+01:00Z",
                           "2026-13-01T00:00:00Z",
                           "2026-00-01T00:00:00Z",
                           "2026-01-00T00:00:00Z",
                           "2026-02-29T00:00:00Z",
                           "2024-02-30T00:00:00Z",
                           "2026-04-31T00:00:00Z",
                           "2026-11-24T24:00:00Z",
                           "2026-11-24T12:60:00Z",
                           "2026-1-24T12:00:00Z",
                           "+2026-11-24T12:00:37Z",
                           "-2026-11-24T12:00:37Z",
                           "12026-11-24T12:00:37Z",
                           "20261124T120037Z",
                           "2026-W48-2T12:00:37Z",
                           "2026-11-24T12:00:37UTC",
                           "0000-01-01T00:00:00+00:01",
                           "9999-12-31T23:59:59-00:01"}) {
    EXPECT_EQ(normal(text), "none") << text;
  }
}

TEST(Timestamp, reads_no_other_byte_at_any_place) {
  const std::string good = "2011-11-11T11:11:11.111111111+11:11";
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_EQ(normal(good.substr(0, size)), "none") << size;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string text = good;
      text[at] = static_cast<char>(byte);
      const bool is_digit = byte >= '0' && byte <= '9';
      if (normal(text) == "none" || text == good) continue;
      // What is taken instead of a digit is another digit; of the rest the sign and the letter have two forms.
      ASSERT_TRUE((is_digit && good[at] >= '0' && good[at] <= '9') || (at == 10 && byte == 't') ||
                  (at == 29 && byte == '-'))
          << text;
    }
  }
}

TEST(Timestamp, has_the_years_of_four_digits) {
  EXPECT_EQ(Timestamp::parse("0000-01-01T00:00:00Z").value(), Timestamp::first());
  EXPECT_EQ(Timestamp::parse("9999-12-31T23:59:59.999999999Z").value(), Timestamp::last());
  EXPECT_EQ(Timestamp::last().text().view(), "9999-12-31T23:59:59.999999999Z");
  EXPECT_EQ(Timestamp::first() - 1_ns, Timestamp::first());
  EXPECT_EQ(Timestamp::last() + 1_ns, Timestamp::last());
  EXPECT_EQ(Timestamp::from_unix_seconds(std::numeric_limits<std::int64_t>::max()), Timestamp::last());
  EXPECT_EQ(Timestamp::from_unix_seconds(std::numeric_limits<std::int64_t>::min()), Timestamp::first());
  EXPECT_EQ(Timestamp::last() - Timestamp::first(), Duration::forever());
}

TEST(Timestamp, counts_as_posix_does) {
  EXPECT_EQ(Timestamp().text().view(), "1970-01-01T00:00:00Z");
  EXPECT_EQ(Timestamp::from_unix_ns(1'700'000'000'123'456'789).text().view(), "2023-11-14T22:13:20.123456789Z");
  const Timestamp before = Timestamp::from_unix_ns(-1);
  EXPECT_EQ(before.unix_seconds(), -1);
  EXPECT_EQ(before.nanosecond(), 999'999'999u);
  EXPECT_EQ(before.text().view(), "1969-12-31T23:59:59.999999999Z");
}

TEST(Timestamp, adds_durations_and_subtracts_times) {
  const Timestamp time = Timestamp::parse("2024-02-28T23:59:59.900Z").value();
  EXPECT_EQ((time + 200_ms).text().view(), "2024-02-29T00:00:00.100Z");
  EXPECT_EQ((time - 24_h).text().view(), "2024-02-27T23:59:59.900Z");
  EXPECT_EQ((time - 950_ms).text().view(), "2024-02-28T23:59:58.950Z");
  EXPECT_EQ((time + 200_ms) - time, 200_ms);
  EXPECT_EQ(time - (time + 1_h), Duration() - 1_h);
  EXPECT_LT(time, time + 1_ns);
}

TEST(Timestamp, has_texts_in_its_own_order) {
  const Timestamp base = Timestamp::parse("2026-11-24T12:00:37Z").value();
  const std::vector<Timestamp> times = {Timestamp::first(), base - 1_ns,  base,       base + 1_ns,
                                        base + 1_ms,        base + 10_ms, base + 1_s, Timestamp::last()};
  for (std::size_t i = 1; i < times.size(); ++i) {
    const Timestamp::Text before = times[i - 1].ordered_text();
    const Timestamp::Text after = times[i].ordered_text();
    EXPECT_LT(before.view(), after.view());
    EXPECT_EQ(after.size(), 30u);
    EXPECT_EQ(Timestamp::parse(after).value(), times[i]);
  }
}

TEST(Timestamp, is_that_of_the_host) {
  const std::int64_t before = Host::system().wall_ns();
  const Timestamp now = Timestamp::now();
  EXPECT_GE(now, Timestamp::from_unix_ns(before));
  EXPECT_LT(now - Timestamp::from_unix_ns(before), 10_s);
  static_assert(TextValue<Timestamp>);
}

}  // namespace
}  // namespace keel::timestamp_test
