#include "keel/data/json_value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "keel/base/bug.h"
#include "keel/base/testing/allocation_count.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"

namespace keel::json_value_test {
namespace {

using json::Kind;
using json::Value;

Value parse(std::string_view text) { return json::parse<Value>(text).value(); }
std::string error_of(std::string_view text, json::ReaderOptions options = {}) {
  const Result<Value> value = json::parse<Value>(text, options);
  return value ? "" : std::string(value.error().message());
}

constexpr std::string_view event_text =
    R"({"order":{"id":17,"lines":[{"sku":"AB","quantity":2},{"sku":"a string of twenty-four","quantity":-1}]},)"
    R"("paid":true,"note":null,"total":12.5,"large":18446744073709551615,"a/b":{"~":"x"},"empty":[{},[],""]})";

TEST(JsonValue, reads_any_document_and_writes_it_as_it_was) {
  const Value event = parse(event_text);
  EXPECT_EQ(json::write(event), event_text);
  EXPECT_EQ(event.kind(), Kind::Object);
  EXPECT_EQ(event.size(), 7u);
  EXPECT_EQ(event.find("paid")->boolean(), true);
  EXPECT_TRUE(event.find("note")->is_null());
  EXPECT_EQ(event.find("total")->number(), 12.5);
  EXPECT_EQ(event.find("large")->uint64(), 18446744073709551615u);
  EXPECT_EQ(event.at("/order/lines/1/sku")->string(), "a string of twenty-four");
  std::vector<std::string> keys;
  for (const auto& [key, value] : event.members()) keys.emplace_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"order", "paid", "note", "total", "large", "a/b", "empty"}));
  for (const std::string_view scalar : {"null", "true", "false", "0", "-1", "0.5", R"("")", R"("a\"b")", "[]", "{}"}) {
    EXPECT_EQ(json::write(parse(scalar)), scalar);
  }
}

TEST(JsonValue, is_looked_into_by_pointer) {
  const Value event = parse(event_text);
  EXPECT_EQ(event.at(""), &event);
  EXPECT_EQ(event.at("/order/lines/0/quantity")->int64(), 2);
  EXPECT_EQ(event.at("/a~1b/~0")->string(), "x");
  for (const std::string_view none :
       {"order", "/", "/orders", "/order/lines/2", "/order/lines/-1", "/order/lines/00", "/order/lines/",
        "/order/lines/99999999999999999999", "/paid/x", "/order/lines/0/"}) {
    EXPECT_EQ(event.at(none), nullptr) << none;
  }
  EXPECT_EQ(parse(R"({"":{"":1}})").at("//")->int64(), 1);
}

TEST(JsonValue, says_what_is_not_as_asked_for_with_its_pointer) {
  const Value event = parse(event_text);
  EXPECT_EQ(event.get<int>("/order/lines/0/quantity").value(), 2);
  EXPECT_EQ(event.get<std::string>("/order/lines/0/sku").value(), "AB");
  EXPECT_EQ(event.get<std::string_view>("/order/lines/0/sku").value(), "AB");
  EXPECT_EQ(event.get<bool>("/paid").value(), true);
  EXPECT_EQ(event.get<double>("/order/id").value(), 17.0);
  EXPECT_EQ(event.get<std::uint64_t>("/large").value(), 18446744073709551615u);
  EXPECT_EQ(Value(3).get<std::int8_t>().value(), 3);

  const auto said = [](const auto& result) { return std::string(result.error().message()); };
  EXPECT_EQ(said(event.get<int>("/order/lines/2/sku")), "/order/lines/2/sku is missing");
  EXPECT_EQ(said(event.get<int>("/order/lines/0/sku")), "/order/lines/0/sku: expected an integer");
  EXPECT_EQ(said(event.get<std::string>("/paid")), "/paid: expected a string");
  EXPECT_EQ(said(event.get<bool>("/note")), "/note: expected true or false");
  EXPECT_EQ(said(event.get<double>("/order")), "/order: expected a number");
  EXPECT_EQ(said(event.get<int>("/total")), "/total: expected an integer");
  EXPECT_EQ(said(event.get<std::int64_t>("/large")),
            "/large: expected an integer from -9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(said(event.get<std::uint8_t>("/order/lines/1/quantity")),
            "/order/lines/1/quantity: expected an integer from 0 to 255");
  EXPECT_EQ(said(Value(300).get<std::uint8_t>()), "expected an integer from 0 to 255");
  EXPECT_EQ(said(Value(-1).get<std::uint8_t>()), "expected an integer from 0 to 255");
  EXPECT_EQ(said(Value(1.5).get<std::uint8_t>()), "expected an integer");
  EXPECT_EQ(said(Value("x").get<bool>()), "expected true or false");
  EXPECT_EQ(event.get<int>("/x").error().code(), Code::InvalidArgument);
}

