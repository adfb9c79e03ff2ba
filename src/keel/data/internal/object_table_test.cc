// What generated sources are made of; tools/keel/gen/shapes_test.cc has the rest of it.

#include "keel/data/internal/object_table.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "keel/data/date.h"
#include "keel/data/json_value.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"

namespace keel::object_table_test {
namespace {

using namespace keel::json::internal;

// A struct of 70 members, "m0" to "m69", whose other members are kept.
struct Wide {
  std::int64_t members[70] = {};
  std::map<std::string, std::int64_t> others;

  void read_json(json::Reader& in, Violations& wrong);
};
struct WideKeys {
  char text[70][8] = {};
  ObjectMember members[70] = {};
};
constexpr WideKeys wide_keys = [] {
  WideKeys keys;
  for (int i = 0; i < 70; ++i) {
    char* to = keys.text[i];
    *to++ = '"';
    *to++ = 'm';
    if (i >= 10) *to++ = static_cast<char>('0' + i / 10);
    *to++ = static_cast<char>('0' + i % 10);
    *to++ = '"';
    *to++ = ':';
  }
  return keys;
}();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
consteval auto wide_members() {
  ObjectMember members[70] = {};
  for (std::size_t i = 0; i < 70; ++i) {
    members[i] = {std::string_view(wide_keys.text[i]), offsetof(Wide, members) + sizeof(std::int64_t) * i, of::int64,
                  i % 69 == 0 ? of::required : of::present};
  }
  return WideMembers<70>(members);
}
constexpr WideMembers<70> members_of_wide = wide_members();
constexpr of::Others others_of_wide = {offsetof(Wide, others), read_other<std::int64_t, read_value<std::int64_t>>,
                                       write_others<std::int64_t, write_value<std::int64_t>>};
#pragma GCC diagnostic pop
constexpr WideTable table_of_wide = members_of_wide.wide_table(false, &others_of_wide);
void Wide::read_json(json::Reader& in, Violations& wrong) { read_object(in, table_of_wide, this, wrong); }

std::vector<std::string> wrong_of(Wide& value, std::string_view text) {
  Arena arena;
  Violations wrong;
  read_text(text, arena, {}, &read_field<Wide>, &value, wrong);
  std::vector<std::string> lines;
  for (const Violation& one : wrong) lines.push_back(one.pointer + ' ' + one.message);
  return lines;
}
using Lines = std::vector<std::string>;

TEST(ObjectTable, reads_more_than_64_members_in_any_order_and_keeps_the_others) {
  Wide value;

  EXPECT_EQ(wrong_of(value, R"({"m69": 1, "other": 2, "m0": 3, "m7": 4})"), Lines());
  EXPECT_EQ(value.members[69], 1);
  EXPECT_EQ(value.members[0], 3);
  EXPECT_EQ(value.members[7], 4);
  EXPECT_EQ(value.others, (std::map<std::string, std::int64_t>{{"other", 2}}));
}

TEST(ObjectTable, tells_all_that_is_wrong_with_a_wide_object) {
  Wide value;

  EXPECT_EQ(wrong_of(value, R"({"m1": "a", "x": true})"),
            (Lines{"/m1 expected an integer", "/x expected an integer", "/m0 is required", "/m69 is required"}));
  EXPECT_EQ(wrong_of(value, R"({"m1": 1, "m1": 1})"), (Lines{"/m1 is given twice"}));
  EXPECT_EQ(wrong_of(value, R"({"x": 1, "x": 1})"), (Lines{"/x is given twice"}));
}

TEST(ObjectTable, writes_more_than_64_members_and_the_others) {
  Wide value;
  value.members[69] = 7;
  value.others["x"] = -1;
  Buffer text;
  json::Writer out(text);
  write_object(out, table_of_wide, &value);

  EXPECT_TRUE(out.is_complete());
  EXPECT_TRUE(text.view().starts_with(R"({"m0":0,"m1":0,)")) << text.view();
  EXPECT_TRUE(text.view().ends_with(R"(,"m69":7,"x":-1})")) << text.view();
}

// One of everything that the library reads and writes itself, in each way of being there.
template <class T>
struct Each {
  T present{};
  std::optional<T> optional;
  std::optional<T> nullable;
  Patch<T> patch;

