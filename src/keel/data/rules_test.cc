#include "keel/data/rules.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "keel/base/bug.h"
#include "keel/data/json_parse.h"
#include "keel/data/patch.h"

namespace keel::rules_test {
namespace {

// What rules() that are written here say of one field, "f"; of the whole struct it begins with ": ".
template <class T, class Rules>
std::string said(const T& field, Rules rules, std::uint64_t judged = 1, bool is_whole = true) {
  const void* const fields[] = {&field};
  const std::string_view names[] = {"f"};
  std::string all;
  Check check(
      fields, names, judged, is_whole,
      [](void* context, std::string_view name, std::string_view words, std::string_view) {
        auto& text = *static_cast<std::string*>(context);
        text.append(name).append(": ").append(words).append(";");
      },
      &all);
  rules(check, field);
  return all;
}

struct Judged {
  int number = 0;
  std::string text;
  std::vector<int> list;
  std::map<std::string, int> map;
  std::optional<std::string> word;
  Patch<int> patch;
  static constexpr std::string_view optional_fields[] = {"number", "text", "list", "map"};

  void rules(Check& check) const {
    check(number).range(1, 9);
    check(text).length(2, 3);
    check(list).count(1, 2);
    check.each(list).at_most(5);
    check(map).count(1, 2);
    check(word).matches("[a-z]+");
    check(patch).not_null().one_of(1, 2).satisfies([](int value) { return value != 1; }, "is odd");
    check.that(number != 4, "number must not be 4");
  }
};

TEST(Rules, name_the_keyword_that_is_broken) {
  const auto keywords = [](std::string_view text) {
    Judged judged;
    Arena arena;
    Violations wrong;
    json::read(judged, text, arena, wrong);
    std::string all;
    for (const Violation& one : wrong) all.append(one.pointer).append(" ").append(one.keyword).append(";");
    return all;
  };
  EXPECT_EQ(keywords(R"({"number":0,"text":"a","list":[],"map":{},"word":"1","patch":null})"),
            "/number minimum;/text minLength;/list minItems;/map minProperties;/word pattern;/patch type;");
  EXPECT_EQ(keywords(R"({"number":10,"text":"abcd","list":[1,6,1],"map":{"a":1,"b":1,"c":1},"patch":3})"),
            "/number maximum;/text maxLength;/list maxItems;/list/1 maximum;/map maxProperties;/patch enum;");
  EXPECT_EQ(keywords(R"({"patch":1})"), "/patch ;") << "no keyword says what satisfies() says";
  EXPECT_EQ(keywords(R"({"number":4})"), " ;");
}

TEST(Rules, bound_the_characters_of_a_text) {
  const auto length = [](Check& check, const std::string& f) { check(f).length(2, 3); };
  EXPECT_EQ(said(std::string("a"), length), "f: must have 2 to 3 characters;");
  EXPECT_EQ(said(std::string("ab"), length), "");
  EXPECT_EQ(said(std::string("abc"), length), "");
  EXPECT_EQ(said(std::string("abcd"), length), "f: must have 2 to 3 characters;");
  EXPECT_EQ(said(std::string("äöü"), length), "");  // Six bytes.
  EXPECT_EQ(said(std::string("😀"), length), "f: must have 2 to 3 characters;");
  EXPECT_EQ(said(std::string("😀😀😀"), length), "");
  EXPECT_EQ(said(std::string(), [](Check& check, const auto& f) { check(f).length_at_least(1); }),
            "f: must have at least 1 character;");
  EXPECT_EQ(said(std::string("abc"), [](Check& check, const auto& f) { check(f).length_at_most(2); }),
            "f: must have at most 2 characters;");
  EXPECT_EQ(said(std::string_view("abc"), [](Check& check, const auto& f) { check(f).length(1, 1); }),
            "f: must have 1 character;");
}

TEST(Rules, bound_the_elements_of_lists_and_maps) {
  const auto count = [](Check& check, const auto& f) { check(f).count(1, 2); };
  EXPECT_EQ(said(std::vector<int>{}, count), "f: must have 1 to 2 elements;");
  EXPECT_EQ(said(std::vector<int>{1, 2}, count), "");
  EXPECT_EQ(said(std::map<int, int>{{1, 1}, {2, 2}, {3, 3}}, count), "f: must have 1 to 2 elements;");
  EXPECT_EQ(said(std::vector<int>{}, [](Check& check, const auto& f) { check(f).count_at_least(1); }),
            "f: must have at least 1 element;");
  EXPECT_EQ(said(std::vector<int>{1}, [](Check& check, const auto& f) { check(f).count_at_most(0); }),
            "f: must have 0 elements;");
}

TEST(Rules, bound_numbers_at_the_edges_of_their_types) {
  const auto range = [](Check& check, const auto& f) { check(f).range(1, 100); };
  EXPECT_EQ(said(0, range), "f: must be from 1 to 100;");
  EXPECT_EQ(said(1, range), "");
  EXPECT_EQ(said(100, range), "");
  EXPECT_EQ(said(101, range), "f: must be from 1 to 100;");
  EXPECT_EQ(said(0.5, range), "f: must be from 1 to 100;");
  EXPECT_EQ(said(std::numeric_limits<double>::quiet_NaN(), range), "f: must be from 1 to 100;");
  constexpr auto greatest = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(said(greatest, [](Check& check, const auto& f) { check(f).at_most(greatest); }), "");
  EXPECT_EQ(said(greatest - 1, [](Check& check, const auto& f) { check(f).at_least(greatest); }),
            "f: must be at least 18446744073709551615;");
  EXPECT_EQ(said(std::int64_t{-4}, [](Check& check, const auto& f) { check(f).at_most(-5); }),
            "f: must be at most -5;");
  EXPECT_EQ(said(0.25, [](Check& check, const auto& f) { check(f).at_most(0.125); }), "f: must be at most 0.125;");
}

TEST(Rules, choose_among_words_and_numbers) {
  const auto words = [](Check& check, const auto& f) { check(f).one_of("red", "green"); };
  EXPECT_EQ(said(std::string("green"), words), "");
  EXPECT_EQ(said(std::string("blue"), words), "f: must be one of red, green;");
  EXPECT_EQ(said(3, [](Check& check, const auto& f) { check(f).one_of(1, 2); }), "f: must be one of 1, 2;");
}

TEST(Rules, call_functions_and_follow_each_other) {
  const auto is_even = [](int value) { return value % 2 == 0; };
  const auto rules = [&](Check& check, const int& f) {
    check(f).at_least(10).satisfies(is_even, "must be even");
    check.that(f != 7, "must not be unlucky");
  };
  EXPECT_EQ(said(12, rules), "");
  EXPECT_EQ(said(7, rules), "f: must be at least 10;f: must be even;: must not be unlucky;");
}

TEST(Rules, pass_over_what_is_absent) {
  const auto range = [](Check& check, const auto& f) { check(f).range(1, 2); };
  EXPECT_EQ(said(std::optional<int>(), range), "");
  EXPECT_EQ(said(std::optional<int>(3), range), "f: must be from 1 to 2;");
  EXPECT_EQ(said(Patch<int>::null(), range), "");
  EXPECT_EQ(said(Patch<int>::of(3), range), "f: must be from 1 to 2;");
  const auto not_null = [](Check& check, const auto& f) { check(f).not_null(); };
  EXPECT_EQ(said(Patch<int>(), not_null), "");
  EXPECT_EQ(said(Patch<int>::null(), not_null), "f: must not be null;");
}

TEST(Rules, do_not_judge_what_was_wrong_before) {
  const auto rules = [](Check& check, const int& f) {
    check(f).at_least(10);
    check.that(f > 10, "must be more");
  };
  EXPECT_EQ(said(1, rules, 0, false), "");
  EXPECT_EQ(said(1, rules, 1, false), "f: must be at least 10;");
}

TEST(Rules, throw_a_Bug_for_what_is_no_field_of_the_struct) {
  const int other = 1;
  EXPECT_THROW(said(1, [&](Check& check, const int&) { check(other).at_least(10); }), Bug);
}

TEST(Rules, match_a_pattern) {
  const auto sku = [](Check& check, const auto& f) { check(f).matches("[A-Z]{3}-[0-9]+"); };
  EXPECT_EQ(said(std::string("ABC-17"), sku), "");
  EXPECT_EQ(said(std::string_view("ABC-17 "), sku), "f: must match [A-Z]{3}-[0-9]+;");
  EXPECT_EQ(said(std::optional<std::string>("x"), sku), "f: must match [A-Z]{3}-[0-9]+;");
  EXPECT_EQ(said(std::optional<std::string>(), sku), "");
  EXPECT_EQ(said(Patch<std::string>::of("x"),
                 [](Check& check, const auto& f) { check(f).matches("y+", "must be a SKU such as AB-1"); }),
            "f: must be a SKU such as AB-1;");
  // What is not a regular expression is found also where nothing has been sent.
  EXPECT_THROW(said(std::optional<std::string>(), [](Check& check, const auto& f) { check(f).matches("(a"); }), Bug);
}

TEST(Rules, are_for_each_element_of_a_list_or_a_map) {
  const auto length = [](Check& check, const auto& f) { check.each(f).length(1, 2); };
  EXPECT_EQ(said(std::vector<std::string>{"a", "", "bb", "ccc"}, length),
            "f: must have 1 to 2 characters;f: must have 1 to 2 characters;");
  EXPECT_EQ(said(std::vector<std::optional<std::string>>{"abc", std::nullopt}, length),
            "f: must have 1 to 2 characters;");
  EXPECT_EQ(said(std::optional<std::vector<std::string>>(), length), "");
  EXPECT_EQ(said(Patch<std::vector<std::string>>::of({""}), length), "f: must have 1 to 2 characters;");
  EXPECT_EQ(said(std::map<std::string, std::string>{{"k", "abc"}, {"l", "a"}}, length),
            "f: must have 1 to 2 characters;");
  EXPECT_EQ(said(std::vector<int>{0, 1, 5, 6}, [](Check& check, const auto& f) { check.each(f).range(1, 5); }),
            "f: must be from 1 to 5;f: must be from 1 to 5;");
  EXPECT_EQ(said(std::array<double, 2>{0.5, 2}, [](Check& check, const auto& f) { check.each(f).at_most(1); }),
            "f: must be at most 1;");
  EXPECT_EQ(said(std::vector<bool>{true, false},
                 [](Check& check, const auto& f) {
                   check.each(f).satisfies([](bool value) { return value; }, "must be true");
                 }),
            "f: must be true;");
  EXPECT_EQ(said(std::vector<std::string>{"x"},
                 [](Check& check, const auto& f) {
                   check.each(f).one_of("a", "b").matches("[ab]").length_at_least(2).length_at_most(0);
                 }),
            "f: must be one of a, b;f: must match [ab];f: must have at least 2 characters;f: must have 0 characters;");
  EXPECT_EQ(said(std::vector<int>{1}, [](Check& check, const auto& f) { check.each(f).at_least(2); }),
            "f: must be at least 2;");
}

struct Person {
  std::vector<std::string> names;
  std::map<std::string, int> marks;

