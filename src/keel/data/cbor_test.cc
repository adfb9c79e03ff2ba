#include "keel/data/cbor.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "keel/base/testing/allocation_count.h"
#include "keel/data/binary_value.h"
#include "keel/data/internal/attacks_test.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"
#include "keel/data/message_pack.h"
#include "keel/data/patch.h"

namespace keel::cbor_test {

// A type with a form of its own, the same in both formats.
struct Money {
  std::int64_t cents = 0;
  std::string currency;
  friend bool operator==(const Money&, const Money&) = default;
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

std::string hex(std::string_view bytes) {
  std::string text;
  char two[3];
  for (const char c : bytes) {
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    text += two;
  }
  return text;
}
using binary::testing::unhex;

// RFC 8949 appendix A: the bytes and their notation.
struct Example {
  const char* bytes;
  const char* notation;
};
constexpr Example examples[] = {
    {"00", "0"},
    {"01", "1"},
    {"0a", "10"},
    {"17", "23"},
    {"1818", "24"},
    {"1819", "25"},
    {"1864", "100"},
    {"1903e8", "1000"},
    {"1a000f4240", "1000000"},
    {"1b000000e8d4a51000", "1000000000000"},
    {"1bffffffffffffffff", "18446744073709551615"},
    {"c249010000000000000000", "2(h'010000000000000000')"},
    {"3bffffffffffffffff", "-18446744073709551616"},
    {"c349010000000000000000", "3(h'010000000000000000')"},
    {"20", "-1"},
    {"29", "-10"},
    {"3863", "-100"},
    {"3903e7", "-1000"},
    {"f90000", "0.0"},
    {"f98000", "-0.0"},
    {"f93c00", "1.0"},
    {"fb3ff199999999999a", "1.1"},
    {"f93e00", "1.5"},
    {"f97bff", "65504.0"},
    {"fa47c35000", "100000.0"},
    {"fa7f7fffff", "3.4028234663852886e+38"},
    {"fb7e37e43c8800759c", "1.0e+300"},
    {"f90001", "5.960464477539063e-8"},
    {"f90400", "0.00006103515625"},
    {"f9c400", "-4.0"},
    {"fbc010666666666666", "-4.1"},
    {"f97c00", "Infinity"},
    {"f97e00", "NaN"},
    {"f9fc00", "-Infinity"},
    {"fa7f800000", "Infinity"},
    {"fa7fc00000", "NaN"},
    {"faff800000", "-Infinity"},
    {"fb7ff0000000000000", "Infinity"},
    {"fb7ff8000000000000", "NaN"},
    {"fbfff0000000000000", "-Infinity"},
    {"f4", "false"},
    {"f5", "true"},
    {"f6", "null"},
    {"f7", "undefined"},
    {"f0", "simple(16)"},
    {"f8ff", "simple(255)"},
    {"c074323031332d30332d32315432303a30343a30305a", "0(\"2013-03-21T20:04:00Z\")"},
    {"c11a514b67b0", "1(1363896240)"},
    {"c1fb41d452d9ec200000", "1(1363896240.5)"},
    {"d74401020304", "23(h'01020304')"},
    {"d818456449455446", "24(h'6449455446')"},
    {"d82076687474703a2f2f7777772e6578616d706c652e636f6d", "32(\"http://www.example.com\")"},
    {"40", "h''"},
    {"4401020304", "h'01020304'"},
    {"60", "\"\""},
    {"6161", "\"a\""},
    {"6449455446", "\"IETF\""},
    {"62225c", "\"\\\"\\\\\""},
    {"62c3bc", "\"\u00fc\""},
    {"63e6b0b4", "\"\u6c34\""},
    {"64f0908591", "\"\U00010151\""},
    {"80", "[]"},
    {"83010203", "[1, 2, 3]"},
    {"8301820203820405", "[1, [2, 3], [4, 5]]"},
    {"98190102030405060708090a0b0c0d0e0f101112131415161718181819",
     "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25]"},
    {"a0", "{}"},
    {"a201020304", "{1: 2, 3: 4}"},
    {"a26161016162820203", "{\"a\": 1, \"b\": [2, 3]}"},
    {"826161a161626163", "[\"a\", {\"b\": \"c\"}]"},
    {"a56161614161626142616361436164614461656145",
     "{\"a\": \"A\", \"b\": \"B\", \"c\": \"C\", \"d\": \"D\", \"e\": \"E\"}"},
    {"5f42010243030405ff", "(_ h'0102', h'030405')"},
    {"7f657374726561646d696e67ff", "(_ \"strea\", \"ming\")"},
    {"9fff", "[_ ]"},
    {"9f018202039f0405ffff", "[_ 1, [2, 3], [_ 4, 5]]"},
    {"9f01820203820405ff", "[_ 1, [2, 3], [4, 5]]"},
    {"83018202039f0405ff", "[1, [2, 3], [_ 4, 5]]"},
    {"83019f0203ff820405", "[1, [_ 2, 3], [4, 5]]"},
    {"9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff",
     "[_ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25]"},
    {"bf61610161629f0203ffff", "{_ \"a\": 1, \"b\": [_ 2, 3]}"},
    {"826161bf61626163ff", "[\"a\", {_ \"b\": \"c\"}]"},
    {"bf6346756ef563416d7421ff", "{_ \"Fun\": true, \"Amt\": -2}"},
};

TEST(Cbor, reads_all_examples_of_the_rfc) {
  for (const Example& example : examples) {
    const std::string bytes = unhex(example.bytes);
    const Result<std::string> notation = cbor::diagnose(bytes);
    ASSERT_TRUE(notation) << example.bytes << ": " << notation.error().message();
    EXPECT_EQ(*notation, example.notation);
    // Not one byte less, nor one more.
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(cbor::diagnose(std::string_view(bytes).substr(0, size))) << example.bytes << " up to " << size;
    }
    const Result<std::string> longer = cbor::diagnose(bytes + '\0');
    ASSERT_FALSE(longer);
    EXPECT_NE(longer.error().message().find("unexpected bytes after the value"), std::string_view::npos);
  }
}

template <class T>
void goes_to_and_fro(const T& value, const char* bytes) {
  EXPECT_EQ(hex(cbor::write(value)), bytes);
  const Result<T> again = cbor::parse<T>(unhex(bytes));
  ASSERT_TRUE(again) << bytes << ": " << again.error().message();
  if constexpr (std::floating_point<T>) {
    EXPECT_TRUE(*again == value || (std::isnan(*again) && std::isnan(value))) << bytes;
    EXPECT_EQ(std::signbit(*again), std::signbit(value)) << bytes;
  } else {
    EXPECT_EQ(*again, value) << bytes;
  }
}

TEST(Cbor, writes_the_examples_of_the_rfc) {
  goes_to_and_fro(0, "00");
  goes_to_and_fro(23, "17");
  goes_to_and_fro(24, "1818");
  goes_to_and_fro(255, "18ff");
  goes_to_and_fro(256, "190100");
  goes_to_and_fro(65535, "19ffff");
  goes_to_and_fro(1'000'000, "1a000f4240");
  goes_to_and_fro(1'000'000'000'000, "1b000000e8d4a51000");
  goes_to_and_fro(std::numeric_limits<std::uint64_t>::max(), "1bffffffffffffffff");
  goes_to_and_fro(std::numeric_limits<std::int64_t>::max(), "1b7fffffffffffffff");
  goes_to_and_fro(std::numeric_limits<std::int64_t>::min(), "3b7fffffffffffffff");
  goes_to_and_fro(-1, "20");
  goes_to_and_fro(-24, "37");
  goes_to_and_fro(-25, "3818");
  goes_to_and_fro(-1000, "3903e7");
  goes_to_and_fro(0.0, "f90000");
  goes_to_and_fro(-0.0, "f98000");
  goes_to_and_fro(1.0, "f93c00");
  goes_to_and_fro(1.1, "fb3ff199999999999a");
  goes_to_and_fro(1.5, "f93e00");
  goes_to_and_fro(65504.0, "f97bff");
  goes_to_and_fro(65505.0, "fa477fe100");
  goes_to_and_fro(100000.0, "fa47c35000");
  goes_to_and_fro(3.4028234663852886e+38, "fa7f7fffff");
  goes_to_and_fro(1.0e+300, "fb7e37e43c8800759c");
  goes_to_and_fro(5.960464477539063e-8, "f90001");
  goes_to_and_fro(0x1p-25, "fa33000000");
  goes_to_and_fro(0x1.8p-24, "fa33c00000");
  goes_to_and_fro(0x3ffp-24, "f903ff");
  goes_to_and_fro(0.00006103515625, "f90400");
  goes_to_and_fro(-4.1, "fbc010666666666666");
  goes_to_and_fro(std::numeric_limits<double>::infinity(), "f97c00");
  goes_to_and_fro(std::numeric_limits<double>::quiet_NaN(), "f97e00");
  goes_to_and_fro(-std::numeric_limits<double>::infinity(), "f9fc00");
  goes_to_and_fro(std::numeric_limits<double>::denorm_min(), "fb0000000000000001");
  goes_to_and_fro(0.1f, "fa3dcccccd");
  goes_to_and_fro(false, "f4");
  goes_to_and_fro(true, "f5");
  goes_to_and_fro(std::optional<int>(), "f6");
  goes_to_and_fro(std::optional<int>(7), "07");
  goes_to_and_fro(std::string("IETF"), "6449455446");
  goes_to_and_fro(std::string("\u6c34"), "63e6b0b4");
  goes_to_and_fro(std::vector<int>{1, 2, 3}, "83010203");
  goes_to_and_fro(std::vector<std::vector<int>>{{1}, {2, 3}}, "828101820203");
  goes_to_and_fro(std::vector<bool>{true, false}, "82f5f4");
  goes_to_and_fro(std::array<std::int8_t, 2>{-1, 1}, "822001");
  goes_to_and_fro(std::vector<std::byte>{std::byte{1}, std::byte{2}}, "420102");
  goes_to_and_fro(std::array<std::byte, 2>{std::byte{1}, std::byte{2}}, "420102");
  goes_to_and_fro(std::map<std::string, int>{{"b", 1}, {"aa", 2}}, "a261620162616102");
  goes_to_and_fro(std::unordered_map<std::string, int>{{"b", 1}, {"aa", 2}, {"c", 3}},
                  "a36162016163036261610"
                  "2");
  goes_to_and_fro(Timestamp::from_unix_seconds(1363896240), "c11a514b67b0");
  goes_to_and_fro(Timestamp::from_unix_seconds(-1), "c120");
  goes_to_and_fro(Timestamp::from_unix_ns(500'000'000),
                  "c0"
                  "7818"
                  "313937302d30312d30315430303a30303a30302e3530305a");
  goes_to_and_fro(Uuid::parse("0192f7a8-0000-7000-8000-0000000000ff").value(),
                  "d82550"
                  "0192f7a8000070008000"
                  "0000000000ff");
  goes_to_and_fro(Money{-5, "EUR"},
                  "82246345"
                  "5552");
}

enum class State { Open, Paid };
struct Card {
  std::string number;
  static constexpr Tag tag = {"type", "card"};
  friend bool operator==(const Card&, const Card&) = default;
};
struct Cash {
  int z = 0;
  bool a_very_long_name = false;
  static constexpr Tag tag = {"type", "cash"};
  friend bool operator==(const Cash&, const Cash&) = default;
};
struct Line {
  std::string sku;
  int quantity = 0;
  void rules(Check& check) const { check(quantity).range(1, 100); }
  friend bool operator==(const Line&, const Line&) = default;
};
struct Order {
  Uuid id;
  Timestamp created_at;
  State state = State::Open;
  std::vector<Line> lines;
  std::map<std::string, double> prices;
  std::optional<std::string> note;
  Patch<int> remark;
  std::variant<Card, Cash> by;
  std::vector<std::byte> raw;
  Money total;
  std::deque<std::uint16_t> codes;
  static constexpr auto name_case = Case::Camel;
  friend bool operator==(const Order&, const Order&) = default;
};
Order an_order() {
  Order order;
  order.id = Uuid::parse("0192f7a8-0000-7000-8000-0000000000ff").value();
  order.created_at = Timestamp::parse("2026-11-24T12:00:37.250Z").value();
  order.state = State::Paid;
  order.lines = {{"A-1", 1}, {"B-2", 100}};
  order.prices = {{"A-1", 0.5}, {"B-2", 1e300}};
  order.by = Cash{3, true};
  order.raw = {std::byte{0}, std::byte{255}};
  order.total = {1250, "EUR"};
  order.codes = {1, 65535};
  return order;
}

TEST(Cbor, reads_back_what_it_writes) {
  const Order order = an_order();
  const std::string bytes = cbor::write(order);
  const Result<Order> again = cbor::parse<Order>(bytes);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(*again, order);
  EXPECT_EQ(cbor::write(*again), bytes);
  const std::string packed = message_pack::write(order);
  const Result<Order> unpacked = message_pack::parse<Order>(packed);
  ASSERT_TRUE(unpacked) << unpacked.error().message();
  EXPECT_EQ(*unpacked, order);
}

TEST(Cbor, is_deterministic) {
  EXPECT_EQ(*cbor::diagnose(cbor::write(an_order())),
            "{\"by\": {\"z\": 3, \"type\": \"cash\", \"a_very_long_name\": true}, "
            "\"id\": 37(h'0192f7a80000700080000000000000ff'), \"raw\": h'00ff', \"note\": null, "
            "\"codes\": [1, 65535], \"lines\": [{\"sku\": \"A-1\", \"quantity\": 1}, {\"sku\": \"B-2\", "
            "\"quantity\": 100}], \"state\": \"Paid\", \"total\": [1250, \"EUR\"], "
            "\"prices\": {\"A-1\": 0.5, \"B-2\": 1.0e+300}, \"createdAt\": 0(\"2026-11-24T12:00:37.250Z\")}");
}

// Any order of the members, indefinite lengths, tags without a meaning, whole numbers as floating point.
TEST(Cbor, reads_what_others_write) {
  const Line line{"A-1", 7};
  for (const char* bytes : {"a263736b7563412d31687175616e7469747907", "a2687175616e746974790763736b7563412d31",
                            "bf63736b757f61416"
                            "22d31ff687175616e74697479f94700ff",
                            "d9d9f7a263736b75d82063412d31687175616e74697479fb401c000000000000",
                            "a363736b7563412d316161826161a1a0f6687175616e746974791a00000007",
                            "a263736b7563412d31687175616e74697479c24107"}) {
    const Result<Line> read = cbor::parse<Line>(unhex(bytes));
    ASSERT_TRUE(read) << bytes << ": " << read.error().message();
    EXPECT_EQ(*read, line) << bytes;
  }
  EXPECT_EQ(cbor::parse<Timestamp>(unhex("c1fb41d452d9ec200000"))->text(), "2013-03-21T20:04:00.500Z");
  EXPECT_EQ(cbor::parse<Timestamp>(unhex("74323031332d30332d32315432303a30343a30305a"))->text(),
            "2013-03-21T20:04:00Z");
  EXPECT_EQ(*cbor::parse<double>(unhex("18ff")), 255.0);
  EXPECT_EQ(*cbor::parse<double>(unhex("3bffffffffffffffff")), -18446744073709551616.0);
  EXPECT_EQ(*cbor::parse<double>(unhex("3b0020000000000001")), -9007199254740994.0) << "is a double";
  EXPECT_EQ(*cbor::parse<double>(unhex("3b0040000000000002")), -18014398509481988.0) << "the nearest";
  EXPECT_EQ(*cbor::parse<std::int64_t>(unhex("fbc340000000000001")), -9007199254740994);
  EXPECT_EQ(*cbor::parse<std::int64_t>(unhex("fbc3e0000000000000")), std::numeric_limits<std::int64_t>::min());
  EXPECT_FALSE(cbor::parse<std::int64_t>(unhex("fbc3f0000000000000"))) << "-2^64";
  EXPECT_EQ(*cbor::parse<std::optional<int>>(unhex("f7")), std::nullopt);
  EXPECT_EQ(*cbor::parse<std::int64_t>(unhex("c3487fffffffffffffff")), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(*cbor::parse<std::uint64_t>(unhex("c24a0000ffffffffffffffff")), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(*cbor::parse<std::uint64_t>(unhex("fb43e0000000000000")), 1ull << 63);
}

std::string why(const Result<Order>& order) { return order ? "nothing" : std::string(order.error().message()); }

TEST(Cbor, tells_all_that_is_wrong) {
  struct Wrong {
    const char* note;
    const char* bytes;
    const char* why;
  };
  // A Line: {"sku": "A-1", "quantity": 7}.
  const Wrong wrongs[] = {
      {"missing", "a163736b7563412d31", "/quantity is required"},
      {"all missing", "a0", "/sku is required; /quantity is required"},
      {"a rule", "a263736b7563412d31687175616e7469747900", "/quantity must be from 1 to 100"},
      {"types", "a263736b7507687175616e746974796161", "/sku: expected a string; /quantity: expected an integer"},
      {"a key in a longer form", "a278087175616e746974796063736b7563412d31", "/quantity: expected an integer"},
      {"a key in pieces", "a27f62736b6175ff07687175616e7469747960",
       "/…: expected a string; /quantity: expected an integer"},
      {"a fraction", "a263736b7563412d31687175616e74697479f93e00", "/quantity: expected an integer"},
      {"NaN", "a263736b7563412d31687175616e74697479f97e00", "/quantity: expected an integer"},
      {"range", "a263736b7563412d31687175616e746974791b0000000100000000",
       "/quantity: expected an integer from -2147483648 to 2147483647"},
      {"a large bignum", "a263736b7563412d31687175616e74697479c249010000000000000000",
       "/quantity: expected an integer from -2147483648 to 2147483647"},
      {"a tag", "a263736b7563412d31687175616e74697479c907", "/quantity: expected an integer"},
      {"no object", "83010203", "expected an object"},
      {"a key", "a3010263736b7563412d31687175616e7469747907", "has a key that is not a text"},
      {"twice", "a363736b7563412d3163736b7563412d31687175616e7469747907", "is given twice at byte 13 (/sku)"},
      {"UTF-8", "a263736b7562c328687175616e7469747907", "a text that is not UTF-8 at byte 6 (/sku)"},
      {"cut", "a263736b7563412d", "a length is larger than the bytes that follow at byte 6 (/sku)"},
      {"a count", "ba7fffffff63736b75", "a count is larger than the bytes that follow at byte 0"},
      {"reserved", "a263736b751c", "a byte that cannot begin a value at byte 5 (/sku)"},
      {"a break", "a263736b75ff", "a stop code (break) where a value is expected at byte 5 (/sku)"},
      {"behind it", "a263736b7563412d31687175616e746974790700", "unexpected bytes after the value at byte 19"},
      {"nothing", "", "the input is empty at byte 0"},
  };
  for (const Wrong& wrong : wrongs) {
    const Result<Line> line = cbor::parse<Line>(unhex(wrong.bytes));
    ASSERT_FALSE(line) << wrong.note;
    EXPECT_NE(line.error().message().find(wrong.why), std::string_view::npos)
        << wrong.note << ": " << line.error().message() << "\ninstead of " << wrong.why;
    EXPECT_EQ(line.error().code(), Code::InvalidArgument);
  }
  const auto keyword = [](const char* bytes) {
    Arena arena;
    Violations all;
    Line line;
    cbor::read(line, unhex(bytes), arena, all);
    return all.empty() ? "none" : all[0].keyword;
  };
  EXPECT_EQ(keyword("a163736b7563412d31"), "required");
  EXPECT_EQ(keyword("a263736b7507687175616e7469747907"), "type");
  EXPECT_EQ(keyword("a263736b7563412d31687175616e746974791b0000000100000000"), "format");
  EXPECT_EQ(keyword("a263736b7563412d31687175616e7469747900"), "minimum");
  Order order = an_order();
  order.lines[1].quantity = 101;
  std::string bytes = cbor::write(order);
  const auto change = [&](std::string_view from, std::string_view to) {
    const std::size_t at = bytes.find(from);
    ASSERT_NE(at, std::string::npos);
    bytes.replace(at, from.size(), to);
  };
  change("\x64Paid", "\x64Gone");
  change(
      "\x64"
      "cash",
      "\x64gold");
  change("\x19\xFF\xFF", std::string_view("\x1A\0\1\0\0", 5));
  change(std::string_view("\x42\0\xFF", 3), "\x01");
  EXPECT_EQ(why(cbor::parse<Order>(bytes)),
            "/by/type must be one of card, cash; /raw: expected bytes; /codes/1: expected an integer from 0 to 65535; "
            "/lines/1/quantity must be from 1 to 100; /state must be one of Open, Paid");
}

// What was sent to make readers of CBOR reserve, nest or loop: an error immediately, and nothing kept.
TEST(Cbor, is_not_attacked) {
  const std::string deep(100'000, '\x81');
  const std::string open(100'000, '\x9F');
  const std::string tags(1'000'000, '\xC1');  // And no value.
  const std::string maps(100'000, '\xA1');
  for (const std::string& bytes : {deep,
                                   open,
                                   tags,
                                   maps,
                                   unhex("9b7fffffffffffffff"),
                                   unhex("bb7fffffffffffffff"),
                                   unhex("5b7fffffffffffffff00"),
                                   unhex("7bffffffffffffffff"),
                                   unhex("9bffffffffffffffff"),
                                   unhex("5f5f4100ffff"),
                                   unhex("7f4100ff"),
                                   unhex("bf6161ff"),
                                   unhex("ff"),
                                   unhex("c1ff"),
                                   unhex("9fc1ff"),
                                   unhex("f800"),
                                   unhex("f81f"),
                                   unhex("fc"),
                                   unhex("1f"),
                                   unhex("3f"),
                                   unhex("df")}) {
    EXPECT_FALSE(cbor::diagnose(bytes)) << hex(std::string_view(bytes).substr(0, 16));
    EXPECT_FALSE(cbor::parse<json::Value>(bytes)) << hex(std::string_view(bytes).substr(0, 16));
    EXPECT_FALSE(cbor::parse<std::vector<std::vector<int>>>(bytes));
    EXPECT_FALSE((cbor::parse<std::map<std::string, std::string>>(bytes)));
    EXPECT_FALSE(cbor::parse<std::vector<std::byte>>(bytes));
  }
  std::string sixty_four(64, '\x81');
  sixty_four.back() = '\x80';
  EXPECT_TRUE(cbor::diagnose(sixty_four));
  EXPECT_FALSE(cbor::diagnose('\x81' + sixty_four));
  EXPECT_EQ(cbor::diagnose(tags + '\x07')->size(), 3'000'001u);
  EXPECT_TRUE(cbor::parse<json::Value>(tags + '\x07'));
  Arena arena;
  cbor::Reader bounded("\x81\x80", arena, {.depth_max = 1});
  bounded.skip();
  EXPECT_TRUE(bounded.failed());
  EXPECT_FALSE(cbor::parse<int>(std::string_view("\0", 1), {.bytes_max = 0}));
  if (!KEEL_SANITIZED) {
    Arena warm;
    Violations wrong;
    std::vector<int> list;
    const std::string bytes = unhex("9b0000000000ffffff00");
    const std::size_t before = internal::allocations();
    cbor::Reader in(bytes, warm);
    in.skip();
    EXPECT_TRUE(in.failed());
    EXPECT_EQ(internal::allocations() - before, 0u);
  }
}

TEST(Cbor, holds_nothing_of_an_attack) {
  const binary::testing::Attack attacks[] = {
      {"nested arrays", std::string(100'000, '\x81')},
      {"nested arrays of unknown length", std::string(100'000, '\x9F')},
      {"nested maps", std::string(100'000, '\xA1')},
      {"tags", std::string(100'000, '\xC6')},
      {"a count of elements", unhex("9b7fffffffffffffff")},
      {"a count of fields", unhex("bb7fffffffffffffff")},
      {"a length of bytes", unhex("5b7fffffffffffffff")},
      {"a length of text", unhex("7b7fffffffffffffff")},
      {"a count of children", unhex("a1686368696c6472656e9b00000000ffffffff")},
      {"a count of names", unhex("a1656e616d6573bb00000000ffffffff")},
      {"chunks of chunks", std::string(100'000, '\x7F')},
  };
  binary::testing::holds_nothing_of(attacks, unhex("a1686368696c6472656e81"),
                                    [](auto&... of) { return cbor::read(of...); });
}

// Every first byte in the place of a key, after no, some and all fields of the struct, near the end of the bytes and
// far from it.
TEST(Cbor, rejects_any_byte_that_begins_no_key) {
  const auto judge = [](const std::string& bytes, bool is_cbor) {
    const Result<Line> line = is_cbor ? cbor::parse<Line>(bytes) : message_pack::parse<Line>(bytes);
    const auto well_formed = [&]<class Reader>(Reader*) {
      Arena arena;
      Reader in(bytes, arena);
      in.skip();
      return in.finish().is_ok();
    };
    const bool has_form = is_cbor ? well_formed(static_cast<cbor::Reader*>(nullptr))
                                  : well_formed(static_cast<message_pack::Reader*>(nullptr));
    EXPECT_TRUE(!line || has_form) << hex(bytes);
    return line.is_ok();
  };
  for (const bool is_cbor : {true, false}) {
    const std::string one = unhex(is_cbor ? "63736b7563412d31" : "a3736b75a3412d31");
    const std::string other = unhex(is_cbor ? "687175616e7469747907" : "a87175616e7469747907");
    const std::string members[] = {"", one, other, one + other, other + one};
    for (const std::string& before : members) {
      const int count = before.empty() ? 0 : before == one || before == other ? 1 : 2;
      for (int first = 0; first < 256; ++first) {
        for (const std::size_t behind : {0, 1, 2, 8, 9, 40}) {
          for (int declared = count + 1; declared <= count + 2; ++declared) {
            const std::string bytes = static_cast<char>((is_cbor ? 0xA0 : 0x80) + declared) + before +
                                      static_cast<char>(first) + std::string(behind, '\0');
            EXPECT_FALSE(count < 2 && judge(bytes, is_cbor)) << hex(bytes);
            if (count == 2) judge(bytes, is_cbor);
          }
        }
      }
    }
    const std::string all = (is_cbor ? '\xA3' : '\x83') + one + other;
    EXPECT_TRUE(judge(all + (is_cbor ? '\x60' : '\xA0') + '\0', is_cbor));  // An empty key is a field it does not have.
  }
  EXPECT_EQ(cbor::parse<Line>(unhex("a363736b7563412d31687175616e7469747907c10007")).error().message(),
            "has a key that is not a text");
}

TEST(Cbor, finds_one_value_without_reading_the_rest) {
  const std::string bytes = cbor::write(an_order());
  EXPECT_EQ(*cbor::parse<std::string>(cbor::find(bytes, "/lines/1/sku").value()), "B-2");
  EXPECT_EQ(*cbor::parse<double>(cbor::find(bytes, "/prices/B-2").value()), 1e300);
  EXPECT_EQ(cbor::find(bytes, "").value(), bytes);
  EXPECT_EQ(*cbor::find(unhex("a163612f7e01"), "/a~1~0"), "\x01");
  for (const char* missing : {"/lines/2", "/lines/01", "/lines/x", "/nothing", "/state/x"}) {
    EXPECT_EQ(cbor::find(bytes, missing).error().code(), Code::NotFound) << missing;
  }
  EXPECT_EQ(cbor::find(bytes, "lines").error().message(), "\"lines\" is not a JSON Pointer");
  EXPECT_EQ(cbor::find(bytes, "/a~2").error().code(), Code::InvalidArgument);
  EXPECT_EQ(cbor::find(unhex("a26161ff61620"
                             "1"),
                       "/b")
                .error()
                .message(),
            "a stop code (break) where a value is expected at byte 3 (/a)");
}

struct Views {
  std::string_view name;
  double value;
  bool flag;
  std::int64_t id;
};
TEST(Cbor, touches_no_heap) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "the sanitizer replaces malloc";
  const Views views{"a name", 0.5, true, -7};
  Buffer out;
  Arena arena;
  cbor::write(out, views);
  Violations wrong;
  Views again{};
  const std::size_t before = internal::allocations();
  for (int i = 0; i < 100; ++i) {
    out.clear();
    cbor::write(out, views);
    ASSERT_TRUE(cbor::read(again, out.view(), arena, wrong));
  }
  EXPECT_EQ(internal::allocations() - before, 0u);
  EXPECT_EQ(again.name, "a name");
  EXPECT_EQ(again.id, -7);
  EXPECT_GE(again.name.data(), out.data());
  EXPECT_LT(again.name.data(), out.data() + out.size());
}

TEST(Cbor, reads_and_writes_documents_without_a_struct) {
  for (const char* text :
       {R"({"a":1,"bb":[true,false,null,"x"],"c":{"d":-1.5,"e":18446744073709551615,"f":-9223372036854775808}})", "[]",
        "\"\"", "0.1", R"({"é":"水"})"}) {
    const json::Value value = json::parse<json::Value>(text).value();
    EXPECT_EQ(*cbor::parse<json::Value>(cbor::write(value)), value) << text;
    EXPECT_EQ(*message_pack::parse<json::Value>(message_pack::write(value)), value) << text;
  }
  EXPECT_EQ(json::write(*cbor::parse<json::Value>(unhex("84f97e00c1014201ffd81842ffff"))), R"([null,1,"Af8","__8"])");
  EXPECT_EQ(cbor::parse<json::Value>(unhex("a2616101616102")).error().message(), "has the same member twice at byte 6");
  EXPECT_EQ(cbor::parse<json::Value>(unhex("a1622f61")).error().message(),
            "unexpected end of the bytes at byte 4 (/~1a)");
  EXPECT_EQ(cbor::parse<json::Value>(unhex("81f0")).error().message(), "/0: cannot be represented in JSON");
}

}  // namespace
}  // namespace keel::cbor_test
