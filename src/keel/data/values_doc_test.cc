// docs/values.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "keel/base/constant_time.h"
#include "keel/data/base64.h"
#include "keel/data/date.h"
#include "keel/data/decimal.h"
#include "keel/data/json.h"
#include "keel/data/timestamp.h"
#include "keel/data/token.h"
#include "keel/data/uuid.h"

namespace keel::values_doc_test {
namespace {

class Sku {
 public:
  static constexpr const char* expected = "expected a SKU such as AB-1234";
  static Result<Sku> parse(std::string_view text) {
    if (text.size() != 7 || text[2] != '-') return fail(Code::InvalidArgument, expected);
    Sku sku;
    sku.text_ = text;
    return sku;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

struct Order {
  Uuid id;
};
Result<Order> read(std::string_view text) {
  Arena arena;
  json::Reader in(text, arena);
  Order order;
  in.begin_object();
  while (auto key = in.next_key()) {
    if (*key == "id") {
      order.id = in.value<Uuid>();  // 422 that names the member when it is none
    } else {
      in.skip();
    }
  }
  KEEL_TRY_VOID(in.finish());
  return order;
}

TEST(ValuesDoc, writes_what_it_reads) {
  const Uuid order = Uuid::v7();   // in the order in which they were made: new rows go to the end of an index
  const Uuid invite = Uuid::v4();  // 122 bits that nobody can guess
  EXPECT_NE(order, invite);

  const Timestamp created = Timestamp::now();
  const Timestamp expires = created + 24_h;
  const Result<Timestamp> since = Timestamp::parse("2026-11-24T13:00:37+01:00");  // RFC 3339, in UTC from here on
  EXPECT_EQ(since->text(), "2026-11-24T12:00:37Z");

  Buffer buffer;
  json::Writer out(buffer);
  out.begin_object();
  out.key("id").string(order.text()).key("expires").string(expires.text());
  out.end_object();

  EXPECT_EQ(read(buffer.view()).value().id, order);
}

TEST(ValuesDoc, calculates_with_money) {
  const Decimal net = 19.90_dec;                                  // exact: no double is involved
  const Decimal gross = (net * 1.19_dec).rounded(2);              // 23.68
  const Decimal total = 3 * gross + 4.90_dec;                     // 75.94
  const Result<Decimal> part = total.divided_by(3, 2);            // 25.31: a quotient has a stated scale
  const Result<Decimal> given = Decimal::parse("1e3");            // 1000
  const std::int64_t cents = total.units(2).value();              // 7594, for a server that counts in cents
  const bool is_same = Decimal::from_units(1990, 2) == 19.9_dec;  // compared by value
  EXPECT_EQ(gross.text(), "23.68");
  EXPECT_EQ(part->text(), "25.31");
  EXPECT_EQ(given->text(), "1000");
  EXPECT_EQ(cents, 7594);
  EXPECT_TRUE(is_same);
}

TEST(ValuesDoc, counts_days_and_months) {
  const Date today = Date::today();                             // in UTC
  const Date due = today + 14;                                  // fourteen days later
  const Date next = Date::parse("2026-01-31")->plus_months(1);  // 2026-02-28: the month has no 31st
  const std::int64_t days = due - today;
  const bool is_weekend = due.weekday() >= Weekday::Saturday;
  EXPECT_EQ(days, 14);
  EXPECT_EQ(next.text(), "2026-02-28");
  EXPECT_EQ(is_weekend, due.weekday() == Weekday::Saturday || due.weekday() == Weekday::Sunday);
}

TEST(ValuesDoc, takes_a_type_of_ones_own) {
  Arena arena;
  json::Reader in("\"AB-1234\"", arena);
  EXPECT_EQ(in.value<Sku>().text(), "AB-1234");
  json::Reader wrong("\"AB1234\"", arena);
  wrong.value<Sku>();
  EXPECT_EQ(wrong.error().message(), "expected a SKU such as AB-1234 at line 1 column 1");
}

TEST(ValuesDoc, hands_out_secrets_and_writes_bytes) {
  const std::string token = random_token();  // 256 bits of the kernel's, 43 characters for a URL or a field
  EXPECT_EQ(token.size(), 43u);
  const std::string shown = token;
  const std::string expected = random_token();
  const bool is_right = constant_time_equal(shown, expected);
  EXPECT_FALSE(is_right);

  const std::string bytes = "\xff\x00\x10";
  const std::string text = base64::encode(bytes, base64::Form::Url);
  const Result<std::string> back = base64::decode(text, base64::Form::Url);
  EXPECT_EQ(back.value(), bytes);
}

}  // namespace
}  // namespace keel::values_doc_test