  void rules(Check& check) const {
    check(names).count(1, 4);
    check.each(names).length(1, 3);
    check.each(marks).range(1, 6);
  }
};

TEST(Rules, of_elements_name_the_element) {
  EXPECT_EQ(json::parse<Person>(R"({"names":["a","","b","four"],"marks":{"a":0,"b/c":7,"d":6}})").error().message(),
            "/names/1 must have 1 to 3 characters; /names/3 must have 1 to 3 characters; /marks/a must be from 1 to 6; "
            "/marks/b~1c must be from 1 to 6");
  EXPECT_EQ(json::parse<Person>(R"({"names":["",3],"marks":{}})").error().message(), "/names/1: expected a string");
  EXPECT_TRUE(json::parse<Person>(R"({"names":["a"],"marks":{}})").is_ok());
}

struct Line {
  std::string sku;
  int quantity = 0;
  static constexpr std::string_view optional_fields[] = {"quantity"};

  void rules(Check& check) const {
    check(sku).length(1, 4);
    check(quantity).range(1, 100);
  }
};
struct Order {
  std::vector<Line> unit_lines;
  int from = 0;
  int to = 0;
  static constexpr auto name_case = Case::Camel;

  void rules(Check& check) const {
    check(unit_lines).count(1, 2);
    check.that(from <= to, "from must not be after to");
  }
};

std::string wrong_of(std::string_view text) {
  const auto order = json::parse<Order>(text);
  return order ? "" : std::string(order.error().message());
}

TEST(Rules, are_called_for_each_struct_that_was_read) {
  EXPECT_EQ(wrong_of(R"({"unitLines":[{"sku":"a","quantity":1}],"from":1,"to":1})"), "");
  EXPECT_EQ(wrong_of(R"({"unitLines":[{"sku":"","quantity":1},{"sku":"abcde","quantity":101}],"from":1,"to":1})"),
            "/unitLines/0/sku must have 1 to 4 characters; /unitLines/1/sku must have 1 to 4 characters; "
            "/unitLines/1/quantity must be from 1 to 100");
  EXPECT_EQ(wrong_of(R"({"from":2,"to":1,"unitLines":[]})"),
            "/unitLines must have 1 to 2 elements; from must not be after to");
  EXPECT_EQ(json::parse<std::vector<Order>>(R"([{"unitLines":[{"sku":"a"}],"from":2,"to":1}])").error().message(),
            "/0: from must not be after to");
}

TEST(Rules, judge_neither_absent_fields_nor_a_struct_with_wrong_ones) {
  EXPECT_EQ(wrong_of(R"({"unitLines":[{"sku":"a"}],"from":1,"to":1})"), "");
  EXPECT_EQ(wrong_of(R"({"unitLines":3,"from":2,"to":1})"), "/unitLines: expected an array");
  EXPECT_EQ(wrong_of(R"({"unitLines":[{"sku":"a"}],"from":2})"), "/to is required");
}

}  // namespace
}  // namespace keel::rules_test
