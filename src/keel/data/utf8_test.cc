#include "keel/data/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::utf8_test {
namespace {

bool is_scalar(char32_t point) { return point < 0xD800 || (point > 0xDFFF && point <= 0x10FFFF); }

TEST(Utf8, accepts_every_scalar_value_it_encodes) {
  for (char32_t point = 0; point <= 0x10FFFF; ++point) {
    char bytes[4];
    const int length = utf8::encode(point, bytes);
    ASSERT_EQ(utf8::sequence_length(bytes, bytes + length), is_scalar(point) ? length : 0) << std::hex << +point;
  }
}

TEST(Utf8, refuses_every_sequence_that_is_cut_off) {
  for (const char32_t point : {U'é', U'€', U'😀'}) {
    char bytes[4];
    const int length = utf8::encode(point, bytes);
    for (int cut = 1; cut < length; ++cut) EXPECT_EQ(utf8::sequence_length(bytes, bytes + cut), 0);
  }
}

// Unicode 15, §3.9, table 3-7 and its neighbours.
TEST(Utf8, refuses_overlong_forms_surrogates_and_values_out_of_range) {
  for (const std::string_view text :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xED\xBF\xBF",
        "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFE", "\xFF", "\xC3(",
        "\xE2\x28\xA1", "\xF0\x28\x8C\xBC", "\xF8\x88\x80\x80\x80"}) {
    EXPECT_FALSE(utf8::is_valid(text)) << ::testing::PrintToString(text);
  }
}

TEST(Utf8, finds_the_first_bad_byte_at_every_offset) {
  for (std::size_t length = 1; length < 50; ++length) {
    for (std::size_t bad = 0; bad < length; ++bad) {
      std::string text(length, 'x');
      text[bad] = '\xFF';
      ASSERT_EQ(utf8::valid_prefix(text), bad);
    }
    EXPECT_TRUE(utf8::is_valid(std::string(length, 'x')));
  }
}

TEST(Utf8, validates_sequences_that_cross_its_blocks) {
  for (std::size_t before = 0; before < 40; ++before) {
    std::string text(before, 'x');
    text += "é€😀";
    EXPECT_TRUE(utf8::is_valid(text));
    text.pop_back();
    EXPECT_EQ(utf8::valid_prefix(text), before + 5);
  }
}

TEST(Utf8, calls_the_empty_text_valid) { EXPECT_TRUE(utf8::is_valid({})); }

}  // namespace
}  // namespace keel::utf8_test