  friend bool operator==(const Each&, const Each&) = default;
};
template <class T, Held held>
constexpr Members<4> members_of_each = Members<4>({{"\"a\":", offsetof(Each<T>, present), held, of::required},
                                                   {"\"b\":", offsetof(Each<T>, optional), held, of::optional},
                                                   {"\"c\":", offsetof(Each<T>, nullable), held, of::nullable},
                                                   {"\"d\":", offsetof(Each<T>, patch), held, of::patch}});
template <class T, Held held>
constexpr ObjectTable table_of_each = members_of_each<T, held>.table(true);

template <class T, Held held>
void check_each(const std::string& text, const std::string& broken, std::string_view message) {
  const auto read = [](json::Reader& in, void* to, Violations& wrong) {
    read_object(in, table_of_each<T, held>, to, wrong);
  };
  const auto written = [](const Each<T>& value) {
    Buffer to;
    json::Writer out(to);
    write_object(out, table_of_each<T, held>, &value);
    return std::string(to.view());
  };
  const std::string all[] = {
      R"({"a":)" + text + R"(,"b":)" + text + R"(,"c":)" + text + R"(,"d":)" + text + '}',
      R"({"a":)" + text + R"(,"c":null,"d":null})",
      R"({"a":)" + text + R"(,"c":null})",
  };
  for (const std::string& one : all) {
    for (const bool is_spaced : {false, true}) {
      std::string given = one;
      for (std::size_t at = 0; is_spaced && (at = given.find(':', at)) != given.npos; at += 2) given.insert(at, 1, ' ');
      if (is_spaced && text.find(':') != text.npos) continue;
      Arena arena;
      Violations wrong;
      Each<T> value;
      EXPECT_TRUE(read_text(given, arena, {}, read, &value, wrong)) << given;
      EXPECT_EQ(written(value), one);
    }
  }
  if (broken.empty()) return;
  Arena arena;
  Violations wrong;
  Each<T> value;
  const std::string bad = R"({"a":)" + broken + R"(,"b":)" + broken + R"(,"c":)" + broken + R"(,"d":)" + broken + '}';
  EXPECT_FALSE(read_text(bad, arena, {}, read, &value, wrong));
  std::string found;
  for (const Violation& one : wrong) found += one.pointer + ' ' + one.message + '\n';
  std::string expected;
  for (const char* const member : {"/a ", "/b ", "/c ", "/d "}) expected += member + std::string(message) + '\n';
  EXPECT_EQ(found, expected);
}

TEST(ObjectTable, reads_and_writes_what_is_plain_and_may_be_absent_or_null) {
  check_each<bool, of::boolean>("true", "1", "expected true or false");
  check_each<std::int32_t, of::int32>("-5", "\"\"", "expected an integer");
  check_each<std::int32_t, of::int32>("2147483647", "2147483648", "expected an integer from -2147483648 to 2147483647");
  check_each<std::uint32_t, of::uint32>("4294967295", "4294967296", "expected an integer from 0 to 4294967295");
  check_each<std::int64_t, of::int64>("-9223372036854775808", "[]", "expected an integer");
  check_each<std::uint64_t, of::uint64>("18446744073709551615", "-1",
                                        "expected an integer from 0 to 18446744073709551615");
  check_each<double, of::number>("0.5", "true", "expected a number");
  check_each<float, of::small_number>("0.5", "1e99", "number out of range");
  check_each<std::string, of::string>(R"("a\nb")", "1", "expected a string");
  check_each<std::string, of::string>(R"("")", "{}", "expected a string");
  check_each<Uuid, of::uuid>(R"("00000000-0000-0000-0000-000000000001")", R"("1")", Uuid::expected);
  check_each<Timestamp, of::timestamp>(R"("2026-01-02T03:04:05Z")", R"("1")", Timestamp::expected);
  check_each<Date, of::date>(R"("2026-01-02")", R"("2026-02-30")", Date::expected);
  check_each<std::vector<std::byte>, of::bytes>(R"("AAE=")", "1", "expected a string");
  check_each<std::vector<std::string>, of::strings>(R"(["a",""])", "1", "expected an array");
  check_each<json::Value, of::any>(R"([1,"a",{}])", "", "");
}

enum class Size : std::uint8_t { None, Small, VeryLarge };
inline constexpr std::string_view size_names[] = {"none", "small", "very \"large\""};
constexpr Members<4> members_of_sizes = Members<4>({
    {"\"a\":", offsetof(Each<Size>, present), of::name, of::required, size_names},
    {"\"b\":", offsetof(Each<Size>, optional), of::name, of::optional, size_names},
    {"\"c\":", offsetof(Each<Size>, nullable), of::name, of::nullable, size_names},
    {"\"d\":", offsetof(Each<Size>, patch), of::name, of::patch, size_names},
});
constexpr ObjectTable table_of_sizes = members_of_sizes.table(true);

Each<Size> sizes_in(std::string_view text, std::string* complaints = nullptr, Each<Size> value = {}) {
  Arena arena;
  Violations wrong;
  const auto read = [](json::Reader& in, void* to, Violations& found) { read_object(in, table_of_sizes, to, found); };
  EXPECT_EQ(read_text(text, arena, {}, read, &value, wrong), complaints == nullptr) << text;
  for (const Violation& one : wrong)
    complaints->append(one.pointer + ' ' + one.message + ' ').append(one.keyword).append("\n");
  return value;
}
std::string text_of(const Each<Size>& value) {
  Buffer to;
  json::Writer out(to);
  write_object(out, table_of_sizes, &value);
  return std::string(to.view());
}

TEST(ObjectTable, reads_and_writes_values_of_an_enum_by_their_names) {
  Each<Size> all{Size::Small, Size::VeryLarge, Size::None, Patch<Size>::of(Size::Small)};
  Each<Size> nulls{Size::VeryLarge, std::nullopt, std::nullopt, Patch<Size>::null()};
  Each<Size> absent{Size::None, std::nullopt, std::nullopt, {}};

  EXPECT_EQ(text_of(all), R"({"a":"small","b":"very \"large\"","c":"none","d":"small"})");
  EXPECT_EQ(text_of(nulls), R"({"a":"very \"large\"","c":null,"d":null})");
  EXPECT_EQ(text_of(absent), R"({"a":"none","c":null})");
  for (const Each<Size>& before : {all, nulls, absent}) {
    EXPECT_EQ(sizes_in(text_of(all), nullptr, before), all);
    EXPECT_EQ(sizes_in(R"({"a":"small","c":null,"d":null})", nullptr, before).patch, Patch<Size>::null());
    EXPECT_EQ(sizes_in(R"({"a":"small","c":null})", nullptr, before).nullable, std::nullopt);
  }
  EXPECT_EQ(sizes_in(text_of(nulls)), nulls);
  EXPECT_EQ(sizes_in(text_of(absent)), absent);
}

