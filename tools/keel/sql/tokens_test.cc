#include "sql/tokens.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::sql::sql_tokens_test {
namespace {

using Kind = Token::Kind;

// A letter for each kind, and the text: "n:int p:; t:…". A literal is what it stands for, between quotes.
std::string seen(std::string_view source) {
  std::string text;
  for (const Token& token : tokens_of(source)) {
    if (!text.empty()) text += ' ';
    text += "ndNtcpe"[static_cast<int>(token.kind)];
    if (token.kind == Kind::Text) {
      text += '"' + token.value + '"';
    } else {
      text += token.text;
    }
  }
  return text;
}

TEST(Tokens, are_names_numbers_and_punctuation) {
  EXPECT_EQ(seen("auto x_1 = a->b::c(12);"), "nauto nx_1 p= na p-> nb p:: nc p( N12 p) p;");
  EXPECT_EQ(seen("x>>1"), "nx p> p> N1") << "brackets of templates are counted one by one";
  EXPECT_EQ(seen("$name größe"), "n$name ngröße");
}

TEST(Tokens, of_a_number_are_one) {
  EXPECT_EQ(seen("1'000'000u 0xAB'CD 1.5e-3f .5 0b1'0 1ms 1e+5+2"),
            "N1'000'000u N0xAB'CD N1.5e-3f N.5 N0b1'0 N1ms N1e+5 p+ N2");
  EXPECT_EQ(seen("1'"), "N1 c'") << "a separator stands between digits";
}

TEST(Tokens, are_none_in_comments) {
  EXPECT_EQ(seen("a // \"b\" \nc /* \" ' */ d"), "na nc nd");
  EXPECT_EQ(seen("a // goes on \\\n b\nc"), "na nc");
  EXPECT_EQ(seen("a /* open"), "na");
  EXPECT_EQ(seen("a / b /c"), "na p/ nb p/ nc");
  EXPECT_EQ(seen("\"// no comment\" '\\'' '\"' x"), "t\"// no comment\" c'\\'' c'\"' nx");
}

TEST(Tokens, of_a_literal_have_what_it_stands_for) {
  EXPECT_EQ(seen(R"("a\n\t\"\\\?\'")"), "t\"a\n\t\"\\?'\"");
  EXPECT_EQ(seen(R"("\101\60\0611\x41\x{42}\o{103}")"), "t\"A011ABC\"");
  EXPECT_EQ(seen(R"("\u00e9\u20ac\U0001F600\u{e9}")"), "t\"é€😀é\"");
  EXPECT_EQ(seen("\"one \\\ntwo\""), "t\"one two\"");
  EXPECT_EQ(seen("\"one \\\r\ntwo\""), "t\"one two\"");
  EXPECT_EQ(seen("u8\"a\" L\"b\" u\"c\" U\"d\""), "t\"a\" t\"b\" t\"c\" t\"d\"");
  EXPECT_EQ(seen("R(\"a\")"), "nR p( t\"a\" p)");
}

TEST(Tokens, of_a_raw_literal_are_its_bytes) {
  EXPECT_EQ(seen("R\"(a \"b\" \\n\n)\" c"), "t\"a \"b\" \\n\n\" nc");
  EXPECT_EQ(seen("u8R\"sql(a )\" b)sql\";"), "t\"a )\" b\" p;");
  EXPECT_EQ(seen("R\"(open"), "t\"open\"");
  EXPECT_EQ(seen("R\"x"), "t\"\" nx") << "no bracket follows";
}

TEST(Tokens, of_what_is_not_closed_end_with_the_line) {
  EXPECT_EQ(seen("\"open\nb"), "t\"open\" nb");
  EXPECT_EQ(seen("'o\nb"), "c'o nb");
  EXPECT_EQ(seen("\"open\\"), "t\"open\\\"");
  EXPECT_EQ(seen("'\\"), "c'\\");
}

TEST(Tokens, of_directives_end_with_their_line) {
  EXPECT_EQ(seen("#include \"a.h\"\n#pragma once\n#error don't\nx"), "nx");
  EXPECT_EQ(seen("#define NAME \"a\" \\\n \"b\"\nx"), "dNAME t\"a\" t\"b\" e nx");
  EXPECT_EQ(seen("  # define F(x) x"), "dF p( nx p) nx e");
  EXPECT_EQ(seen("#if A\nx\n#endif\n"), "nA e nx e");
  EXPECT_EQ(seen("a # b"), "na p# nb");
  EXPECT_EQ(seen("#define\nx"), "e nx");
}

TEST(Tokens, know_where_each_byte_of_a_literal_stands) {
  const std::string source = "x = \"a\\n\\u00e9b\" ;";
  const Token text = tokens_of(source)[2];

  EXPECT_EQ(text.offset, 4u);
  EXPECT_EQ(text.text, "\"a\\n\\u00e9b\"");
  ASSERT_EQ(text.value,
            "a\n\xc3\xa9"
            "b");
  EXPECT_EQ(text.origin, (std::vector<std::uint32_t>{5, 6, 8, 8, 14, 15}));
}

// Whatever the source is cut to: tokens stand in it, in order, and do not overlap.
TEST(Tokens, are_found_in_every_beginning_and_end_of_a_source) {
  const std::string source =
      "#define A \"x\\\ny\"\nR\"a(b)a\" u8R\"(c)\" '\\'' \"\\x41\\u{e9}\\101\\\n\" 1'0e-3 /* c */ a->b::c // d\n# if "
      "1\n";
  const auto check = [](std::string_view text) {
    std::size_t end = 0;
    for (const Token& token : tokens_of(text)) {
      ASSERT_GE(token.offset, end);
      ASSERT_EQ(text.substr(token.offset, token.text.size()), token.text);
      end = token.offset + token.text.size();
      ASSERT_EQ(token.origin.size(), token.kind == Kind::Text ? token.value.size() + 1 : 0);
      for (const std::uint32_t at : token.origin) ASSERT_TRUE(at > token.offset && at <= end) << text;
    }
  };

  for (std::size_t i = 0; i <= source.size(); ++i) {
    check(std::string_view(source).substr(0, i));
    check(std::string_view(source).substr(i));
  }
}

}  // namespace
}  // namespace keel::sql::sql_tokens_test
