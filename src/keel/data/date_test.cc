#include "keel/data/date.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "keel/data/cbor.h"
#include "keel/data/json.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_schema.h"
#include "keel/data/json_write.h"
#include "keel/data/message_pack.h"
#include "keel/data/record.h"
#include "keel/data/record_fields.h"
#include "keel/data/text_fields.h"
#include "keel/data/timestamp.h"

namespace keel::date_test {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

Date date(std::string_view text) { return Date::parse(text).value(); }

TEST(Date, reads_what_it_writes) {
  for (const char* text : {"1970-01-01", "2026-11-24", "2024-02-29", "2000-02-29", "0000-01-01", "0000-02-29",
                           "9999-12-31", "1969-12-31", "1900-02-28"}) {
    const Result<Date> read = Date::parse(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->text(), text);
  }
  EXPECT_EQ(Date(), date("1970-01-01"));
  EXPECT_EQ(Date::first(), date("0000-01-01"));
  EXPECT_EQ(Date::last(), date("9999-12-31"));
  EXPECT_EQ(date("2026-11-24").unix_days(), 20781);
}

TEST(Date, takes_nothing_else) {
  for (const char* text : {"",
                           "2026",
                           "2026-11",
                           "2026-11-2",
                           "2026-11-024",
                           "2026-1-24",
                           "26-11-24",
                           "2026-00-01",
                           "2026-13-01",
                           "2026-11-00",
                           "2026-11-31",
                           "2026-02-29",
                           "1900-02-29",
                           "2024-02-30",
                           "2026/11/24",
                           "20261124",
                           "2026-W48-2",
                           "2026-328",
                           "-026-11-24",
                           "+026-11-24",
                           " 026-11-24",
                           "2026-11-24 ",
                           " 2026-11-24",
                           "2026-11-24T00:00:00Z",
                           "2026-11-24Z",
                           "12026-11-24",
                           "0044-03-15 BC",
                           "infinity",
                           "today"}) {
    const Result<Date> read = Date::parse(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().message(), Date::expected);
  }
}

TEST(Date, reads_no_other_byte_at_any_place) {
  const std::string good = "2011-11-11";
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(Date::parse(good.substr(0, size))) << size;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string text = good;
      text[at] = static_cast<char>(byte);
      if (text == good || !Date::parse(text)) continue;
      ASSERT_TRUE(byte >= '0' && byte <= '9' && good[at] >= '0') << text;
    }
  }
}

TEST(Date, is_made_of_a_day_that_there_is) {
  EXPECT_EQ(Date::make(2026, 11, 24).value(), date("2026-11-24"));
  EXPECT_FALSE(Date::make(2026, 2, 29));
  EXPECT_FALSE(Date::make(-1, 1, 1));
  EXPECT_FALSE(Date::make(10000, 1, 1));
  EXPECT_FALSE(Date::make(2026, 0, 1));
  EXPECT_FALSE(Date::make(2026, 13, 1));
  EXPECT_FALSE(Date::make(2026, 1, 0));
  const Date day = date("2024-02-29");
  EXPECT_EQ(day.year(), 2024);
  EXPECT_EQ(day.month(), 2);
  EXPECT_EQ(day.day(), 29);
}

TEST(Date, counts_days_and_months) {
  EXPECT_EQ((date("2024-02-28") + 1).text(), "2024-02-29");
  EXPECT_EQ((date("2024-02-28") + 2).text(), "2024-03-01");
  EXPECT_EQ((date("2026-01-01") - 1).text(), "2025-12-31");
  EXPECT_EQ(date("2027-01-01") - date("2026-01-01"), 365);
  EXPECT_EQ(date("2026-01-01") - date("2027-01-01"), -365);
  EXPECT_EQ(date("2026-01-31").plus_months(1).text(), "2026-02-28");
  EXPECT_EQ(date("2024-01-31").plus_months(1).text(), "2024-02-29");
  EXPECT_EQ(date("2026-01-31").plus_months(2).text(), "2026-03-31");
  EXPECT_EQ(date("2026-03-31").plus_months(-13).text(), "2025-02-28");
  EXPECT_EQ(date("2026-11-24").plus_months(0).text(), "2026-11-24");
  EXPECT_LT(date("2026-11-24"), date("2026-11-25"));
}

TEST(Date, stays_within_the_years_of_four_digits) {
  for (const std::int64_t days : {most, std::int64_t{5'000'000}}) {
    EXPECT_EQ(Date() + days, Date::last());
    EXPECT_EQ(Date() - days, Date::first());
    EXPECT_EQ(Date::from_unix_days(days), Date::last());
    EXPECT_EQ(Date().plus_months(days), Date::last());
    EXPECT_EQ(Date().plus_months(-days), Date::first());
  }
  EXPECT_EQ(Date() - least, Date::last());
  EXPECT_EQ(Date() + least, Date::first());
  EXPECT_EQ(Date().plus_months(least), Date::first());
  EXPECT_EQ(Date::last() + 1, Date::last());
  EXPECT_EQ(Date::first() - 1, Date::first());
  EXPECT_EQ(date("9999-12-01").plus_months(1), Date::last());
  EXPECT_EQ(date("0000-01-31").plus_months(-1), Date::first());
}

