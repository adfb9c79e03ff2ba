#include "keel/data/json_write.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "keel/base/bug.h"
#include "keel/base/testing/allocation_count.h"
#include "keel/data/json_parse.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"

namespace keel::json_write_test {
namespace {

enum class Status { Open, Paid };
struct Line {
  std::string_view sku;
  int quantity;
};
struct Order {
  Uuid id;
  Timestamp created_at;
  Status status;
  std::vector<Line> lines;
  std::array<bool, 2> flags;
  std::vector<bool> bits;
  std::map<std::string, std::optional<double>> prices;
  std::optional<Line> gift;
  Patch<int> note;
  Patch<int> remark;
  float share;
  const int fixed = 3;
  static constexpr auto name_case = Case::Camel;
};
struct Empty {};

TEST(JsonWrite, writes_the_fields_of_a_struct_in_their_order) {
  const Order order{.id = {},
                    .created_at = {},
                    .status = Status::Paid,
                    .lines = {{"a\"b", 1}, {"c", -2}},
                    .flags = {true, false},
                    .bits = {false, true},
                    .prices = {{"a", 0.5}, {"b\n", {}}},
                    .gift = {},
                    .note = {},
                    .remark = Patch<int>::null(),
                    .share = 0.1f};
  EXPECT_EQ(
      json::write(order),
      R"({"id":"00000000-0000-0000-0000-000000000000","createdAt":"1970-01-01T00:00:00Z","status":"Paid",)"
      R"("lines":[{"sku":"a\"b","quantity":1},{"sku":"c","quantity":-2}],"flags":[true,false],"bits":[false,true],)"
      R"("prices":{"a":0.5,"b\n":null},"gift":null,"remark":null,"share":0.1,"fixed":3})");
  EXPECT_EQ(json::write(Empty()), "{}");
  EXPECT_EQ(json::write(std::vector<Empty>(2)), "[{},{}]");
}

TEST(JsonWrite, indents_for_people) {
  EXPECT_EQ(json::write_indented(Line{"a", 1}), "{\n  \"sku\": \"a\",\n  \"quantity\": 1\n}");
}

TEST(JsonWrite, writes_where_a_value_is_due_and_without_the_heap) {
  Buffer buffer;
  buffer.reserve(4096);
  const std::size_t before = internal::allocations();
  json::Writer out(buffer);
  out.begin_object().key("line");
  json::write(out, Line{"a", 1});
  out.end_object();
  EXPECT_EQ(internal::allocations(), before);
  EXPECT_EQ(buffer.view(), R"({"line":{"sku":"a","quantity":1}})");
}

TEST(JsonWrite, has_null_for_what_is_no_number) {
  EXPECT_EQ(json::write(std::vector<float>{std::numeric_limits<float>::infinity()}), "[null]");
  EXPECT_EQ(json::write(std::numeric_limits<double>::quiet_NaN()), "null");
}

struct Common {
  std::string_view view;
  std::string text;
  bool flag;
  std::int32_t number;
  std::uint32_t count;
  std::int64_t large;
  std::uint64_t larger;
  double real;
  std::vector<std::string> texts;
};

TEST(JsonWrite, writes_what_a_Writer_writes_call_by_call) {
  for (const std::string_view inside : {"", "é", "\n", "\"", "\\", "\x01", "\xFF", "\xED\xA0\x80"}) {
    for (std::size_t size = 0; size < 70; ++size) {
      for (const std::size_t front : {std::size_t{0}, size / 2, size}) {
        const std::string text = std::string(front, 'x') + std::string(inside) + std::string(size - front, 'y');
        const auto n = static_cast<std::int32_t>(size);
        const Common common{text,
                            text,
                            size % 2 == 0,
                            -n,
                            static_cast<std::uint32_t>(n),
                            n,
                            ~std::uint64_t{0},
                            n / 4.,
                            {text, "", text}};
        Buffer expected;
        json::Writer out(expected);
        out.begin_object().key("view").string(text).key("text").string(text).key("flag").boolean(size % 2 == 0);
        out.key("number").integer(-n).key("count").integer(n).key("large").integer(n);
        out.key("larger").unsigned_integer(~std::uint64_t{0}).key("real").number(n / 4.).key("texts");
        out.begin_array().string(text).string("").string(text).end_array().end_object();
        // Into a buffer that grows, from each number of bytes that it already has.
        Buffer buffer;
        buffer.append(std::string(size * 7, ' '));
        json::write(buffer, common);
        ASSERT_EQ(buffer.view().substr(size * 7), expected.view());
      }
    }
  }
}

TEST(JsonWrite, throws_a_Bug_for_an_enum_without_a_name) { EXPECT_THROW(json::write(static_cast<Status>(7)), Bug); }

TEST(JsonWrite, writes_what_is_read_back_equal_at_the_edges) {
  const auto round = [](auto value) {
    using T = decltype(value);
    const std::string text = json::write(value);
    EXPECT_EQ(json::parse<T>(text).value(), value) << text;
  };
  const auto edges = [&]<class T>(T) {
    round(std::numeric_limits<T>::min());
    round(std::numeric_limits<T>::max());
    round(std::numeric_limits<T>::lowest());
    round(std::numeric_limits<T>::denorm_min());
  };
  edges(std::int8_t());
  edges(std::uint8_t());
  edges(std::int16_t());
  edges(std::uint16_t());
  edges(std::int32_t());
  edges(std::uint32_t());
  edges(std::int64_t());
  edges(std::uint64_t());
  edges(float());
  edges(double());
  round(std::string("\0\x1f\"\\/ä😀", 12));
}

}  // namespace
}  // namespace keel::json_write_test
