#include "keel/contract/regex.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "keel/base/host.h"

namespace keel::contract::regex_test {
namespace {

struct Case {
  std::string_view pattern;
  std::string_view re2;
};

TEST(Regex, what_RE2_writes_otherwise_is_translated) {
  const std::vector<Case> cases = {
      {"^[A-Z]{2}-\\d+$", "^[A-Z]{2}-\\d+$"},
      {"\\/a", "/a"},
      {"a.b", "a[^\\n\\r\\x{2028}\\x{2029}]b"},
      {"\\cC\\x41\\u00e9\\u{1F600}\\ud83d\\ude00", "\\x{3}\\x{41}\\x{e9}\\x{1f600}\\x{1f600}"},
      {"(?<year>a)(?:b)", "(a)(?:b)"},
      {"\\p{Letter}\\P{L}\\p{Script=Greek}", "\\p{L}\\P{L}\\p{Greek}"},
      {"[\\b\\-[:]", "[\\x{8}\\-\\[:]"},
      {"[^]", "[\\x{0}-\\x{10ffff}]"},
      {"[]", "[^\\x{0}-\\x{10ffff}]"},
      {"\\0", "\\x{0}"},
      {"a*?b+?c??d{2,}?", "a*?b+?c??d{2,}?"},
  };

  for (const Case& one : cases) {
    const Regex regex(one.pattern);
    EXPECT_EQ(regex.re2, one.re2) << one.pattern;
    EXPECT_TRUE(regex.is_ecma) << one.pattern;
  }
}

TEST(Regex, spaces_are_those_of_ECMA_262) {
  EXPECT_EQ(Regex("\\s").re2.substr(0, 24), "[\\x{9}-\\x{d}\\x{20}\\x{a0}");
  EXPECT_EQ(Regex("[\\S]").re2.substr(0, 12), "[\\x{0}-\\x{8}");
}

TEST(Regex, what_needs_more_than_linear_time_stays_and_is_known) {
  EXPECT_TRUE(Regex("^(?!a)b").has_look_around);
  EXPECT_TRUE(Regex("(?<=a)b").is_ecma);
  EXPECT_FALSE(Regex("\\(?=a").has_look_around);
  EXPECT_FALSE(Regex("[(?=]").has_look_around);
  EXPECT_EQ(Regex("(a)\\1").re2, "(a)\\1");
}

TEST(Regex, what_is_no_pattern_of_ECMA_262_stays_as_it_is) {
  for (const std::string_view pattern :
       {"(?i)a", "\\Aa\\z", "a]", "{", "a**", "(", ")", "[a", "\\", "\\p{", "\\u00", "^*"}) {
    EXPECT_FALSE(Regex(pattern).is_ecma) << pattern;
    EXPECT_EQ(Regex(pattern).re2, pattern) << pattern;
    EXPECT_FALSE(is_regex(pattern)) << pattern;
  }
}

// A client's text, for the format `regex`: searched to its end for each of these, it would take seconds.
TEST(Regex, what_is_never_closed_is_searched_for_once) {
  for (const std::string_view open : {"(?<", "\\p{", "\\k<", "\\u{"}) {
    for (const std::string_view before : {"", "["}) {
      std::string text(before);
      for (int i = 0; i < 350'000; ++i) text += open;
      const Instant begun = Host::system().precise_now();
      EXPECT_FALSE(is_regex(text)) << before << open;
      EXPECT_LT(Host::system().precise_now() - begun, 200_ms) << before << open;
    }
  }
}

}  // namespace
}  // namespace keel::contract::regex_test