TEST(Date, knows_its_day_of_the_week) {
  EXPECT_EQ(Date().weekday(), Weekday::Thursday);
  EXPECT_EQ(date("2026-11-29").weekday(), Weekday::Sunday);
  EXPECT_EQ(date("2026-11-30").weekday(), Weekday::Monday);
  EXPECT_EQ(date("1969-12-31").weekday(), Weekday::Wednesday);
  EXPECT_EQ(Date::first().weekday(), Weekday::Saturday);
  EXPECT_EQ(Date::last().weekday(), Weekday::Friday);
}

TEST(Date, is_the_day_of_a_time_in_utc) {
  EXPECT_EQ(Date::of(Timestamp::parse("2026-11-24T23:59:59.999Z").value()).text(), "2026-11-24");
  EXPECT_EQ(Date::of(Timestamp::parse("2026-11-25T00:30:00+01:00").value()).text(), "2026-11-24");
  EXPECT_EQ(Date::of(Timestamp::parse("1969-12-31T23:59:59Z").value()).text(), "1969-12-31");
  EXPECT_EQ(Date::of(Timestamp::parse("1969-12-31T00:00:00Z").value()).text(), "1969-12-31");
  EXPECT_EQ(Date::of(Timestamp::first()), Date::first());
  EXPECT_EQ(Date::of(Timestamp::last()), Date::last());
  EXPECT_EQ(date("2026-11-24").midnight().text(), "2026-11-24T00:00:00Z");
  EXPECT_EQ(Date::first().midnight(), Timestamp::first());
  EXPECT_LE(Date::today() - Date::of(Timestamp::now()), 0);
}

struct Invoice {
  Date due;
  std::optional<Date> paid;
  std::vector<Date> reminders;
};

TEST(Date, is_a_field_of_a_struct_in_each_format) {
  const Invoice invoice = {date("2026-12-08"), std::nullopt, {date("2026-12-15"), date("9999-12-31")}};
  const std::string text = json::write(invoice);
  EXPECT_EQ(text, R"({"due":"2026-12-08","paid":null,"reminders":["2026-12-15","9999-12-31"]})");
  EXPECT_EQ(json::write(json::parse<Invoice>(text).value()), text);
  EXPECT_EQ(json::write(cbor::parse<Invoice>(cbor::write(invoice)).value()), text);
  EXPECT_EQ(json::write(message_pack::parse<Invoice>(message_pack::write(invoice)).value()), text);
  const std::string words =
      std::string("/due: ") + Date::expected + "; /paid: expected a string; /reminders/0: " + Date::expected;
  EXPECT_EQ(json::parse<Invoice>(R"({"due":"2026-02-30","paid":20781,"reminders":["today"]})").error().message(),
            words);
  EXPECT_EQ(cbor::parse<Date>(cbor::write(std::string("2026-02-30"))).error().message(), Date::expected);
}

TEST(Date, has_its_tag_in_cbor_and_is_read_without_it_too) {
  const std::string text =
      "\x6A"
      "2026-11-24";
  EXPECT_EQ(cbor::write(date("2026-11-24")), "\xD9\x03\xEC" + text);
  EXPECT_EQ(cbor::parse<Date>("\xD9\x03\xEC" + text).value(), date("2026-11-24"));
  EXPECT_EQ(cbor::parse<Date>(text).value(), date("2026-11-24"));
  EXPECT_EQ(message_pack::write(date("2026-11-24")),
            "\xAA"
            "2026-11-24");
  const Record record = cbor::parse<Record>(
                            "\xA1\x61"
                            "d\xD9\x03\xEC" +
                            text)
                            .value();
  EXPECT_EQ(record.get<std::string>("d").value(), "2026-11-24");
}

TEST(Date, is_a_field_of_a_query) {
  struct Range {
    Date from;
    Date to;
  };
  Range range;
  Violations wrong;
  const NamedText good[] = {{"from", "2026-11-01"}, {"to", "2026-11-30"}};
  EXPECT_TRUE(read_texts(range, good, wrong));
  EXPECT_EQ(range.to - range.from, 29);
  const NamedText bad[] = {{"from", "2026-11-31"}, {"to", "30.11.2026"}};
  EXPECT_FALSE(read_texts(range, bad, wrong));
  EXPECT_EQ(wrong.size(), 2u);
}

}  // namespace
}  // namespace keel::date_test
