#include "keel/data/json_parse.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "keel/base/testing/allocation_count.h"
#include "keel/data/json_write.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"

namespace keel::json_parse_test {

// A type of ones own, by two functions.
struct Money {
  std::int64_t cents = 0;
};
void read_json(json::Reader& in, Money& money) {
  in.begin_object();
  while (const auto key = in.next_key()) {
    if (*key == "cents") {
      money.cents = in.int64();
      if (money.cents < 0) in.fail("must not be negative");
    } else {
      in.skip();
    }
  }
}
void write_json(json::Writer& out, const Money& money) {
  out.begin_object().key("cents").integer(money.cents).end_object();
}

namespace {

enum class Status { Open, Paid };

struct Address {
  std::string city;
  std::array<double, 2> at;
  bool operator==(const Address&) const = default;
};
struct Order {
  Uuid id;
  Timestamp created;
  Status status;
  bool gift;
  std::int8_t small;
  std::uint64_t large;
  float share;
  double price;
  std::string text;
  std::vector<bool> flags;
  std::list<int> numbers;
  std::map<std::string, int> tags;
  std::unordered_map<std::string, std::vector<int>> lists;
  std::optional<Address> address;
  Patch<std::string> note;
};
constexpr std::string_view order_text =
    R"({"id":"0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50","created":"2026-11-24T12:00:37.250Z","status":"Paid","gift":true,)"
    R"("small":-128,"large":18446744073709551615,"share":0.1,"price":2.5,"text":"a\nb","flags":[true,false],)"
    R"("numbers":[1,2],"tags":{"x":1,"y":2},"lists":{"z":[1]},"address":{"city":"Bern","at":[46.9,7.4]},"note":null})";

template <class T>
std::string error_of(std::string_view text) {
  const Result<T> value = json::parse<T>(text);
  return value ? "" : std::string(value.error().message());
}
template <class T>
Violations wrong_of(std::string_view text) {
  T value;
  Arena arena;
  Violations wrong;
  const bool is_read = json::read(value, text, arena, wrong);
  EXPECT_EQ(is_read, wrong.empty());
  return wrong;
}

TEST(JsonParse, fills_a_plain_struct) {
  const Order order = json::parse<Order>(order_text).value();

  EXPECT_EQ(order.id.text(), "0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50");
  EXPECT_EQ(order.created.text(), "2026-11-24T12:00:37.250Z");
  EXPECT_EQ(order.status, Status::Paid);
  EXPECT_TRUE(order.gift);
  EXPECT_EQ(order.small, -128);
  EXPECT_EQ(order.large, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(order.share, 0.1f);
  EXPECT_EQ(order.price, 2.5);
  EXPECT_EQ(order.text, "a\nb");
  EXPECT_EQ(order.flags, (std::vector<bool>{true, false}));
  EXPECT_EQ(order.numbers, (std::list<int>{1, 2}));
  EXPECT_EQ(order.tags, (std::map<std::string, int>{{"x", 1}, {"y", 2}}));
  EXPECT_EQ(order.lists.at("z"), std::vector<int>{1});
  EXPECT_EQ(order.address, (Address{"Bern", {46.9, 7.4}}));
  EXPECT_TRUE(order.note.is_null());
}

TEST(JsonParse, takes_neither_a_part_of_a_text_nor_more_than_it) {
  for (std::size_t size = 0; size < order_text.size(); ++size) {
    const Violations wrong = wrong_of<Order>(order_text.substr(0, size));
    EXPECT_TRUE(wrong.is_malformed()) << size;
    EXPECT_EQ(wrong.size(), 1u);
  }
  EXPECT_EQ(error_of<Order>(std::string(order_text) + " x").substr(0, 31), "unexpected text after the value");
}

struct Three {
  int a = 1;
  int b = 2;
  std::string_view c;
};

TEST(JsonParse, takes_fields_in_any_order_and_with_blanks) {
  Arena arena;
  for (const std::string_view text :
       {R"({"a":3,"b":4,"c":"x"})", R"({"c":"x","b":4,"a":3})", R"({"b":4,"c":"x","a":3})",
        R"( { "a" : 3 , "b" : 4 , "c" : "x" } )", R"({"\u0061":3,"b":4,"\u0063":"x"})"}) {
    const Three three = json::parse<Three>(text, arena).value();
    EXPECT_EQ(three.a, 3);
    EXPECT_EQ(three.b, 4);
    EXPECT_EQ(three.c, "x");
  }
}

TEST(JsonParse, reads_views_into_the_text_or_the_arena_without_the_heap) {
  const std::string_view text = R"({"a":3,"b":4,"c":"plain text"})";
  const std::string_view escaped = R"({"a":3,"b":4,"c":"two\nlines"})";
  Arena arena;
  Violations wrong;
  Three three;
  ASSERT_TRUE(json::read(three, escaped, arena, wrong));
  EXPECT_EQ(three.c, "two\nlines");

  const std::size_t before = internal::allocations();
  ASSERT_TRUE(json::read(three, text, arena, wrong));
  EXPECT_EQ(internal::allocations(), before);
  EXPECT_EQ(three.c.data(), text.data() + text.find("plain"));
}

struct Strict {
  int a;
  static constexpr bool strict_fields = true;
};

TEST(JsonParse, passes_over_unknown_fields_unless_the_struct_is_strict) {
  Arena arena;
  EXPECT_TRUE(json::parse<Three>(R"({"a":1,"x":{"a":[1,{}]},"b":1,"c":"","":2})", arena).is_ok());
  EXPECT_EQ(error_of<Strict>(R"({"a":1,"b":{},"a2":3})"),
            "/b is not a field of this object; /a2 is not a field of this object");
  EXPECT_TRUE(wrong_of<Strict>(R"({"a":1,"b":{)").is_malformed());
}

struct Some {
  int a;
  int quantity = 5;
  std::string currency = "EUR";
  std::optional<int> b;
  Patch<int> c;
  static constexpr std::string_view optional_fields[] = {"quantity", "currency"};
};
struct Filter {
  int page = 1;
  bool all = false;
  static constexpr bool optional_fields = true;
};

TEST(JsonParse, requires_fields_that_are_not_optional) {
  EXPECT_EQ(error_of<Some>("{}"), "/a is required");
  const Some some = json::parse<Some>(R"({"a":1})").value();
  EXPECT_EQ(some.quantity, 5);
  EXPECT_EQ(some.currency, "EUR");
  EXPECT_EQ(some.b, std::nullopt);
  EXPECT_TRUE(some.c.is_absent());
  EXPECT_EQ(json::parse<Filter>("{}").value().page, 1);
  EXPECT_EQ(error_of<Some>(R"({"a":null,"quantity":null,"b":null,"c":null})"),
            "/a: expected an integer; /quantity: expected an integer");
}

TEST(JsonParse, begins_with_what_the_initialisers_say_whatever_was_in_the_struct) {
  Arena arena;
  Violations wrong;
  Filter filter{.page = 7, .all = true};
  EXPECT_TRUE(json::read(filter, "{}", arena, wrong));
  EXPECT_EQ(filter.page, 1);
  EXPECT_FALSE(filter.all);
}

TEST(JsonParse, refuses_a_field_that_is_given_twice_as_malformed) {
  const Violations wrong = wrong_of<Some>("{\"a\":true,\n \"b\":2, \"b\":3}");
  EXPECT_TRUE(wrong.is_malformed());
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(wrong.error().message(), "is given twice at line 2 column 13 (/b)");
  EXPECT_TRUE(wrong_of<Some>(R"({"a":1,"\u0061":1})").is_malformed());
  EXPECT_EQ((error_of<std::vector<std::map<std::string, int>>>(R"([{"x":1,"x":1}])")),
            "is given twice at line 1 column 13 (/0/x)");
}

struct Numbers {
  std::optional<std::int8_t> i8;
  std::optional<std::uint8_t> u8;
  std::optional<std::int16_t> i16;
  std::optional<std::uint16_t> u16;
  std::optional<std::int32_t> i32;
  std::optional<std::uint32_t> u32;
  std::optional<std::int64_t> i64;
  std::optional<std::uint64_t> u64;
  std::optional<float> f;
  std::optional<double> d;
};

TEST(JsonParse, knows_the_edges_of_each_number) {
  const std::pair<const char*, std::vector<const char*>> good[] = {
      {"i8", {"-128", "127"}},
      {"u8", {"0", "255", "-0"}},
      {"i16", {"-32768", "32767"}},
      {"u16", {"65535"}},
      {"i32", {"-2147483648", "2147483647"}},
      {"u32", {"4294967295"}},
      {"i64", {"-9223372036854775808", "9223372036854775807"}},
      {"u64", {"18446744073709551615"}},
      {"f", {"3.4028234663852886e38", "1e-45", "16777217", "1.00000005960464477539062501"}},
      {"d", {"1.7976931348623157e308", "5e-324"}}};
  const std::pair<const char*, std::vector<const char*>> bad[] = {
      {"i8", {"-129", "128", "1.5", "1e3"}},
      {"u8", {"-1", "256"}},
      {"i16", {"-32769", "32768"}},
      {"u16", {"65536"}},
      {"i32", {"-2147483649", "2147483648"}},
      {"u32", {"4294967296"}},
      {"i64", {"-9223372036854775809", "9223372036854775808"}},
      {"u64", {"18446744073709551616", "-1"}},
      {"f", {"3.5e38", "1e-60"}},
      {"d", {"1e309", "1e-400"}}};
  const auto text_of = [](const char* name, const char* number) {
    return "{\"" + std::string(name) + "\":" + number + "}";
  };
  for (const auto& [name, numbers] : good) {
    for (const char* number : numbers) EXPECT_EQ(error_of<Numbers>(text_of(name, number)), "") << name << number;
  }
  for (const auto& [name, numbers] : bad) {
    for (const char* number : numbers) {
      const Violations wrong = wrong_of<Numbers>(text_of(name, number));
      ASSERT_EQ(wrong.size(), 1u) << name << number;
      EXPECT_FALSE(wrong.is_malformed());
      EXPECT_EQ(wrong[0].pointer, "/" + std::string(name));
    }
  }
  // A double in between would round this one to 1.
  EXPECT_EQ(json::parse<Numbers>(R"({"f":1.00000005960464477539062501})").value().f, 1.0000001f);
}

TEST(JsonParse, reports_everything_that_is_wrong_with_its_place) {
  const Violations wrong = wrong_of<Order>(
      "{\"id\":\"x\",\n\"created\":3,\"status\":\"Lost\",\"gift\":0,\"small\":128,\"large\":-1,\"share\":\"\",\n"
      "\"price\":[1,{\"a\":[]}],\"text\":{},\"flags\":[true,1],\"numbers\":[1,\"2\",3],\"tags\":{\"x/~\":null},"
      "\"lists\":{\"z\":[[]]},\"address\":{\"at\":[1]},\"note\":4}");
  const std::pair<const char*, const char*> expected[] = {
      {"/id", Uuid::expected},
      {"/created", "expected a string"},
      {"/status", "must be one of Open, Paid"},
      {"/gift", "expected true or false"},
      {"/small", "expected an integer from -128 to 127"},
      {"/large", "expected an integer from 0 to 18446744073709551615"},
      {"/share", "expected a number"},
      {"/price", "expected a number"},
      {"/text", "expected a string"},
      {"/flags/1", "expected true or false"},
      {"/numbers/1", "expected an integer"},
      {"/tags/x~1~0", "expected an integer"},
      {"/lists/z/0", "expected an integer"},
      {"/address/at", "must have 2 elements"},
      {"/address/city", "is required"},
      {"/note", "expected a string"}};
  EXPECT_FALSE(wrong.is_malformed());
  ASSERT_EQ(wrong.size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(wrong[i].pointer, expected[i].first);
    EXPECT_EQ(wrong[i].message, expected[i].second);
  }
  EXPECT_EQ(wrong[0].line, 1u);
  EXPECT_EQ(wrong[0].column, 7u);
  EXPECT_EQ(wrong[1].line, 2u);
  EXPECT_EQ(wrong[1].column, 11u);
  EXPECT_EQ(wrong[7].line, 3u);
  EXPECT_EQ(wrong[7].column, 9u);
}

TEST(JsonParse, says_only_what_is_no_JSON_where_something_is_not) {
  const Violations wrong = wrong_of<Order>("{\"id\":3,\n \"created\" 3}");
  EXPECT_TRUE(wrong.is_malformed());
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(wrong.error().message(), "expected ':' at line 2 column 12 (/created)");
}

TEST(JsonParse, stops_after_so_many_violations) {
  std::string text = "[";
  for (int i = 0; i < 100; ++i) text += "\"x\",";
  text += "1]";
  const Violations wrong = wrong_of<std::vector<int>>(text);
  EXPECT_EQ(wrong.size(), Violations::count_max);
  EXPECT_TRUE(wrong.has_more());
  EXPECT_FALSE(wrong.is_malformed());

  std::string nested = "[";
  for (int i = 0; i < 100; ++i) nested += "{\"b\":2},";
  nested += "{}]";
  EXPECT_EQ(wrong_of<std::vector<Some>>(nested).size(), Violations::count_max);
}

TEST(JsonParse, goes_on_behind_a_value_that_a_function_has_refused_within) {
  struct Bill {
    Money net;
    Money tax;
    int count;
  };
  EXPECT_EQ(error_of<Bill>(R"({"net":{"cents":-1,"x":[{"y":1}],"z":[2]},"tax":{"cents":"2"},"count":"3"})"),
            "/net/cents must not be negative; /tax/cents: expected an integer; /count: expected an integer");
  EXPECT_TRUE(wrong_of<Bill>(R"({"net":{"cents":-1,"x":[{"y":1]},"tax":{"cents":2},"count":3})").is_malformed());
  const Bill bill = json::parse<Bill>(R"({"net":{"cents":1,"x":[]},"tax":{"cents":2},"count":3})").value();
  EXPECT_EQ(bill.net.cents + bill.tax.cents + bill.count, 6);
}

struct Node {
  int value;
  std::vector<Node> children;
};

TEST(JsonParse, bounds_the_depth_of_structs_that_contain_themselves) {
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += R"({"value":1,"children":[)";
    for (int i = 0; i < depth; ++i) text += "]}";
    return text;
  };
  EXPECT_TRUE(json::parse<Node>(nested(64)).is_ok());
  const Violations wrong = wrong_of<Node>(nested(65));
  EXPECT_TRUE(wrong.is_malformed());
  EXPECT_EQ(wrong[0].message, "nested too deeply");
  EXPECT_TRUE(json::parse<Node>(nested(3), {.depth_max = 6}).is_ok());
  EXPECT_FALSE(json::parse<Node>(nested(3), {.depth_max = 5}).is_ok());
}

struct Many {
  int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9;
  int c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9;
};

TEST(JsonParse, finds_each_of_forty_fields_in_any_order) {
  std::string backwards = "{";
  for (char letter = 'd'; letter >= 'a'; --letter) {
    for (char digit = '9'; digit >= '0'; --digit) {
      backwards += std::string("\"") + letter + digit + "\":" + std::to_string((letter - 'a') * 10 + digit - '0') + ",";
    }
  }
  backwards.back() = '}';
  const Many many = json::parse<Many>(backwards).value();
  EXPECT_EQ(many.a0, 0);
  EXPECT_EQ(many.c3, 23);
  EXPECT_EQ(many.d9, 39);
  EXPECT_EQ(wrong_of<Many>("{}").size(), Violations::count_max);
}

}  // namespace
}  // namespace keel::json_parse_test