struct Account {
  std::int64_t id = 0;
  std::string name;
  std::optional<std::string> key;
  std::vector<std::int64_t> log;
};
constexpr Members<4> members_of_account({
    {"\"id\":", offsetof(Account, id), of::int64, of::required | of::read_only},
    {"\"name\":", offsetof(Account, name), of::string, of::required},
    {"\"key\":", offsetof(Account, key), of::string, of::optional | of::required | of::write_only},
    {"\"log\":", offsetof(Account, log), of::other, of::required | of::read_only, nullptr,
     read_member<std::vector<std::int64_t>, read_list<std::int64_t, read_value<std::int64_t>>>,
     write_member<std::vector<std::int64_t>, write_list<std::int64_t, write_value<std::int64_t>>>},
});
constexpr ObjectTable table_of_account = members_of_account.table(true);
constexpr WideMembers<2> members_of_wide_account({
    {"\"id\":", offsetof(Account, id), of::int64, of::required | of::read_only},
    {"\"key\":", offsetof(Account, key), of::string, of::optional | of::required | of::write_only},
});
constexpr WideTable wide_table_of_account = members_of_wide_account.wide_table(true);

TEST(ObjectTable, reads_and_writes_members_that_only_requests_or_only_responses_have) {
  const auto missing = [](std::string_view text, bool is_response, ReadField read) {
    Account account;
    Arena arena;
    Violations wrong;
    read_text(text, arena, {.is_response = is_response}, read, &account, wrong);
    std::string all;
    for (const Violation& one : wrong) all += one.pointer + ' ' + one.message + ' ';
    return all;
  };
  const ReadField read = [](json::Reader& in, void* to, Violations& wrong) {
    read_object(in, table_of_account, to, wrong);
  };
  EXPECT_EQ(missing(R"({"name":"a","key":"k"})", false, read), "");
  EXPECT_EQ(missing(R"({"id":1,"name":"a","log":[]})", true, read), "");
  EXPECT_EQ(missing(R"({"id":1,"name":"a","key":"k","log":[]})", false, read), "") << "more than is required";
  EXPECT_EQ(missing("{}", false, read), "/name is required /key is required ");
  EXPECT_EQ(missing("{}", true, read), "/id is required /name is required /log is required ");
  const ReadField read_wide = [](json::Reader& in, void* to, Violations& wrong) {
    read_object(in, wide_table_of_account, to, wrong);
  };
  EXPECT_EQ(missing("{}", false, read_wide), "/key is required ");
  EXPECT_EQ(missing("{}", true, read_wide), "/id is required ");

  const Account account = {.id = 1, .name = "a", .key = "k", .log = {2}};
  const auto written = [&](json::Writer::Omit omit) {
    Buffer text;
    json::Writer out(text, omit);
    write_object(out, table_of_account, &account);
    write_object(out, wide_table_of_account, &account);
    return std::string(text.view());
  };
  EXPECT_EQ(written(json::Writer::Omit::Nothing), R"({"id":1,"name":"a","key":"k","log":[2]},{"id":1,"key":"k"})");
  EXPECT_EQ(written(json::Writer::Omit::ReadOnly), R"({"name":"a","key":"k"},{"key":"k"})");
  EXPECT_EQ(written(json::Writer::Omit::WriteOnly), R"({"id":1,"name":"a","log":[2]},{"id":1})");
}

