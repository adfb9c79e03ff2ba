#include "sql/lexemes.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::sql::lexemes_test {
namespace {

// Each token with a letter for its kind.
std::string tokens(std::string_view text) {
  std::string said;
  for (const Lexeme& lexeme : lexemes_of(text)) {
    if (lexeme.kind == Lexeme::Kind::End) break;
    said += (said.empty() ? "" : " ") + std::string(1, "wqntbps"[static_cast<int>(lexeme.kind)]) + ':' +
            std::string(lexeme.text);
  }
  return said;
}

TEST(Lexemes, are_words_numbers_and_symbols) {
  EXPECT_EQ(tokens("select a1,b_$ from t where x>=1.5e-3 and y<>0xff"),
            "w:select w:a1 s:, w:b_$ w:from w:t w:where w:x s:>= n:1.5e-3 w:and w:y s:<> n:0xff");
  EXPECT_EQ(tokens("$1 $name a->>'x' ||b"), "p:$1 p:$name w:a s:->> t:'x' s:|| w:b");
}

TEST(Lexemes, in_quotes_are_one) {
  EXPECT_EQ(tokens("'it''s' \"a \"\"b\"\"\" `c` [d e] x'00'"), "t:'it''s' q:\"a \"\"b\"\"\" q:`c` q:[d e] b:x'00'");
  EXPECT_EQ(lexemes_of("'it''s'")[0].value(), "it's");
  EXPECT_EQ(lexemes_of("[d e]")[0].value(), "d e");
  EXPECT_EQ(tokens("'open"), "t:'open") << "to the end";
}

TEST(Lexemes, have_brackets_of_arrays) {
  EXPECT_EQ(tokens("any(array[$1, $2]) and a[1][$3] from [t u]"),
            "w:any s:( w:array s:[ p:$1 s:, p:$2 s:] s:) w:and w:a s:[ n:1 s:] s:[ p:$3 s:] w:from q:[t u]");
  EXPECT_EQ(tokens("(f(x))[$1]"), "s:( w:f s:( w:x s:) s:) s:[ p:$1 s:]");
}

TEST(Lexemes, in_dollar_quotes_are_one_text) {
  EXPECT_EQ(tokens("a $$it's -- $1$$ b $tag$ $$ $t$ $tag$$1 c$$ $2"),
            "w:a t:$$it's -- $1$$ w:b t:$tag$ $$ $t$ $tag$ p:$1 w:c$$ p:$2");
  EXPECT_EQ(lexemes_of("$$it's$$")[0].value(), "it's");
  EXPECT_EQ(lexemes_of("$tag$a $$ b$tag$")[0].value(), "a $$ b");
  EXPECT_EQ(lexemes_of("$$$$")[0].value(), "");
  EXPECT_EQ(tokens("$$open; x"), "t:$$open; x") << "to the end";
  EXPECT_EQ(lexemes_of("$$open")[0].value(), "open");
}

TEST(Lexemes, in_quotes_with_escapes_are_one_text) {
  EXPECT_EQ(tokens(R"(e'it\'s  $1' E'\\' e'''\'' date'\' e1'\' x)"),
            R"(t:e'it\'s  $1' t:E'\\' t:e'''\'' w:date t:'\' w:e1 t:'\' w:x)");
  EXPECT_EQ(lexemes_of(R"(e'it\'s ''\\\n')")[0].value(), "it's '\\\n");
  EXPECT_EQ(tokens("e'a'\n 'b\\'c' $1"), "t:e'a'\n 'b\\'c' p:$1") << "a literal on the next line continues it";
  EXPECT_EQ(tokens("e'open\\'"), "t:e'open\\'") << "to the end";
  EXPECT_EQ(lexemes_of("e'open\\")[0].value(), "open");
}

TEST(Lexemes, leave_comments_out) {
  EXPECT_EQ(tokens("a -- b 'c\nd /* e ' */ f /* open"), "w:a w:d w:f");
  EXPECT_EQ(tokens("a /* b /* c */ d */ e"), "w:a w:e") << "they nest in PostgreSQL";
  EXPECT_EQ(tokens("a /* b /* c */ d /* e */ f"), "w:a w:d w:f") << "and not in SQLite";
  EXPECT_EQ(skip_comment("-- a\nb", 0), 4u);
  EXPECT_EQ(skip_comment("a", 0), 0u);
}

// A text that ends anywhere is still tokens, each at its place.
TEST(Lexemes, of_a_text_that_ends_anywhere_stand_in_it) {
  const std::string text =
      "select 'a''b', \"c\", $1, $$x$$, $t$ $ $t$ /* d /* g */ */ from [e] -- f\nwhere x'00' >= 1.5e-3 and e'\\'\\\\' "
      "<> E'''\\n'\n -- '\n '\\''";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    std::size_t end = 0;
    for (const Lexeme& lexeme : lexemes_of(std::string_view(text).substr(0, size))) {
      ASSERT_GE(lexeme.offset, end);
      end = lexeme.offset + lexeme.text.size();
      ASSERT_LE(end, size);
      EXPECT_EQ(lexeme.text, std::string_view(text).substr(lexeme.offset, lexeme.text.size()));
      static_cast<void>(lexeme.value());
    }
  }
}

}  // namespace
}  // namespace keel::sql::lexemes_test
