// docs/cbor.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "keel/data/binary_value.h"
#include "keel/data/cbor.h"
#include "keel/data/json_write.h"
#include "keel/data/message_pack.h"

namespace keel::cbor_doc_test {

struct Reading {
  Uuid device;
  Timestamp at;
  double celsius = 0;
  std::vector<std::byte> raw;
  void rules(Check& check) const { check(celsius).range(-90, 60); }
};

struct Money {
  std::int64_t cents = 0;
  std::string currency;
  friend void read_binary(auto& in, Money& money) {
    in.begin_array();
    if (in.next_element()) money.cents = in.int64();
    if (in.next_element()) money.currency = in.string();
    if (in.next_element()) in.fail("has more than two elements");
  }
  friend void write_binary(auto& out, const Money& money) {
    out.begin_array(2);
    out.integer(money.cents);
    out.string(money.currency);
  }
};

namespace {

TEST(CborPage, writes_and_reads) {
  const Reading reading{.device = {}, .at = Timestamp::from_unix_seconds(1363896240), .celsius = 21.5, .raw = {}};
  const std::string bytes = cbor::write(reading);
  const Result<Reading> again = cbor::parse<Reading>(bytes);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->celsius, 21.5);
  EXPECT_EQ(message_pack::parse<Reading>(message_pack::write(reading))->celsius, 21.5);

  std::puts(cbor::diagnose(bytes)->c_str());
  const Result<std::string_view> celsius = cbor::find(bytes, "/celsius");
  EXPECT_EQ(*cbor::parse<double>(*celsius), 21.5);
  EXPECT_EQ(
      *cbor::diagnose(bytes),
      "{\"at\": 1(1363896240), \"raw\": h'', \"device\": 37(h'00000000000000000000000000000000'), \"celsius\": 21.5}");
  const auto document = cbor::parse<json::Value>(bytes);
  const std::string text = json::write(*document);
  const std::string packed = message_pack::write(*document);
  EXPECT_EQ(text, R"({"at":1363896240,"raw":"","device":"AAAAAAAAAAAAAAAAAAAAAA","celsius":21.5})");
  EXPECT_EQ(*message_pack::parse<json::Value>(packed), *document);
}

TEST(CborPage, tells_what_is_wrong) {
  const Reading reading{.device = {}, .at = {}, .celsius = 100, .raw = {}};
  const std::string bytes = cbor::write(reading);
  Arena arena;
  Violations wrong;
  Reading hot;
  if (!cbor::read(hot, bytes, arena, wrong)) {
    for (const Violation& one : wrong) std::puts((one.pointer + " " + one.message).c_str());
  }
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(wrong.error().message(), "/celsius must be from -90 to 60");
  EXPECT_EQ(cbor::parse<Reading>(std::string_view(bytes).substr(0, 17)).error().message().substr(0, 30),
            "a length is larger than the by");
  EXPECT_EQ(cbor::parse<Money>(cbor::write(Money{5, "EUR"}))->cents, 5);
}

}  // namespace
}  // namespace keel::cbor_doc_test