TEST(ObjectTable, tells_which_names_an_enum_has) {
  std::string wrong;

  sizes_in(R"({"a":"smal","b":"SMALL","c":"small ","d":7,"e":1})", &wrong);

  EXPECT_EQ(wrong,
            "/a must be one of none, small, very \"large\" enum\n"
            "/b must be one of none, small, very \"large\" enum\n"
            "/c must be one of none, small, very \"large\" enum\n"
            "/d expected a string type\n"
            "/e is not a field of this object additionalProperties\n");
  EXPECT_THROW(text_of({static_cast<Size>(3), std::nullopt, std::nullopt, {}}), Bug);
}

constexpr of::Limits from_2_to_3 = {2, 3, "must be 2 or 3"};
constexpr of::Limits at_least_2 = {2, of::no_most, "must be at least 2"};
template <class T, Held held, const of::Limits& limits, Presence presence>
std::string limited(std::string_view text) {
  static constexpr ObjectMember member[] = {{"\"a\":", 0, held, presence, &limits}};
  static constexpr Members<1> members(member);
  static constexpr ObjectTable table = members.table(false);
  std::conditional_t<presence == of::patch, Patch<T>, std::conditional_t<presence == of::present, T, std::optional<T>>>
      value{};
  Arena arena;
  Violations wrong;
  const auto read = [](json::Reader& in, void* to, Violations& found) { read_object(in, table, to, found); };
  read_text(std::string(R"({"a":)").append(text).append("}"), arena, {}, read, &value, wrong);
  std::string found;
  for (const Violation& one : wrong) found += one.pointer + ' ' + one.message;
  return found;
}
template <class T, Held held, const of::Limits& limits>
std::string limited_in_each(std::string_view text) {
  const std::string found = limited<T, held, limits, of::present>(text);
  EXPECT_EQ((limited<T, held, limits, of::optional>(text)), found);
  EXPECT_EQ((limited<T, held, limits, of::nullable>(text)), found);
  EXPECT_EQ((limited<T, held, limits, of::patch>(text)), found);
  EXPECT_EQ((limited<T, held, limits, of::present>(" " + std::string(text))), found);
  return found;
}

