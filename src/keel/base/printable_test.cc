#include "keel/base/printable.h"

#include <gtest/gtest.h>

namespace keel::printable_test {
namespace {

TEST(Printable, leaves_text_as_it_is) {
  for (const char* text : {"", "plain", "with \"quotes\" and \\", "Zürich €  𝄞"}) EXPECT_EQ(printable(text), text);
}

TEST(Printable, escapes_what_a_terminal_or_a_reader_of_lines_would_obey) {
  const struct {
    std::string_view text, shown;
  } cases[] = {
      {"a\nb\r\tc", "a\\nb\\r\\tc"},
      {"\x1b[31mred\x1b[0m", "\\u{001b}[31mred\\u{001b}[0m"},
      {std::string_view("\0x", 2), "\\u{0000}x"},
      {"\x7f", "\\u{007f}"},
      {"\xc2\x9b"
       "2J",
       "\\u{009b}2J"},  // C1: CSI in one character.
      {"\xe2\x80\xae"
       "gpj",
       "\\u{202e}gpj"},  // Right-to-left override.
      {"\xe2\x80\xa8", "\\u{2028}"},
      {"\xff\xfe", "\\xff\\xfe"},
      {"\xc0\xaf", "\\xc0\\xaf"},           // Overlong.
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // A surrogate.
      {"cut \xe2\x82", "cut \\xe2\\x82"},   // The end of a character is missing.
  };
  for (const auto& c : cases) EXPECT_EQ(printable(c.text), c.shown);
}

}  // namespace
}  // namespace keel::printable_test
