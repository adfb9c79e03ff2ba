#include "gen/cpp.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::gen::cpp_test {
namespace {

TEST(Cpp, a_literal_is_read_as_its_bytes) {
  EXPECT_EQ(literal("a\"b\\c\n"), "\"a\\\"b\\\\c\\n\"");
  EXPECT_EQ(literal("\x01"
                    "2"),
            "\"\\0012\"");
  EXPECT_EQ(literal("größe"), "\"größe\"");
  EXPECT_EQ(literal("a?"
                    "?)"),
            "\"a?\\?)\"");
}

TEST(Cpp, a_long_literal_goes_on_in_the_next_line) {
  const std::string word(60, 'a');

  EXPECT_EQ(literal_line("  return ", word + ' ' + word, ";"),
            "  return \"" + word + " \"\n         \"" + word + "\";\n");
  EXPECT_EQ(literal_line("  return ", "a b", ";"), "  return \"a b\";\n");
}

TEST(Cpp, a_comment_is_the_first_paragraph_in_lines) {
  EXPECT_EQ(comment("  ", "One.\nTwo.\n\nThree."), "  // One. Two.\n");
  EXPECT_EQ(comment("", ""), "");
  EXPECT_EQ(comment("", "a\\"), "// a\n");
  const std::string word(70, 'a');
  EXPECT_EQ(comment("", word + ' ' + word), "// " + word + "\n// " + word + '\n');
  std::string words;
  for (int i = 0; i < 100; ++i) words += "word ";
  EXPECT_TRUE(comment("", words).ends_with(" …\n"));
}

TEST(Cpp, a_comment_does_not_take_the_next_line_into_it) {
  const std::string word(59, 'a');

  EXPECT_EQ(comment("", "a \\"), "// a\n");
  EXPECT_EQ(comment("", "a \\ \\\\ \\"), "// a\n") << "GCC joins lines at a backslash in front of blanks too";
  EXPECT_EQ(comment("", word + " \\ \\ " + word), "// " + word + "\n// " + word + "\n");
}

// CVE-2021-42574.
TEST(Cpp, controls_of_bidirectional_text_do_not_reach_the_source) {
  EXPECT_EQ(comment("", "a \u202E/*b\u2066 c\u200F"), "// a /*b c\n");
  EXPECT_EQ(literal("a\u202Eb\u061C"), "\"a\\342\\200\\256b\\330\\234\"");
  EXPECT_EQ(literal("\u2014\u0628"), "\"\u2014\u0628\"") << "a dash and an Arabic letter";
}

TEST(Cpp, a_call_fills_its_lines) {
  const std::string word(50, 'a');

  EXPECT_EQ(call("f", "(", {"a", "b"}, ");"), "f(a, b);\n");
  EXPECT_EQ(call("f", "(", {word, word, word}, ");"), "f(" + word + ", " + word + ",\n  " + word + ");\n");
}

TEST(Cpp, a_list_has_an_element_a_line_where_it_does_not_fit) {
  const std::string word(70, 'a');

  EXPECT_EQ(list("", "x[] = ", std::vector<std::string>{"a", "b"}, ";"), "x[] = {a, b};\n");
  EXPECT_EQ(list("", "x[] = ", std::vector<std::string>{word, word}, ";"),
            "x[] = {\n    " + word + ",\n    " + word + ",\n};\n");
}

TEST(Cpp, a_hash_depends_on_the_text_alone) {
  EXPECT_EQ(hash_of("a"), hash_of("a"));
  EXPECT_NE(hash_of("a"), hash_of("b"));
  EXPECT_EQ(hash_of("").size(), 8u);
}

}  // namespace
}  // namespace keel::gen::cpp_test
