#include "keel/data/record.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "keel/base/testing/allocation_count.h"
#include "keel/data/cbor.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"
#include "keel/data/message_pack.h"
#include "keel/data/record_fields.h"

namespace keel::record_test {
namespace {

using namespace std::string_view_literals;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* const at = reinterpret_cast<const std::byte*>(text.data());
  return {at, at + text.size()};
}
const Uuid id = *Uuid::parse("0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50");
const Timestamp at = *Timestamp::parse("2026-11-24T12:00:37.250Z");

Record every_kind() {
  Record record;
  const auto set = [&](std::string_view path, const Record::Input& value) {
    const Result<> done = record.set(path, value);
    ASSERT_TRUE(done.is_ok()) << path;
  };
  set("null", nullptr);
  set("flag", true);
  set("i8", std::int8_t{-8});
  set("i16", std::int16_t{-1600});
  set("i32", std::int32_t{-320000});
  set("i64", std::numeric_limits<std::int64_t>::min());
  set("u8", std::uint8_t{200});
  set("u16", std::uint16_t{60000});
  set("u32", std::uint32_t{4000000000});
  set("u64", std::numeric_limits<std::uint64_t>::max());
  set("single", 21.5f);
  set("real", 0.1);
  set("short", "text");
  set("long", "a text that has more than twenty-two bytes");
  set("raw", bytes_of("\x00\xff"sv));
  set("time", at);
  set("id", id);
  set("list", {1, "two", {3.5, nullptr}});
  set("nested.deeper.value", 7);
  return record;
}

std::string error_of(const auto& result) { return result ? "" : std::string(result.error().message()); }

TEST(Record, keeps_values_with_their_types) {
  const Record record = every_kind();
  const auto kind = [&](std::string_view path) { return Record::name_of(record.at(path)->kind()); };
  EXPECT_EQ(kind("null"), "null");
  EXPECT_EQ(kind("flag"), "bool");
  EXPECT_EQ(kind("i8"), "int8");
  EXPECT_EQ(kind("i16"), "int16");
  EXPECT_EQ(kind("i32"), "int32");
  EXPECT_EQ(kind("i64"), "int64");
  EXPECT_EQ(kind("u8"), "uint8");
  EXPECT_EQ(kind("u16"), "uint16");
  EXPECT_EQ(kind("u32"), "uint32");
  EXPECT_EQ(kind("u64"), "uint64");
  EXPECT_EQ(kind("single"), "float");
  EXPECT_EQ(kind("real"), "double");
  EXPECT_EQ(kind("short"), "string");
  EXPECT_EQ(kind("raw"), "bytes");
  EXPECT_EQ(kind("time"), "time");
  EXPECT_EQ(kind("id"), "uuid");
  EXPECT_EQ(kind("list"), "array");
  EXPECT_EQ(kind("nested.deeper"), "record");

  EXPECT_EQ(*record.get<bool>("flag"), true);
  EXPECT_EQ(*record.get<std::int8_t>("i8"), -8);
  EXPECT_EQ(*record.get<std::int64_t>("i64"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(*record.get<std::uint64_t>("u64"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(*record.get<float>("single"), 21.5f);
  EXPECT_EQ(*record.get<double>("single"), 21.5);
  EXPECT_EQ(*record.get<double>("real"), 0.1);
  EXPECT_EQ(*record.get<std::string>("long"), "a text that has more than twenty-two bytes");
  EXPECT_EQ(record.get<std::span<const std::byte>>("raw")->size(), 2u);
  EXPECT_EQ(*record.get<Timestamp>("time"), at);
  EXPECT_EQ(*record.get<Uuid>("id"), id);
  EXPECT_EQ(*record.get<std::string_view>("list[1]"), "two");
  EXPECT_EQ(*record.get<double>("list[2][0]"), 3.5);
  EXPECT_EQ(*record.at("nested")->get<int>("deeper.value"), 7);
  EXPECT_EQ(record.at("list")->elements().size(), 3u);
}

TEST(Record, gives_a_number_as_every_type_that_holds_it) {
  Record record;
  ASSERT_TRUE(record.set("n", 300).is_ok());
  EXPECT_EQ(*record.get<std::uint16_t>("n"), 300);
  EXPECT_EQ(*record.get<float>("n"), 300.0f);
  EXPECT_EQ(error_of(record.get<std::uint8_t>("n")), "n: 300 does not fit into a uint8");
  EXPECT_EQ(error_of(record.get<std::int8_t>("n")), "n: 300 does not fit into an int8");
  ASSERT_TRUE(record.set("n", -1).is_ok());
  EXPECT_EQ(error_of(record.get<std::uint64_t>("n")), "n: -1 does not fit into a uint64");
  ASSERT_TRUE(record.set("n", std::numeric_limits<std::uint64_t>::max()).is_ok());
  EXPECT_EQ(error_of(record.get<std::int64_t>("n")), "n: 18446744073709551615 does not fit into an int64");
  EXPECT_EQ(error_of(record.get<double>("n")), "n: 18446744073709551615 does not fit into a double");
  ASSERT_TRUE(record.set("n", std::numeric_limits<std::int64_t>::max()).is_ok());
  EXPECT_EQ(error_of(record.get<double>("n")), "n: 9223372036854775807 does not fit into a double");
  ASSERT_TRUE(record.set("n", 0.1).is_ok());
  EXPECT_EQ(error_of(record.get<float>("n")), "n: 0.1 does not fit into a float");
  EXPECT_EQ(error_of(record.get<int>("n")), "n: 0.1 does not fit into an int32");
  ASSERT_TRUE(record.set("n", 2.0).is_ok());
  EXPECT_EQ(*record.get<int>("n"), 2);
  ASSERT_TRUE(record.set("n", 1e300).is_ok());
  EXPECT_EQ(error_of(record.get<std::uint64_t>("n")), "n: 1e+300 does not fit into a uint64");
  EXPECT_EQ(error_of(record.get<float>("n")), "n: 1e+300 does not fit into a float");
  ASSERT_TRUE(record.set("n", std::nan("")).is_ok());
  EXPECT_TRUE(std::isnan(*record.get<float>("n")));
  EXPECT_EQ(error_of(record.get<std::int64_t>("n")), "n: nan does not fit into an int64");
}

TEST(Record, says_the_path_and_both_types) {
  const Record record = every_kind();
  EXPECT_EQ(error_of(record.get<double>("list[1]")), "list[1]: is a string, not a double");
  EXPECT_EQ(error_of(record.get<bool>("raw")), "raw: is bytes, not a bool");
  EXPECT_EQ(error_of(record.get<Uuid>("i8")), "i8: is an int8, not a uuid");
  EXPECT_EQ(error_of(record.get<Timestamp>("null")), "null: is null, not a time");
  EXPECT_EQ(error_of(record.get<Timestamp>("short")).substr(0, 7), "short: ");
  EXPECT_EQ(error_of(record.get<std::string_view>("list")), "list: is an array, not a string");
  EXPECT_EQ(error_of(record.get<int>("nested.other")), "nested.other is missing");
  EXPECT_EQ(error_of(record.get<int>("list[3]")), "list[3] is missing");
  EXPECT_EQ(error_of(record.get<int>("list[x]")), "\"list[x]\" is not a path such as \"a.b[2]\"");
  for (const std::string_view path :
       {"", ".", "a.", ".a", "a..b", "[0]", "a[", "a[]", "a[0", "a[0]b", "a[-1]", "a\\"}) {
    EXPECT_EQ(error_of(record.get<int>(path)), "\"" + std::string(path) + "\" is not a path such as \"a.b[2]\"");
    EXPECT_FALSE(record.contains(path));
    Record other = record;
    EXPECT_EQ(error_of(other.set(path, 1)), "\"" + std::string(path) + "\" is not a path such as \"a.b[2]\"") << path;
    EXPECT_EQ(other, record);
    EXPECT_FALSE(other.remove(path));
  }
}

TEST(Record, takes_a_string_as_a_time_and_bytes_as_a_uuid) {
  Record record;
  ASSERT_TRUE(record.set("at", std::string_view(at.text())).is_ok());
  ASSERT_TRUE(record.set("id", std::span<const std::byte>(id.bytes())).is_ok());
  EXPECT_EQ(*record.get<Timestamp>("at"), at);
  EXPECT_EQ(*record.get<Uuid>("id"), id);
  ASSERT_TRUE(record.set("id", std::string_view(id.text())).is_ok());
  EXPECT_EQ(*record.get<Uuid>("id"), id);
}

TEST(Record, sets_appends_and_removes_by_path) {
  Record record;
  ASSERT_TRUE(record.set("a.b[0].c", 1).is_ok());
  ASSERT_TRUE(record.set("a.b[1]", "x").is_ok());
  ASSERT_TRUE(record.append("a.b", true).is_ok());
  ASSERT_TRUE(record.append("a.d", 2).is_ok());
  EXPECT_EQ(record.text(), R"(a: {b: [{c: 1}, "x", true], d: [2]})");
  EXPECT_EQ(error_of(record.set("a.b[5]", 1)), "a.b[5] is missing: a.b has 3 elements");
  EXPECT_EQ(error_of(record.set("a.e[1]", 1)), "a.e is missing");
  EXPECT_EQ(error_of(record.set("a.b.c", 1)), "a.b: is an array, not a record");
  EXPECT_EQ(error_of(record.set("a[0]", 1)), "a: is a record, not an array");
  EXPECT_EQ(error_of(record.append("a.b[1]", 1)), "a.b[1]: is a string, not an array");
  EXPECT_EQ(record.text(), R"(a: {b: [{c: 1}, "x", true], d: [2]})");
  EXPECT_TRUE(record.remove("a.b[0]"));
  EXPECT_FALSE(record.remove("a.b[2]"));
  EXPECT_TRUE(record.remove("a.d"));
  EXPECT_EQ(record.text(), R"(a: {b: ["x", true]})");
  EXPECT_TRUE(record.remove("a"));
  EXPECT_TRUE(record.empty());
}

TEST(Record, spells_names_with_dots_by_backslash) {
  Record record;
  ASSERT_TRUE(record.set("a\\.b.c\\[0\\]", 1).is_ok());
  EXPECT_NE(record.find("a.b"), nullptr);
  EXPECT_EQ(*record.get<int>("a\\.b.c\\[0\\]"), 1);
  EXPECT_EQ(record.text(), R"("a.b": {"c[0]": 1})");
}

TEST(Record, sets_what_is_of_itself) {
  Record record;
  ASSERT_TRUE(record.set("a.b", "a text that has more than twenty-two bytes").is_ok());
  ASSERT_TRUE(record.set("a", *record.at("a.b")).is_ok());
  EXPECT_EQ(*record.get<std::string_view>("a"), "a text that has more than twenty-two bytes");
  ASSERT_TRUE(record.set("whole", record).is_ok());
  EXPECT_EQ(*record.get<std::string_view>("whole.a"), "a text that has more than twenty-two bytes");
  for (int i = 0; i < 40; ++i) {  // The name is in the memory that goes when it grows.
    ASSERT_TRUE(record.set("n" + std::to_string(i), (*record.begin()).name).is_ok());
    ASSERT_TRUE(record.set((*record.begin()).name, i).is_ok());
  }
  EXPECT_EQ(*record.get<int>("a"), 39);
  EXPECT_EQ(record.size(), 42u);
}

TEST(Record, merges_records_field_by_field) {
  Record one;
  Record other;
  ASSERT_TRUE(one.set("keep", 1).is_ok());
  ASSERT_TRUE(one.set("in.keep", 1).is_ok());
  ASSERT_TRUE(one.set("in.change", 1).is_ok());
  ASSERT_TRUE(other.set("in.change", "a text that has more than twenty-two bytes").is_ok());
  ASSERT_TRUE(other.set("in.more", {1, 2}).is_ok());
  ASSERT_TRUE(other.set("new.more", 3).is_ok());
  one.merge(other);
  EXPECT_EQ(
      one.text(),
      R"(keep: 1, in: {keep: 1, change: "a text that has more than twenty-two bytes", more: [1, 2]}, new: {more: 3})");
  one.merge(one);
}

TEST(Record, compares_numbers_and_not_their_types) {
  Record a;
  Record b;
  ASSERT_TRUE(a.set("x", 1).is_ok());
  ASSERT_TRUE(a.set("y", {1u, -1, 0.5f}).is_ok());
  ASSERT_TRUE(b.set("y", {1.0, std::int8_t{-1}, 0.5}).is_ok());
  ASSERT_TRUE(b.set("x", std::uint64_t{1}).is_ok());
  EXPECT_EQ(a, b);
  ASSERT_TRUE(b.set("x", std::numeric_limits<std::uint64_t>::max()).is_ok());
  ASSERT_TRUE(a.set("x", -1).is_ok());
  EXPECT_NE(a, b);
  ASSERT_TRUE(a.set("x", 0x1p64).is_ok());
  EXPECT_NE(a, b);
  ASSERT_TRUE(a.set("x", "1").is_ok());
  EXPECT_NE(a, b);
  ASSERT_TRUE(a.set("x", at).is_ok());
  ASSERT_TRUE(b.set("x", at).is_ok());
  EXPECT_EQ(a, b);
  ASSERT_TRUE(b.set("z", nullptr).is_ok());
  EXPECT_NE(a, b);
}

TEST(Record, finds_among_many_fields_in_any_order) {
  Record record;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(record.set("field" + std::to_string(i * 7919 % 1000), i).is_ok());
  EXPECT_EQ(record.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(*record.get<int>("field" + std::to_string(i * 7919 % 1000)), i);
  EXPECT_EQ(record.find("field1000"), nullptr);
  for (int i = 0; i < 1000; i += 2) ASSERT_TRUE(record.remove("field" + std::to_string(i)));
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(record.contains("field" + std::to_string(i)), i % 2 == 1);
  EXPECT_EQ((*record.begin()).name, "field919");  // The first that is left: the order is that of setting.
  const Result<Record> again = cbor::parse<Record>(cbor::write(record));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, record);
  EXPECT_EQ((*again->begin()).name, "field1");
}

TEST(Record, is_the_same_in_every_format) {
  const Record record = every_kind();
  EXPECT_EQ(*cbor::parse<Record>(cbor::write(record)), record);
  const Result<Record> packed = message_pack::parse<Record>(message_pack::write(record));
  ASSERT_TRUE(packed);
  EXPECT_EQ(*packed->get<Uuid>("id"), id);
  EXPECT_EQ(packed->at("single")->kind(), Record::Kind::Float);
  EXPECT_EQ(message_pack::write(*packed), message_pack::write(record));

  const Result<Record> text = json::parse<Record>(json::write(record));
  ASSERT_TRUE(text);
  EXPECT_EQ(*text->get<Uuid>("id"), id);
  EXPECT_EQ(*text->get<Timestamp>("time"), at);
  EXPECT_EQ(*text->get<std::string_view>("raw"), "AP8");
  EXPECT_EQ(*text->get<std::uint64_t>("u64"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(json::write(*text), json::write(record));
  EXPECT_EQ(record.text(),
            "null: null, flag: true, i8: -8, i16: -1600, i32: -320000, i64: -9223372036854775808, u8: 200, u16: 60000, "
            "u32: 4000000000, u64: 18446744073709551615, single: 21.5, real: 0.1, short: \"text\", long: \"a text that "
            "has more than twenty-two bytes\", raw: h'00ff', time: 2026-11-24T12:00:37.250Z, id: "
            "0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50, list: [1, \"two\", [3.5, null]], nested: {deeper: {value: 7}}");
}

TEST(Record, is_written_deterministically) {
  Record one;
  Record other;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(one.set("k" + std::to_string(i), i).is_ok());
  for (int i = 20; i-- > 0;) ASSERT_TRUE(other.set("k" + std::to_string(i), i).is_ok());
  EXPECT_EQ(cbor::write(one), cbor::write(other));
  Record few;
  ASSERT_TRUE(few.set("bb", 1).is_ok());
  ASSERT_TRUE(few.set("c", 2).is_ok());
  ASSERT_TRUE(few.set("a", 3.0).is_ok());
  EXPECT_EQ(cbor::write(few), "\xA3\x61\x61\xF9\x42\x00\x61\x63\x02\x62\x62\x62\x01"sv);
  EXPECT_EQ(message_pack::write(few), "\x83\xA1\x61\xCB\x40\x08\0\0\0\0\0\0\xA1\x63\x02\xA2\x62\x62\x01"sv);
}

TEST(Record, reads_every_form_of_cbor) {
  const auto text = [](std::string_view bytes) {
    const Result<Record> record = cbor::parse<Record>(bytes);
    return record ? record->text() : std::string(record.error().message());
  };
  EXPECT_EQ(text("\xBF\x61\x61\x9F\x01\x02\xFF\x7F\x61\x62\x61\x63\xFF\x5F\x41\x01\x41\x02\xFF\xFF"sv),
            "a: [1, 2], bc: h'0102'");
  EXPECT_EQ(text("\xD9\xD9\xF7\xA1\x61\x61\xC2\x42\x01\x00"sv), "a: 256");
  EXPECT_EQ(text("\xA1\x61\x61\xC3\x42\x01\x00"sv), "a: -257");
  EXPECT_EQ(text("\xA1\x61\x61\xD8\x64\xD8\x65\x20"sv), "a: -1");
  EXPECT_EQ(text("\xA1\x61\x61\xC1\x00"sv), "a: 1970-01-01T00:00:00Z");
  EXPECT_EQ(text("\xA2\x61\x61\xF7\x61\x62\xF9\x7E\x00"sv), "a: null, b: nan");
  EXPECT_EQ(text("\xA0"sv), "");
  EXPECT_EQ(text("\x80"sv), "expected an object");
  EXPECT_EQ(text(""sv), "the input is empty at byte 0");
  EXPECT_EQ(text("\xA2\x61\x61\x01\x61\x61\x02"sv), "is given twice at byte 6 (/a)");
  EXPECT_EQ(text("\xA1\x61\x62\xA2\x61\x61\x01\x61\x61\x02"sv), "is given twice at byte 9 (/b/a)");
  EXPECT_EQ(text("\xA1\x61\x62\x82\x01\xE0"sv), "/b/1: cannot be represented in a Record");
  EXPECT_EQ(text("\xA1\x61\x62\x3B\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"sv), "/b: number out of range");
  EXPECT_EQ(text("\xA1\x61\x62\x81\xC0\x61\x78"sv), "/b/0: " + std::string(Timestamp::expected));
  EXPECT_EQ(text("\xA1\x61\x62\x81\xD5\xD8\x25\x41\x00"sv), "/b/0: " + std::string(Uuid::expected));
  EXPECT_EQ(text("\xA1\x61\x62\xA1\x01\x02"sv), "/b: has a key that is not a text");
  EXPECT_EQ(text("\xA1\x61\x62\x61\xFF"sv), "a text that is not UTF-8 at byte 4");
}

TEST(Record, refuses_a_field_twice_among_many) {
  std::string text = "{";
  for (int i = 0; i < 100; ++i) text += "\"k" + std::to_string(i) + "\":{},";
  const Result<Record> record = json::parse<Record>(text + "\"k50\":1}");
  ASSERT_FALSE(record);
  const std::string message(record.error().message());
  EXPECT_EQ(message.substr(0, 17), "is given twice at");
  EXPECT_NE(message.find("/k50"), std::string::npos) << message;
  EXPECT_TRUE(json::parse<Record>(text + "\"k100\":1}").is_ok());
}

struct Reading {
  Uuid device;
  Timestamp at;
  double celsius = 0;
  std::vector<std::byte> raw;
  std::vector<std::string> tags;
  std::optional<int> channel;
  Record extra;
  void rules(Check& check) const { check(celsius).range(-90, 60); }
};

TEST(Record, becomes_a_struct_and_back) {
  Reading reading{
      .device = id, .at = at, .celsius = 21.5, .raw = bytes_of("x"), .tags = {"a"}, .channel = 3, .extra = {}};
  ASSERT_TRUE(reading.extra.set("more", 1).is_ok());
  const Record record = to_record(reading);
  EXPECT_EQ(record.size(), 7u);
  EXPECT_EQ(*record.get<Uuid>("device"), id);
  EXPECT_EQ(*record.get<int>("extra.more"), 1);
  const Result<Reading> again = from_record<Reading>(record);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->tags, reading.tags);
  EXPECT_EQ(again->extra, reading.extra);

  Arena arena;
  Record wrong_one(record, arena);
  ASSERT_TRUE(wrong_one.set("celsius", 100).is_ok());
  ASSERT_TRUE(wrong_one.set("tags[0]", 7).is_ok());
  ASSERT_TRUE(wrong_one.remove("device"));
  Violations wrong;
  Reading into;
  EXPECT_FALSE(from_record(into, wrong_one, arena, wrong));
  std::string all;
  for (const Violation& one : wrong) all += one.pointer + " " + one.message + "; ";
  EXPECT_EQ(all, "/tags/0 expected a string; /device is required; /celsius must be from -90 to 60; ");
}

struct Wheel {
  std::uint8_t spokes = 0;
  float radius = 0;
  static constexpr Tag tag = {"kind", "wheel"};
};
struct Frame {
  std::int16_t size = 0;
  static constexpr Tag tag = {"kind", "frame"};
};
struct Widths {
  std::int8_t i8 = -8;
  std::int16_t i16 = 16;
  std::int32_t i32 = -32;
  std::int64_t i64 = 64;
  std::uint8_t u8 = 8;
  std::uint16_t u16 = 16;
  std::uint32_t u32 = 32;
  std::uint64_t u64 = 64;
  float single = 0.1F;
  double real = 0.1;
  bool flag = true;
  std::string text = "7";
  std::vector<std::uint8_t> list = {1, 2};
  std::array<float, 2> pair = {1, 0.5F};
  std::vector<std::byte> bytes = {std::byte{7}};
  std::map<std::string, std::uint16_t> map = {{"long", 1}, {"b", 2}};
  std::map<std::string, std::vector<Wheel>> wheels = {{"w", {{32, 0.25F}}}};
  std::optional<std::uint8_t> some = 3;
  std::optional<std::uint8_t> none;
  std::variant<Wheel, Frame> part = Frame{52};
  std::uint16_t two_words = 2;
  Record inner;
  static constexpr auto name_case = Case::Camel;
};

TEST(Record, keeps_the_widths_of_the_numbers_of_a_struct) {
  Widths widths;
  ASSERT_TRUE(widths.inner.set("list", {std::uint8_t{1}, -1, 0.5F}).is_ok());
  ASSERT_TRUE(widths.inner.set("in.u32", std::uint32_t{5}).is_ok());
  Arena arena;
  for (const Record& record : {to_record(widths), to_record(widths, arena)}) {
    const std::pair<const char*, std::string_view> kinds[] = {{"i8", "int8"},
                                                              {"i16", "int16"},
                                                              {"i32", "int32"},
                                                              {"i64", "int64"},
                                                              {"u8", "uint8"},
                                                              {"u16", "uint16"},
                                                              {"u32", "uint32"},
                                                              {"u64", "uint64"},
                                                              {"single", "float"},
                                                              {"real", "double"},
                                                              {"flag", "bool"},
                                                              {"text", "string"},
                                                              {"list[1]", "uint8"},
                                                              {"pair[0]", "float"},
                                                              {"bytes", "bytes"},
                                                              {"map.b", "uint16"},
                                                              {"map.long", "uint16"},
                                                              {"wheels.w[0].spokes", "uint8"},
                                                              {"wheels.w[0].radius", "float"},
                                                              {"some", "uint8"},
                                                              {"none", "null"},
                                                              {"part.kind", "string"},
                                                              {"part.size", "int16"},
                                                              {"twoWords", "uint16"},
                                                              {"inner.list[0]", "uint8"},
                                                              {"inner.list[1]", "int32"},
                                                              {"inner.list[2]", "float"},
                                                              {"inner.in.u32", "uint32"}};
    for (const auto& [path, kind] : kinds) {
      ASSERT_NE(record.at(path), nullptr) << path;
      EXPECT_EQ(Record::name_of(record.at(path)->kind()), kind) << path;
    }
    EXPECT_EQ(*record.get<int>("i8"), -8);
    EXPECT_EQ(*record.get<float>("single"), 0.1F);
    // The formats have no widths, and the values are equal.
    EXPECT_EQ(*cbor::parse<Record>(cbor::write(record)), record);
    EXPECT_EQ(cbor::write(record), cbor::write(widths));
    EXPECT_EQ(message_pack::write(record), message_pack::write(widths));
    EXPECT_EQ(json::parse<Record>(json::write(record))->get<int>("list[1]").value(), 2);
    EXPECT_NE(record.text().find("single: 0.1,"), std::string::npos) << record.text();
    const Result<Widths> again = from_record<Widths>(record);
    ASSERT_TRUE(again.is_ok()) << again.error().message();
    EXPECT_EQ(cbor::write(*again), cbor::write(widths));
  }
}

TEST(Record, is_checked_for_the_widths_of_a_struct) {
  Record record = to_record(Wheel{32, 0.5F});
  EXPECT_EQ(from_record<Wheel>(record)->spokes, 32);
  ASSERT_TRUE(record.set("spokes", 300).is_ok());
  EXPECT_EQ(from_record<Wheel>(record).error().message(), "/spokes: expected an integer from 0 to 255");
}

TEST(Record, is_nested_64_deep_and_no_more) {
  std::string path = "a";
  for (int i = 1; i < 64; ++i) path += ".a";
  Record record;
  ASSERT_TRUE(record.set(path, 1).is_ok());
  EXPECT_EQ(error_of(record.set(path, {1})), path + ": nested more than 64 levels deep");
  EXPECT_EQ(error_of(record.set("b" + path + ".a", 1)), "b" + path + ".a: nested more than 64 levels deep");
  EXPECT_EQ(record.size(), 1u);
  EXPECT_EQ(*cbor::parse<Record>(cbor::write(record)), record);
  EXPECT_EQ(*json::parse<Record>(json::write(record)), record);
  Record outer;
  EXPECT_EQ(error_of(outer.set("x", record)), "x: nested more than 64 levels deep");
  EXPECT_EQ(error_of(outer.set("x", *record.find("a"))), "");
  EXPECT_EQ(cbor::write(outer).size(), cbor::write(record).size());
  EXPECT_EQ(error_of(record.set("a", 1)), "");
  std::string text;
  for (int i = 0; i < 65; ++i) text += "{\"a\":";
  EXPECT_EQ(
      error_of(json::parse<Record>(text + "1" + std::string(65, '}'))).find("nested too deeply") != std::string::npos,
      true);
}

TEST(Record, copies_into_an_arena_and_out_of_it) {
  Arena arena;
  Record kept;
  {
    Record record(arena);
    ASSERT_TRUE(record.set("long", "a text that has more than twenty-two bytes").is_ok());
    ASSERT_TRUE(record.set("in.it", {1, 2}).is_ok());
    kept = record;
    Record moved(std::move(record));
    EXPECT_EQ(moved, kept);
    Record heap;
    heap = std::move(moved);  // Another memory: a copy.
    EXPECT_EQ(heap, kept);
  }
  arena.rewind();
  arena.copy(std::string(2000, 'x'));
  EXPECT_EQ(kept.text(), R"(long: "a text that has more than twenty-two bytes", in: {it: [1, 2]})");
}

Record message(Arena& arena) {
  Record record(arena);
  static_cast<void>(record.set("id", std::uint32_t{1234567}));
  static_cast<void>(record.set("name", "Ada Lovelace"));
  static_cast<void>(record.set("at", at));
  static_cast<void>(record.set("device", id));
  static_cast<void>(record.set("active", true));
  static_cast<void>(record.set("score", 97.25));
  static_cast<void>(record.set("level", std::int16_t{-3}));
  static_cast<void>(record.set("note", "a text that has more than twenty-two bytes"));
  static_cast<void>(record.set("raw", std::span<const std::byte>(id.bytes())));
  static_cast<void>(record.set("nothing", nullptr));
  return record;
}

TEST(Record, takes_nothing_of_the_heap_on_a_warm_arena) {
  Arena arena;
  Buffer out;
  Violations wrong;
  const auto once = [&] {
    arena.rewind();
    const Record record = message(arena);
    out.clear();
    cbor::write(out, record);
    Record again(arena);
    EXPECT_TRUE(cbor::read(again, out.view(), arena, wrong));
    EXPECT_EQ(again, record);
    out.clear();
    message_pack::write(out, record);
    EXPECT_TRUE(message_pack::read(again, out.view(), arena, wrong));
  };
  once();
  const std::size_t before = internal::allocations();
  once();
  EXPECT_EQ(internal::allocations() - before, 0u);
}

TEST(Record, holds_nothing_of_an_attack) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::string> attacks;
  const std::string head("\xA1\x61\x61", 3);
  attacks.push_back(head + std::string(100'000, '\x81'));  // Nested.
  attacks.push_back(head + std::string(100'000, '\x9F'));
  attacks.push_back(head + std::string(100'000, '\xC6'));            // Tags.
  attacks.push_back(head + "\x9B\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF");  // Counts and lengths.
  attacks.push_back("\xBB\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF");
  attacks.push_back(head + std::string("\x9A\x00\x01\x86\xA0", 5) +
                    std::string(100'000, '\x01').replace(99'999, 1, "\xFF"));
  attacks.push_back(head + "\x5B\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF");
  attacks.push_back(head + "\x5F");  // Chunks.
  for (int i = 0; i < 50'000; ++i) attacks.back() += "\x41\x01";
  attacks.push_back(head + std::string(100'000, '\x7F'));
  std::string twice = "\xBF";
  for (int i = 0; i < 20'000; ++i) twice += "\x61" + std::string(1, static_cast<char>('a' + i % 26)) + "\xF9";
  attacks.push_back(twice);
  for (const std::string& bytes : attacks) {
    Arena arena;
    Record record(arena);
    Violations wrong;
    const Clock::time_point begin = Clock::now();
    EXPECT_FALSE(cbor::read(record, bytes, arena, wrong));
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
    EXPECT_LE(arena.statistics().high_water, 1024u) << bytes.size();
    EXPECT_LE(static_cast<std::size_t>(took), bytes.size() + 1000);
    EXPECT_TRUE(record.empty());
  }
}

// What is wrong, without the byte, and without the name "x" that a record in another has in front.
std::string what_is_wrong(const Result<Record>& read) {
  if (read) return "";
  std::string text(read.error().message());
  if (const std::size_t from = text.find(" at byte "); from != text.npos) {
    const std::size_t behind = text.find_first_not_of("0123456789", from + 9);
    text.erase(from, behind == text.npos ? text.npos : behind - from);
  }
  for (const std::string_view name : {" (/x)", "/x: ", "/x"}) {
    if (const std::size_t from = text.find(name); from != text.npos) return text.erase(from, name.size());
  }
  return text;
}

// A record of a few short fields is read in one pass, one in another by two: both take the same bytes for the same.
TEST(Record, is_read_alike_where_it_stands_alone_and_in_another) {
  const Record whole = every_kind();
  std::vector<Record> records(4);
  std::size_t number = 0;
  for (const Record::Field field : whole) {
    ASSERT_TRUE(records[number++ / 7].set(field.name, field.value).is_ok());
  }
  ASSERT_TRUE(records[3].set("a name that is longer than twenty-two bytes", "\xC3\xA9t\xC3\xA9").is_ok());
  ASSERT_TRUE(records[3].set("also a name that is longer than those", 1).is_ok());
  const auto check = [](std::string_view bytes, std::string_view front, const auto& parse) {
    const Result<Record> alone = parse(bytes);
    const Result<Record> outer = parse(std::string(front).append(bytes));
    ASSERT_EQ(alone.is_ok(), outer.is_ok()) << what_is_wrong(alone) << " | " << what_is_wrong(outer);
    EXPECT_EQ(what_is_wrong(alone), what_is_wrong(outer));
    if (!alone) return;
    Record wrapped;
    ASSERT_TRUE(wrapped.set("x", *alone).is_ok());
    EXPECT_EQ(cbor::write(wrapped), cbor::write(*outer));
    EXPECT_EQ(wrapped.text(), outer->text());
  };
  for (const Record& record : records) {
    const std::string packed[] = {cbor::write(record), message_pack::write(record)};
    for (const std::string& bytes : packed) {
      for (std::size_t i = 1; i < bytes.size(); ++i) {
        for (const char c : "\x00\x17\x18\x41\x60\x7F\x81\x9F\xA1\xC0\xC1\xC4\xC6\xD6\xD8\xF6\xF7\xF9\xFB\xFF"sv) {
          std::string changed = bytes;
          changed[i] = c;
          if (&bytes == &packed[0]) {
            check(changed, "\xA1\x61x", [](std::string_view one) { return cbor::parse<Record>(one); });
          } else {
            check(changed, "\x81\xA1x", [](std::string_view one) { return message_pack::parse<Record>(one); });
          }
        }
      }
    }
  }
}

TEST(Record, refuses_every_cut_off_message) {
  Arena arena;
  const Record record = every_kind();
  const std::string packed[] = {cbor::write(record), message_pack::write(record)};
  for (std::size_t size = 0; size < packed[0].size(); ++size) {
    EXPECT_FALSE(cbor::parse<Record>(std::string_view(packed[0]).substr(0, size)));
  }
  for (std::size_t size = 0; size < packed[1].size(); ++size) {
    EXPECT_FALSE(message_pack::parse<Record>(std::string_view(packed[1]).substr(0, size)));
  }
}

}  // namespace
}  // namespace keel::record_test