TEST(JsonValue, is_built_from_lists) {
  const std::string name = "Ada";
  const Value user = Value::object({{"id", 7},
                                    {"name", name},
                                    {"score", 0.5f},
                                    {"admin", false},
                                    {"tags", Value::array({"a", std::string_view("b"), 3u, nullptr})},
                                    {"none", {}}});
  EXPECT_EQ(json::write(user),
            R"({"id":7,"name":"Ada","score":0.5,"admin":false,"tags":["a","b",3,null],"none":null})");
  EXPECT_EQ(json::write(Value::array()), "[]");
  EXPECT_EQ(json::write(Value::object()), "{}");
  EXPECT_THROW(Value::object({{"a", 1}, {"a", 2}}), Bug);
}

TEST(JsonValue, is_changed_in_place) {
  Value value;
  value["a"] = 1;
  value["b"]["c"] = "x";
  value["list"].push_back(1);
  value["list"].push_back(Value::object({{"y", true}}))["y"] = false;
  value["a"] = 2;
  EXPECT_EQ(json::write(value), R"({"a":2,"b":{"c":"x"},"list":[1,{"y":false}]})");
  EXPECT_TRUE(value.erase("b"));
  EXPECT_FALSE(value.erase("b"));
  EXPECT_EQ(json::write(value), R"({"a":2,"list":[1,{"y":false}]})");
  value.find("list")->elements()[0] = "first";
  EXPECT_EQ(json::write(value), R"({"a":2,"list":["first",{"y":false}]})");

  Value number(1);
  EXPECT_THROW(number["a"], Bug);
  EXPECT_THROW(number.push_back(1), Bug);
  EXPECT_THROW(Value::array()["a"], Bug);
  EXPECT_FALSE(number.erase("a"));
  Value emptied = Value::object({{"only", 1}});
  emptied.erase("only");
  Value copied = emptied;
  copied["again"] = 1;
  EXPECT_EQ(json::write(copied), R"({"again":1})");
}

TEST(JsonValue, keeps_the_order_of_many_members_and_finds_each) {
  Value value;
  for (int i = 0; i < 1000; ++i) value["key" + std::to_string(i * 7919 % 1000)] = i;
  for (int i = 0; i < 1000; i += 3) EXPECT_TRUE(value.erase("key" + std::to_string(i)));
  EXPECT_EQ(value.size(), 666u);
  const Value again = parse(json::write(value));
  const Value copied = value;
  for (int i = 0; i < 1000; ++i) {
    const std::string key = "key" + std::to_string(i);
    for (const Value* one : {&std::as_const(value), &again, &copied}) {
      const Value* const found = one->find(key);
      ASSERT_EQ(found != nullptr, i % 3 != 0) << i;
      if (found != nullptr) {
        EXPECT_EQ(*found->int64() * 7919 % 1000, i);
      }
    }
  }
  EXPECT_EQ(again, value);
  EXPECT_EQ(copied, value);
  std::int64_t before = -1;
  for (const auto& [key, member] : again.members()) {
    EXPECT_GT(*member.int64(), before);
    before = *member.int64();
  }
}

