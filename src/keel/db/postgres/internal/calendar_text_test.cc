#include "keel/db/postgres/internal/calendar_text.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/data/timestamp.h"

namespace keel::db::postgres::calendar_text_test {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;
using Append = bool (*)(std::string_view, Buffer&);

std::string appended(Append append, std::string_view from) {
  Buffer out;
  return append(from, out) ? std::string(out.view()) : "none";
}
bool append_timestamptz_bytes(std::string_view text, Buffer& to) { return append_timestamp_bytes(text, true, to); }
bool append_plain_timestamp_bytes(std::string_view text, Buffer& to) { return append_timestamp_bytes(text, false, to); }

void expect_same(Append to_bytes, Append to_text, std::initializer_list<std::string_view> texts) {
  for (const std::string_view text : texts) {
    EXPECT_EQ(appended(to_text, appended(to_bytes, text)), text);
  }
}
void expect_none(Append append, std::initializer_list<std::string_view> all) {
  for (const std::string_view one : all) EXPECT_EQ(appended(append, one), "none") << one;
}

TEST(CalendarText, of_dates_comes_back) {
  expect_same(append_date_bytes, append_date_text,
              {"2000-01-01", "2026-11-24", "1999-12-31", "1970-01-01", "0001-01-01", "0001-12-31 BC", "0044-03-15 BC",
               "4714-11-24 BC", "5874897-12-31", "9999-12-31", "2024-02-29", "infinity", "-infinity"});
  EXPECT_EQ(appended(append_date_bytes, "2000-01-02"), "\0\0\0\x01"s);
  EXPECT_EQ(appended(append_date_bytes, "infinity"), "\x7f\xff\xff\xff"s);
  expect_none(append_date_bytes, {"", "2026", "2026-1-1", "2026-13-01", "2026-00-01", "2026-02-29", "2026-01-32",
                                  "2026-01-00", "0000-01-01", "26-01-01", "2026-01-01 ", "2026-01-01 AD",
                                  "4714-11-23 BC", "5874898-01-01", "99999999-01-01", "Infinity"});
  expect_none(append_date_text, {"", "abc"sv, "abcde", "\x80\0\0\x01"sv, "\x7f\xff\xff\xfe"sv});
}

TEST(CalendarText, of_times_comes_back) {
  expect_same(append_time_bytes, append_time_text,
              {"00:00:00", "12:00:37.25", "23:59:59.999999", "24:00:00", "00:00:00.000001"});
  EXPECT_EQ(appended(append_time_text, appended(append_time_bytes, "01:02:03.1234567")), "01:02:03.123457");
  expect_none(append_time_bytes, {"", "1:00:00", "24:00:00.000001", "25:00:00", "12:60:00", "12:00:60", "12:00",
                                  "12:00:00.", "12:00:00Z", "12:00:00.1234567890"});
  expect_none(append_time_text, {"", "1234567", "\xff\xff\xff\xff\xff\xff\xff\xff"sv, "\x7f\0\0\0\0\0\0\0"sv});
}

TEST(CalendarText, of_timestamps_comes_back) {
  expect_same(append_timestamptz_bytes, append_timestamp_text,
              {"2000-01-01T00:00:00.000000000Z", "2026-11-24T12:00:37.250000000Z", "1999-12-31T23:59:59.999999000Z",
               "0001-01-01T00:00:00.000000000Z", "0044-03-15T12:00:00.000000000Z BC",
               "4714-11-24T00:00:00.000000000Z BC", "294276-12-31T23:59:59.999999000Z", "infinity", "-infinity"});
  const auto read = [](std::string_view text) {
    return appended(append_timestamp_text, appended(append_timestamptz_bytes, text));
  };
  EXPECT_EQ(read("2026-11-24T12:00:37Z"), "2026-11-24T12:00:37.000000000Z");
  EXPECT_EQ(read("2026-11-24T12:00:37.123456789Z"), "2026-11-24T12:00:37.123457000Z") << "rounded, as the server does";
  EXPECT_EQ(read("2026-11-24T01:00:00+02:30"), "2026-11-23T22:30:00.000000000Z");
  EXPECT_EQ(read("2026-11-24T23:00:00-02:00"), "2026-11-25T01:00:00.000000000Z");
  EXPECT_EQ(read("2026-12-31T23:59:59.999999999Z"), "2027-01-01T00:00:00.000000000Z");
  expect_none(append_timestamptz_bytes, {"", "2026-11-24", "2026-11-24T12:00:37", "2026-11-24 12:00:37Z",
                                         "2026-11-24T12:00:60Z", "2026-11-24T12:00:00+1", "2026-11-24T12:00:00+24:00",
                                         "2026-11-24T12:00:00+01:60", "2026-02-29T00:00:00Z", "4714-11-23T23:59:59Z BC",
                                         "294277-01-01T00:00:00Z", "9999999-01-01T00:00:00Z", "2026-11-24T12:00:00ZZ"});
  EXPECT_EQ(appended(append_timestamp_text, appended(append_plain_timestamp_bytes, "2026-11-24T12:00:37")),
            "2026-11-24T12:00:37.000000000Z");
  expect_none(append_timestamp_text, {"", "1234567", "\x80\0\0\0\0\0\0\x01"sv, "\x7f\xff\xff\xff\xff\xff\xff\xfe"sv});
}

TEST(CalendarText, of_timestamps_is_read_by_timestamp) {
  const Timestamp time = Timestamp::parse("2026-11-24T12:00:37.25Z").value();
  EXPECT_EQ(appended(append_timestamp_text, appended(append_timestamptz_bytes, time.ordered_text().view())),
            time.ordered_text().view());
  EXPECT_EQ(Timestamp::parse(appended(append_timestamp_text, std::string(8, '\0'))).value(),
            Timestamp::parse("2000-01-01T00:00:00Z").value());
}

TEST(CalendarText, of_intervals_comes_back) {
  expect_same(append_interval_bytes, append_interval_text,
              {"PT0S", "P1Y2M3DT4H5M6.7S", "P1D", "PT1H", "PT-1H", "P-1Y-2M-3DT-4H-5M-6.7S", "PT-0.000001S",
               "PT0.000001S", "P1M-1D", "P178956970Y7M2147483646DT2562047788H54.775807S", "P-178956970Y-8M"});
  const auto read = [](std::string_view text) {
    return appended(append_interval_text, appended(append_interval_bytes, text));
  };
  EXPECT_EQ(read("P2W"), "P14D");
  EXPECT_EQ(read("P14M"), "P1Y2M");
  EXPECT_EQ(read("PT90M"), "PT1H30M");
  expect_none(append_interval_bytes, {"",
                                      "P",
                                      "PT",
                                      "1Y",
                                      "P1",
                                      "P1H",
                                      "PT1Y",
                                      "P1D1Y",
                                      "P1D1D",
                                      "P1.5D",
                                      "P1DT",
                                      "PT1.S",
                                      "PT1.5H",
                                      "P1Y ",
                                      "P178956971Y",
                                      "P2147483648D",
                                      "PT9999999999999999S",
                                      "P9999999999999999999D",
                                      "P--1D",
                                      "P1X"});
  EXPECT_EQ(appended(append_interval_text, "\x7f\xff\xff\xff\xff\xff\xff\xff\x7f\xff\xff\xff\x7f\xff\xff\xff"s),
            "infinity");
  expect_none(append_interval_text, {"", "123456789012345", "12345678901234567"});
}

}  // namespace
}  // namespace keel::db::postgres::calendar_text_test