TEST(ObjectTable, tells_what_is_outside_its_limits) {
  EXPECT_EQ((limited_in_each<std::int64_t, of::int64, from_2_to_3>("1")), "/a must be 2 or 3");
  EXPECT_EQ((limited_in_each<std::int64_t, of::int64, from_2_to_3>("2")), "");
  EXPECT_EQ((limited_in_each<std::int32_t, of::int32, from_2_to_3>("3")), "");
  EXPECT_EQ((limited_in_each<std::int32_t, of::int32, from_2_to_3>("4")), "/a must be 2 or 3");
  EXPECT_EQ((limited_in_each<std::uint64_t, of::uint64, at_least_2>("18446744073709551615")), "");
  EXPECT_EQ((limited_in_each<std::uint64_t, of::uint64, from_2_to_3>("18446744073709551615")), "/a must be 2 or 3");
  EXPECT_EQ((limited_in_each<std::uint32_t, of::uint32, at_least_2>("1")), "/a must be at least 2");
  EXPECT_EQ((limited_in_each<double, of::number, from_2_to_3>("3.5")), "/a must be 2 or 3");
  EXPECT_EQ((limited_in_each<double, of::number, at_least_2>("1e300")), "");
  EXPECT_EQ((limited_in_each<float, of::small_number, at_least_2>("1.5")), "/a must be at least 2");
  EXPECT_EQ((limited_in_each<std::string, of::string, from_2_to_3>(R"("äöü")")), "");
  EXPECT_EQ((limited_in_each<std::string, of::string, from_2_to_3>(R"("a")")), "/a must be 2 or 3");
  EXPECT_EQ((limited_in_each<std::string, of::string, at_least_2>(R"("\u0041")")), "/a must be at least 2");
  EXPECT_EQ((limited_in_each<std::vector<std::string>, of::strings, from_2_to_3>(R"(["a"])")), "/a must be 2 or 3");
  EXPECT_EQ((limited_in_each<std::vector<std::string>, of::strings, from_2_to_3>(R"(["a", ""])")), "");
}

TEST(ObjectTable, counts_characters_and_not_bytes) {
  EXPECT_TRUE(has_length("äöü", 3, 3));
  EXPECT_FALSE(has_length("äöü", 4, 6));
  EXPECT_FALSE(has_length("", 1, 2));
  EXPECT_TRUE(has_length("abc", 0, SIZE_MAX));
}

TEST(ObjectTable, a_multiple_is_one_in_decimal) {
  EXPECT_TRUE(is_multiple(0.3, 0.1));
  EXPECT_TRUE(is_multiple(-7.5, 2.5));
  EXPECT_TRUE(is_multiple(0, 3));
  EXPECT_FALSE(is_multiple(0.35, 0.1));
  EXPECT_FALSE(is_multiple(1e-20, 0.1));
  EXPECT_TRUE(is_multiple(12345678.12345678, 1e-8));
  EXPECT_TRUE(is_multiple(20000000000000.01, 0.01));
  EXPECT_TRUE(is_multiple(1e300, 0.5e-5));
  EXPECT_FALSE(is_multiple(9000000000000.002, 0.01));
  EXPECT_FALSE(is_multiple(4000000.123456781, 1e-8));
  EXPECT_FALSE(is_multiple(std::numeric_limits<double>::infinity(), 0.1));
  EXPECT_FALSE(is_multiple(std::numeric_limits<double>::quiet_NaN(), 0.1));
  EXPECT_FALSE(is_multiple(7.5, 0.0));
}

TEST(ObjectTable, a_multiple_of_64_bits_is_not_rounded) {
  EXPECT_TRUE(is_multiple(std::int64_t{9007199254740993}, 1.5));
  EXPECT_FALSE(is_multiple(std::int64_t{9007199254740992}, 1.5));
  EXPECT_TRUE(is_multiple(std::numeric_limits<std::int64_t>::min(), 0.5));
  EXPECT_TRUE(is_multiple(std::int32_t{-6}, 1.5));
  EXPECT_FALSE(is_multiple(std::uint64_t{18446744073709551614u}, 1.5));
  EXPECT_TRUE(is_multiple(std::uint64_t{18446744073709551615u}, 1.5));
}

TEST(ObjectTable, elements_are_different) {
  enum class Color : std::uint8_t { Red, Green };

  EXPECT_TRUE(are_different(std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(are_different(std::vector<std::string>{"a", "b", "a"}));
  EXPECT_FALSE(are_different(std::vector<std::int64_t>{1, 1}));
  EXPECT_FALSE(are_different(std::vector<double>{0.5, 0.25, 0.5}));
  EXPECT_TRUE(are_different(std::vector<Color>{Color::Red, Color::Green}));
  EXPECT_FALSE(are_different(std::vector<Color>{Color::Green, Color::Green}));
}

}  // namespace
}  // namespace keel::object_table_test