TEST(JsonValue, refuses_a_member_that_is_given_twice_at_its_place) {
  EXPECT_EQ(error_of(R"({"a":1,"b":2,"a":3})"), "is given twice at line 1 column 18 (/a)");
  EXPECT_EQ(error_of(R"([{"x":{"b":2,"\u0062":{}, "c":1}}])"), "is given twice at line 1 column 23 (/0/x/b)");
  std::string many = "{";
  for (int i = 0; i < 100; ++i) many += "\"k" + std::to_string(i) + "\":[" + std::to_string(i) + "],\n";
  EXPECT_EQ(error_of(many + "\"k7\":0,\"k9\":0}"), "is given twice at line 101 column 6 (/k7)");
  EXPECT_EQ(error_of(many + "\"k7x\":0}"), "");
}

TEST(JsonValue, is_as_strict_as_the_reader_and_bounded) {
  EXPECT_EQ(error_of("[1,]"), "expected a value at line 1 column 4 (/1)");
  EXPECT_EQ(error_of("01").substr(0, 26), "number with a leading zero");
  EXPECT_EQ(error_of("1e999"), "number out of range");
  EXPECT_EQ(error_of("{} x"), "unexpected text after the value at line 1 column 4");
  EXPECT_EQ(error_of(std::string(128, '[') + std::string(128, ']')), "");
  EXPECT_EQ(error_of(std::string(129, '[') + std::string(129, ']')).substr(0, 17), "nested too deeply");
  EXPECT_EQ(error_of("[[1]]", {.depth_max = 1}).substr(0, 17), "nested too deeply");
  EXPECT_EQ(error_of("[1, 2]", {.bytes_max = 6}), "");
  EXPECT_EQ(error_of("[1, 2]", {.bytes_max = 5}), "the text is longer than allowed at line 1 column 1");
  for (std::size_t size = 0; size < event_text.size(); ++size) EXPECT_NE(error_of(event_text.substr(0, size)), "");
}

TEST(JsonValue, keeps_integers_exact_and_other_numbers_as_doubles) {
  for (const std::string_view text :
       {"-9223372036854775808", "9223372036854775807", "9223372036854775808", "18446744073709551615",
        "9007199254740993", "-0", "5e-324", "1.7976931348623157e+308", "0.1"}) {
    EXPECT_EQ(json::write(parse(text)), text);
  }
  EXPECT_EQ(json::write(parse("18446744073709551616")), "18446744073709551616");  // 2^64: a double, exact by chance.
  EXPECT_EQ(parse("-9223372036854775809").int64(), std::int64_t{std::numeric_limits<std::int64_t>::min()});
  EXPECT_TRUE(std::signbit(*parse("-0").number()));
  EXPECT_EQ(parse("1.0").int64(), 1);
  EXPECT_EQ(parse("1e3").uint64(), 1000u);
  EXPECT_EQ(parse("1.5").int64(), std::nullopt);
  EXPECT_EQ(parse("-1").uint64(), std::nullopt);
  EXPECT_EQ(parse("1e19").int64(), std::nullopt);
  EXPECT_EQ(json::write(Value(std::numeric_limits<double>::quiet_NaN())), "null");
}

