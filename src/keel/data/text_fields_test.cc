#include "keel/data/text_fields.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"

namespace keel::text_fields_test {
namespace {

// "name: words" of each, or "" when nothing is wrong.
template <class T>
std::string problems(T& value, const std::vector<NamedText>& texts) {
  Violations wrong;
  const bool is_good = read_texts(value, texts, wrong);
  EXPECT_EQ(is_good, wrong.empty());
  std::string all;
  for (const Violation& one : wrong) all += (all.empty() ? "" : "; ") + one.pointer + ": " + one.message;
  return all;
}

// The same with keywords.
template <class T>
std::string keywords(T& value, const std::vector<NamedText>& texts) {
  Violations wrong;
  read_texts(value, texts, wrong);
  std::string all;
  for (const Violation& one : wrong) all += (all.empty() ? "" : "; ") + one.pointer + ": " + std::string(one.keyword);
  return all;
}

enum class State { Open, InTransit, Paid };

struct Everything {
  bool flag;
  std::int8_t small;
  std::uint64_t large;
  double real;
  float single;
  State state;
  std::string text;
  std::string_view view;
  Uuid id;
  std::optional<Timestamp> since;
  std::vector<int> numbers;
  std::list<std::string> names;
};

TEST(TextFields, are_read_as_what_they_are) {
  Everything all;
  const std::string view = "a view";

  EXPECT_EQ(problems(all, {{"names", "Ada"},
                           {"numbers", "1"},
                           {"flag", "on"},
                           {"small", "-128"},
                           {"large", "18446744073709551615"},
                           {"real", "-1.5e3"},
                           {"single", "0.1"},
                           {"state", "InTransit"},
                           {"text", "t"},
                           {"view", view},
                           {"id", "0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50"},
                           {"since", "2026-11-24T12:00:37Z"},
                           {"numbers", "-2"},
                           {"names", ""}}),
            "");

  EXPECT_TRUE(all.flag);
  EXPECT_EQ(all.small, -128);
  EXPECT_EQ(all.large, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(all.real, -1500.0);
  EXPECT_EQ(all.single, 0.1f);
  EXPECT_EQ(all.state, State::InTransit);
  EXPECT_EQ(all.text, "t");
  EXPECT_EQ(all.view.data(), view.data()) << "not copied";
  EXPECT_EQ(std::string_view(all.id.text()), "0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50");
  EXPECT_EQ(std::string_view(all.since->text()), "2026-11-24T12:00:37Z");
  EXPECT_EQ(all.numbers, (std::vector{1, -2}));
  EXPECT_EQ(all.names, (std::list<std::string>{"Ada", ""}));
}

TEST(TextFields, that_are_wrong_are_all_told_in_the_order_of_the_text_then_those_that_are_missing) {
  Everything all;

  EXPECT_EQ(problems(all, {{"small", "128"},
                           {"flag", "yes"},
                           {"large", "-1"},
                           {"real", "nan"},
                           {"single", "1e99"},
                           {"state", "in_transit"},
                           {"text", "\xff"},
                           {"since", "yesterday"},
                           {"numbers", "1"},
                           {"numbers", "1x"},
                           {"numbers", ""}}),
            "small: expected an integer from -128 to 127; flag: expected true or false; "
            "large: expected an integer from 0 to 18446744073709551615; "
            "real: expected a number; single: number out of range; state: must be one of Open, InTransit, Paid; "
            "text: is not UTF-8; since: expected a time such as 2026-11-24T12:00:37.250Z (RFC 3339); "
            "numbers: expected an integer; view: is required; id: is required");
}

TEST(TextFields, read_numbers_that_are_whole_and_in_range) {
  struct Number {
    int value;
  };
  for (const char* text : {"0", "-0", "2147483647", "-2147483648", "007"}) {
    Number number;
    EXPECT_EQ(problems(number, {{"value", text}}), "") << text;
  }
  for (const char* text : {"+1", " 1", "1 ", "0x1", "1.0", "1e3", "-", "--1", "one"}) {
    Number number;
    EXPECT_EQ(problems(number, {{"value", text}}), "value: expected an integer") << text;
  }
  for (const char* text : {"2147483648", "-2147483649", "99999999999999999999999"}) {
    Number number;
    EXPECT_EQ(problems(number, {{"value", text}}), "value: expected an integer from -2147483648 to 2147483647") << text;
  }
  Number number;
  EXPECT_EQ(problems(number, {{"value", "99999999999999999999999x"}}), "value: expected an integer");
}

struct Filter {
  std::optional<std::string> state;
  std::optional<int> age;
  std::vector<std::string> tag;
  int limit = 20;
  std::string order = "id";
  static constexpr std::string_view optional_fields[] = {"limit", "order"};
  void rules(Check& check) const {
    check(limit).range(1, 100);
    check(tag).count_at_most(2);
    check.that(order == "id" || !tag.empty(), "an order needs a tag");
  }
};

TEST(TextFields, may_be_absent_where_the_struct_says_so) {
  Filter filter;
  filter.limit = 7;
  EXPECT_EQ(problems(filter, {}), "");
  EXPECT_EQ(filter.limit, 20);
  EXPECT_EQ(filter.order, "id");
  EXPECT_EQ(filter.state, std::nullopt);
  EXPECT_TRUE(filter.tag.empty());
}

TEST(TextFields, that_are_empty_are_absent_unless_they_are_text) {
  Filter filter;
  EXPECT_EQ(problems(filter, {{"age", ""}, {"limit", ""}, {"state", ""}, {"order", ""}, {"tag", ""}}), "");
  EXPECT_EQ(filter.age, std::nullopt);
  EXPECT_EQ(filter.limit, 20);
  EXPECT_EQ(filter.state, "");
  EXPECT_EQ(filter.order, "");
  EXPECT_EQ(filter.tag, std::vector<std::string>{""});

  Everything all;
  EXPECT_TRUE(problems(all, {{"small", ""}}).find("small: is required") != std::string::npos);
}

TEST(TextFields, that_come_twice_are_wrong_where_one_is_expected) {
  Filter filter;
  EXPECT_EQ(problems(filter, {{"limit", "1"}, {"limit", "2"}, {"limit", "3"}, {"tag", "a"}, {"tag", "a"}}),
            "limit: is given twice");
}

TEST(TextFields, are_judged_by_the_rules_of_the_struct) {
  Filter filter;
  EXPECT_EQ(problems(filter, {{"limit", "0"}, {"tag", "a"}, {"tag", "b"}, {"tag", "c"}, {"order", "x"}}),
            "limit: must be from 1 to 100; tag: must have at most 2 elements");
  EXPECT_EQ(problems(filter, {{"limit", "x"}}), "limit: expected an integer") << "what is wrong already is not judged";
  EXPECT_EQ(problems(filter, {{"order", "name"}}), ": an order needs a tag");
}

struct Needs {
  std::vector<int> numbers;
  void rules(Check& check) const { check(numbers).count_at_least(1); }
};

TEST(TextFields, of_a_list_that_does_not_come_are_judged_as_an_empty_list) {
  Needs needs;
  EXPECT_EQ(problems(needs, {}), "numbers: must have at least 1 element");
}

struct Strict {
  int created_at = 0;
  static constexpr auto name_case = Case::Camel;
  static constexpr bool strict_fields = true;
  static constexpr bool optional_fields = true;
};

TEST(TextFields, have_the_names_that_the_struct_says_and_others_only_where_it_is_not_strict) {
  Strict strict;
  EXPECT_EQ(problems(strict, {{"createdAt", "1"}, {"created_at", "2"}, {"", "3"}}),
            "created_at: is not a known name; : is not a known name");
  EXPECT_EQ(strict.created_at, 1);
  Filter filter;
  EXPECT_EQ(problems(filter, {{"unknown", "1"}, {"unknown", "2"}}), "");
}

TEST(TextFields, that_are_wrong_are_bounded_in_number) {
  Strict strict;
  Violations wrong;
  EXPECT_FALSE(read_texts(strict, std::vector<NamedText>(100, NamedText{"x", "1"}), wrong));
  EXPECT_EQ(wrong.size(), Violations::count_max);
  EXPECT_TRUE(wrong.has_more());
}

// A type that knows where a text comes from.
struct Picture {
  std::string_view bytes;
};
const char* read_text(const NamedText& in, Picture& picture) {
  if (in.source == nullptr) return "expected a picture";
  picture.bytes = *static_cast<const std::string_view*>(in.source);
  return nullptr;
}
struct Upload {
  std::string title;
  Picture picture;
  std::vector<Picture> more;
};

TEST(TextFields, of_your_own_types_are_read_by_their_function) {
  const std::string_view bytes = "PNG";
  Upload upload;
  EXPECT_EQ(
      problems(
          upload,
          {{"title", "t"}, {"picture", "", &bytes, true}, {"more", "x", &bytes, true}, {"more", "y", &bytes, true}}),
      "");
  EXPECT_EQ(upload.picture.bytes, "PNG");
  EXPECT_EQ(upload.more.size(), 2u);
  EXPECT_EQ(problems(upload, {{"title", "t", &bytes, true}, {"picture", "x"}}),
            "title: expected a text, not a file; picture: expected a picture");
}

struct Bounded {
  int count = 0;
  std::uint8_t small = 0;
  static constexpr bool strict_fields = true;
  static constexpr std::string_view optional_fields[] = {"small"};
  void rules(Check& check) const { check(count).at_least(1); }
};

TEST(TextFields, name_the_keyword_that_is_broken) {
  Bounded bounded;
  EXPECT_EQ(keywords(bounded, {{"other", "1"}}), "other: additionalProperties; count: required");
  EXPECT_EQ(keywords(bounded, {{"count", "x"}}), "count: type");
  EXPECT_EQ(keywords(bounded, {{"count", "99999999999"}, {"small", "256"}}), "count: format; small: maximum");
  EXPECT_EQ(keywords(bounded, {{"count", "0"}}), "count: minimum");
  Everything all;
  EXPECT_EQ(keywords(all, {{"flag", "x"},
                           {"small", "-129"},
                           {"large", "1"},
                           {"real", "1e999"},
                           {"single", "x"},
                           {"state", "Lost"},
                           {"text", "\xff"},
                           {"view", "v"},
                           {"id", "7"},
                           {"numbers", "x"}}),
            "flag: type; small: minimum; real: format; single: type; state: enum; text: ; id: format; numbers: type");
}

}  // namespace
}  // namespace keel::text_fields_test
