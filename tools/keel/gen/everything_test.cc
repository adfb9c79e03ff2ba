// What is generated from testdata/everything.yaml: JSONTestSuite through its reader, and schemas whose keywords meet.

#include "everything/types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"

namespace keel::gen::everything_test {
namespace {

namespace fs = std::filesystem;
using everything::Everything;

template <class T>
bool takes(std::string_view text) {
  T value;
  Arena arena;
  Violations wrong;
  return json::read(value, text, arena, wrong);
}

fs::path suite() {
  const char* const corpora = std::getenv("KEEL_CORPORA");
  const fs::path folder = corpora != nullptr ? fs::path(corpora) : fs::path(KEEL_SOURCE_DIR) / "../shared/corpora";
  return folder / "JSONTestSuite/test_parsing";
}

// The text is the value of each member that takes any value, and of one that is passed over.
std::array<std::string, 7> around(const std::string& text) {
  return {"{\"any\":" + text + "}",
          "{\"unknown\":" + text + "}",
          "{\"checked\":" + text + "}",
          "{\"map\":{\"a\":" + text + "}}",
          "{\"lists\":[[0," + text + "]]}",
          "{\"variant\":[0," + text + "]}",
          "{\"object\":{\"any\":" + text + "}}"};
}

TEST(Everything, is_read_as_JSONTestSuite_says) {
  if (!fs::exists(suite())) GTEST_SKIP() << suite() << " is not there";
  int accepted = 0;
  int refused = 0;
  int either = 0;
  int typed = 0;
  for (const auto& entry : fs::directory_iterator(suite())) {
    const std::string name = entry.path().filename();
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    // Numbers that a finite double cannot approximate are refused, and so is a member that is given twice.
    const bool is_own_limit = name.starts_with("y_object_duplicated_key");
    const bool is_valid = name.starts_with("y_") && !is_own_limit;
    if (name.starts_with("i_")) {
      // Nothing is said about it; a reader comes back.
      for (const std::string& one : around(text)) takes<Everything>(one);
      ++either;
      continue;
    }
    if (is_own_limit) continue;
    ++(is_valid ? accepted : refused);
    for (const std::string& one : around(text)) {
      EXPECT_EQ(takes<Everything>(one), is_valid) << name << ": " << one.substr(0, 200);
      if (!is_valid || !takes<Everything>(one)) continue;
      const auto value = json::parse<Everything>(one);
      const auto again = json::parse<Everything>(json::write(*value));
      EXPECT_TRUE(again && *again == *value) << name;
    }
    EXPECT_FALSE(!is_valid && takes<Everything>(text)) << name;
    for (const auto& [begin, member] : {std::pair("y_number", "numbers"), {"y_string", "strings"}}) {
      if (!name.starts_with(begin) || text.find('[') == text.npos) continue;
      EXPECT_TRUE(takes<Everything>("{\"" + std::string(member) + "\":" + text + "}")) << name;
      ++typed;
    }
    if (is_valid && text.starts_with('{')) {
      EXPECT_TRUE(takes<Everything>(text)) << name;
    }
  }
  std::printf("%d accepted, %d refused, %d either way; %d of them in a list of numbers or of texts\n", accepted,
              refused, either, typed);
  EXPECT_GE(accepted, 90);
  EXPECT_GE(refused, 180);
}

TEST(Everything, members_that_a_pattern_names_are_not_additional) {
  EXPECT_TRUE(takes<everything::Patterns>(R"({"name":"a","fxo":[1],"other":1})"));
  EXPECT_FALSE(takes<everything::Patterns>(R"({"fxo":1})"));
  EXPECT_FALSE(takes<everything::Patterns>(R"({"other":[1]})"));

  const auto value = json::parse<everything::Patterns>(R"({"fxo":[1],"other":2})");
  EXPECT_EQ(json::write(*value), R"({"fxo":[1],"other":2})");
  const auto only = json::parse<everything::OnlyPatterns>(R"({"map":{"x1":1,"x2":2}})");
  EXPECT_EQ(json::write(*only), R"({"map":{"x1":1,"x2":2}})");
  EXPECT_FALSE(takes<everything::OnlyPatterns>(R"({"map":{"y":1}})"));
}

TEST(Everything, an_object_that_fits_two_alternatives_of_oneOf_is_refused) {
  EXPECT_TRUE(takes<everything::ByName>(R"({"first":1})"));
  EXPECT_TRUE(takes<everything::ByName>(R"({"second":1})"));
  EXPECT_FALSE(takes<everything::ByName>(R"({"first":1,"second":1})"));
  EXPECT_FALSE(takes<everything::ByName>("{}"));
}

TEST(Everything, whole_numbers_are_multiples_of_what_divides_one) {
  EXPECT_TRUE(takes<everything::Multiples>(R"({"quarter":9007199254740993,"fine":12391239123,"third":3})"));
  EXPECT_FALSE(takes<everything::Multiples>(R"({"third":4})"));
}

TEST(Everything, patterns_are_those_of_ECMA_262) {
  EXPECT_TRUE(takes<everything::Ecma>(R"({"control":"\u0003","letters":"aπ","space":"\u2003"})"));
  EXPECT_FALSE(takes<everything::Ecma>(R"({"control":"\\cC"})"));
  EXPECT_FALSE(takes<everything::Ecma>(R"({"letters":"1"})"));
  EXPECT_FALSE(takes<everything::Ecma>(R"({"space":"x"})"));
}

TEST(Everything, unevaluatedProperties_sees_what_it_stands_beside) {
  EXPECT_TRUE(takes<everything::Cousins>("{}"));
  EXPECT_FALSE(takes<everything::Cousins>(R"({"foo":1})"));
  EXPECT_TRUE(takes<everything::Open>(R"({"foo":1,"bar":2})"));
  EXPECT_TRUE(takes<everything::Closed>(R"({"foo":1,"bar":2})"));
  EXPECT_TRUE(takes<everything::Closed>(R"({"foo":1,"bar":2,"baz":3})"));
  EXPECT_FALSE(takes<everything::Closed>(R"({"foo":1,"bar":2,"other":3})"));
}

TEST(Everything, a_required_member_that_is_no_property_is_one_of_the_others) {
  EXPECT_TRUE(takes<everything::Others>(R"({"a":1})"));
  EXPECT_FALSE(takes<everything::Others>(R"({"a":"x"})"));
  EXPECT_FALSE(takes<everything::Impossible>(R"({"a":1})"));
  EXPECT_FALSE(takes<everything::Impossible>("{}"));
}

TEST(Everything, null_is_taken_where_an_alternative_takes_it) {
  EXPECT_TRUE(takes<everything::NullWithin>(R"({"value":null})"));
  EXPECT_TRUE(takes<everything::NullWithin>(R"({"value":"x"})"));
  EXPECT_TRUE(takes<everything::NullWithin>(R"({"value":[1]})"));
  EXPECT_FALSE(takes<everything::NullWithin>(R"({"value":1})"));
  EXPECT_TRUE(takes<everything::NullWithin>(R"({"any":null})"));
  EXPECT_TRUE(takes<everything::NullWithin>(R"({"any":[1]})"));
  EXPECT_FALSE(takes<everything::NullWithin>(R"({"any":true})"));
}

TEST(Everything, null_that_two_alternatives_of_oneOf_take_is_refused) {
  using everything::NullTwice;
  EXPECT_FALSE(takes<NullTwice>(R"({"twice":null})"));
  EXPECT_TRUE(takes<NullTwice>(R"({"twice":"x"})"));
  EXPECT_FALSE(takes<NullTwice>(R"({"any":null})"));
  EXPECT_TRUE(takes<NullTwice>(R"({"any":["x"]})"));
  EXPECT_FALSE(takes<NullTwice>(R"({"lists":null})"));
  EXPECT_TRUE(takes<NullTwice>(R"({"lists":[1]})"));
  EXPECT_FALSE(takes<NullTwice>(R"({"text":null})"));
  EXPECT_TRUE(takes<NullTwice>(R"({"text":"abc"})"));
  EXPECT_FALSE(takes<NullTwice>(R"({"text":"abcd"})"));
  EXPECT_TRUE(takes<NullTwice>(R"({"once":null})"));
  EXPECT_TRUE(takes<NullTwice>(R"({"once":"x"})"));
}

TEST(Everything, an_object_fits_anyOf_when_it_fits_one_of_those_that_it_names) {
  using everything::AnyByName;
  EXPECT_TRUE(takes<AnyByName>(R"({"first":1})"));
  EXPECT_TRUE(takes<AnyByName>(R"({"first":1,"second":2})"));
  EXPECT_TRUE(takes<AnyByName>(R"({"first":"x","second":2})"));
  EXPECT_TRUE(takes<AnyByName>(R"({"first":1,"second":"x"})"));
  EXPECT_FALSE(takes<AnyByName>(R"({"first":"x","second":"x"})"));
  EXPECT_FALSE(takes<AnyByName>(R"({"first":"x"})"));
  EXPECT_FALSE(takes<AnyByName>("{}"));
  EXPECT_EQ(json::parse<AnyByName>(R"({"first":"x","second":2})")->index(), 1u);

  using everything::AnyOrOpen;
  EXPECT_EQ(json::parse<AnyOrOpen>(R"({"name":"x"})")->index(), 0u);
  EXPECT_EQ(json::parse<AnyOrOpen>(R"({"name":1})")->index(), 1u);
  EXPECT_TRUE(takes<AnyOrOpen>("{}"));
  EXPECT_FALSE(takes<AnyOrOpen>(R"({"name":1,"number":"x"})"));
}

TEST(Everything, formats_of_small_integers_and_an_empty_constant_are_checked) {
  EXPECT_TRUE(takes<everything::Narrow>(R"({"small":-128,"text":""})"));
  EXPECT_TRUE(takes<everything::Narrow>(R"({"text":"full"})"));
  EXPECT_FALSE(takes<everything::Narrow>(R"({"small":128})"));
  EXPECT_FALSE(takes<everything::Narrow>(R"({"text":"other"})"));
}

TEST(Everything, the_one_alternative_that_is_of_the_type_is_read) {
  EXPECT_TRUE(takes<everything::OneOfThem>(R"({"value":{"a":"x"}})"));
  EXPECT_FALSE(takes<everything::OneOfThem>(R"({"value":true})"));
}

TEST(Everything, no_value_fits_alternatives_that_contradict_the_type) {
  EXPECT_TRUE(takes<everything::Contradiction>("{}"));
  EXPECT_FALSE(takes<everything::Contradiction>(R"({"nothing":true})"));
  EXPECT_FALSE(takes<everything::Contradiction>(R"({"nothing":{"a":"x"}})"));
}

}  // namespace
}  // namespace keel::gen::everything_test