TEST(JsonValue, compares_numbers_by_value_and_objects_without_their_order) {
  EXPECT_EQ(Value(1), Value(1.0));
  EXPECT_EQ(Value(1u), 1);
  EXPECT_NE(Value(1), Value(1.5));
  EXPECT_NE(Value(std::int64_t{9007199254740993}), Value(9007199254740992.0));
  EXPECT_EQ(Value(18446744073709549568u), Value(18446744073709549568.0));
  EXPECT_NE(Value(18446744073709551615u), Value(18446744073709551616.0));
  EXPECT_NE(Value(-1), Value(18446744073709551615u));
  EXPECT_EQ(Value(std::numeric_limits<std::int64_t>::min()), Value(-0x1p63));
  EXPECT_NE(Value(0), Value(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_NE(Value(0), Value(false));
  EXPECT_NE(Value("1"), Value(1));
  EXPECT_EQ(parse(R"({"a":1,"b":[2]})"), parse(R"({"b":[2.0],"a":1})"));
  EXPECT_NE(parse(R"({"a":1})"), parse(R"({"b":1})"));
  EXPECT_NE(parse(R"({"a":1})"), parse(R"({"a":1,"b":1})"));
  EXPECT_NE(parse("[1,2]"), parse("[2,1]"));
}

TEST(JsonValue, is_copied_moved_and_assigned_from_within_itself) {
  Value value = parse(event_text);
  Value copied = value;
  EXPECT_EQ(copied, value);
  copied["order"]["id"] = 18;
  EXPECT_NE(copied, value);
  Value moved = std::move(copied);
  EXPECT_TRUE(copied.is_null());  // NOLINT(bugprone-use-after-move)
  moved = std::move(*moved.find("order"));
  EXPECT_EQ(moved.at("/id")->int64(), 18);
  value = *value.find("order");
  EXPECT_EQ(value.at("/lines/0/sku")->string(), "AB");
  Value& self = value;
  value = std::move(self);
  value = self;
  EXPECT_EQ(value.at("/lines/0/sku")->string(), "AB");
  const std::string_view inner = *value.at("/lines/1/sku")->string();
  value[inner] = 1;
  EXPECT_EQ(value.find("a string of twenty-four")->int64(), 1);
  EXPECT_TRUE(value.erase((*value.members().begin()).key));
}

TEST(JsonValue, takes_sixteen_bytes_and_one_allocation_for_a_list) {
  static_assert(sizeof(Value) == 16);
  std::string text = "[";
  for (int i = 0; i < 1000; ++i) text += "\"fourteen bytes\",";
  text.back() = ']';
  Value value = parse(text);
  const std::size_t before = internal::allocations();
  Value copied = value;
  EXPECT_LE(internal::allocations() - before, 1u);
  EXPECT_EQ(copied.elements()[999].string(), "fourteen bytes");
}

TEST(JsonValue, nested_without_end_is_destroyed_but_not_copied_compared_or_written) {
  const auto nested = [](int depth) {
    Value value;
    for (int i = 0; i < depth; ++i) {
      Value outer;
      if (i % 2 == 0) {
        outer.push_back(std::move(value));
      } else {
        outer["a key that is not short"] = std::move(value);
      }
      value = std::move(outer);
    }
    return value;
  };
  const Value deep = nested(1'000'000);
  EXPECT_THROW(json::write(deep), Bug);
  EXPECT_THROW(Value{deep}, Bug);
  EXPECT_THROW((void)(deep == nested(200)), Bug);
  const Value allowed = nested(128);
  EXPECT_EQ(parse(json::write(allowed)), allowed);
  EXPECT_EQ(Value(allowed), allowed);
  EXPECT_THROW(json::write(nested(129)), Bug);
}

struct Event {
  std::string name;
  Value payload;
  std::optional<Value> context;
  std::vector<Value> list;
  static constexpr std::string_view optional_fields[] = {"list"};
};

TEST(JsonValue, is_a_field_of_a_struct) {
  const std::string_view text = R"({"name":"n","payload":{"a":[1,{"b":null}]},"context":null,"list":[1,"x",{}]})";
  const Event event = json::parse<Event>(text).value();
  EXPECT_EQ(event.payload.at("/a/0")->int64(), 1);
  EXPECT_EQ(event.context, std::nullopt);
  EXPECT_EQ(event.list[1].string(), "x");
  EXPECT_EQ(json::write(event), text);
  EXPECT_EQ(json::parse<Event>(R"({"payload":{"a":1e999},"name":3})").error().message(),
            "/payload/a: number out of range; /name: expected a string");
  EXPECT_EQ(json::parse<Event>(R"({"name":"n"})").error().message(), "/payload is required");
  EXPECT_EQ(json::parse<Event>(R"({"payload":{"a":1,"a":2},"name":3})").error().message(),
            "is given twice at line 1 column 23 (/payload/a)");
}

TEST(JsonValue, the_key_of_a_member_is_a_value_as_well) {
  const Value value = Value::object({{"a key of more than fourteen bytes", 1}});

  EXPECT_EQ(value.members().begin().name(), Value("a key of more than fourteen bytes"));
}

}  // namespace
}  // namespace keel::json_value_test
