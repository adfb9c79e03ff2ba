#include "keel/data/internal/json_cursor_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

namespace keel::json_cursor_test {
namespace {

constexpr std::string_view whole_text =
    R"({"a":-12,"bb":4294967295,"ccc":-999999999999999999,"dddd":18446744073709551615,"eeeee":97.25,"f":true,)"
    R"("text":"Käthe says \"hi\"","eightlet":"Zoë","perhaps":null,"numbers":[0.1,-0,1e3,123456789.123456789,12,)"
    R"(1234567890.12345],"texts":["","a longer text than sixteen bytes"],"pair":[1,2],"inner_of_many_letters":)"
    R"({"number_of_thes":false,"s":"x","number_of_them":7},"unknown":{"a":[1,"]"]},"outers":[{"f":false,"a":1}]})";

std::string shown(std::string_view text) { return std::string(text) + "\n" + difference(text); }

TEST(JsonCursor, reads_a_text_as_a_reader_alone_does) {
  Arena arena;
  Violations wrong;
  Outer outer;
  EXPECT_TRUE(json::read(outer, whole_text, arena, wrong));
  EXPECT_EQ(outer.a, -12);
  EXPECT_EQ(outer.dddd, 18'446'744'073'709'551'615u);
  EXPECT_EQ(outer.text, "Käthe says \"hi\"");
  EXPECT_EQ(outer.inner_of_many_letters.number_of_them, 7);
  EXPECT_EQ(difference(whole_text), "");
}

TEST(JsonCursor, agrees_with_a_reader_alone_about_each_text_that_ends_early) {
  // In memory of its own, so that a sanitizer sees a byte that is read behind the end.
  for (std::size_t size = 0; size < whole_text.size(); ++size) {
    const auto copy = std::make_unique<char[]>(size);
    whole_text.copy(copy.get(), size);
    const std::string_view text(copy.get(), size);
    ASSERT_EQ(difference(text), "") << shown(text);
  }
}

TEST(JsonCursor, agrees_with_a_reader_alone_about_each_text_with_one_byte_replaced) {
  constexpr std::string_view bytes("\0\n \"\\,:{}[]-+.eE019atf\x1F\x7F\x80\xC3\xFF", 27);
  std::string text(whole_text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char byte : bytes) {
      text[i] = byte;
      ASSERT_EQ(difference(text), "") << shown(text);
    }
    text[i] = whole_text[i];
  }
}

TEST(JsonCursor, agrees_with_a_reader_alone_about_each_text_with_one_byte_more_or_less) {
  constexpr std::string_view bytes(" \n\"\\,}]-.e0\xA4", 12);
  for (std::size_t i = 0; i <= whole_text.size(); ++i) {
    for (const char byte : bytes) {
      std::string text(whole_text);
      text.insert(i, 1, byte);
      ASSERT_EQ(difference(text), "") << shown(text);
    }
    if (i == whole_text.size()) break;
    std::string text(whole_text);
    text.erase(i, 1);
    ASSERT_EQ(difference(text), "") << shown(text);
  }
}

TEST(JsonCursor, agrees_with_a_reader_alone_about_numbers_at_the_edges_of_their_types) {
  for (const std::string_view field : {"a", "bb", "ccc", "dddd", "eeeee", "perhaps"}) {
    for (const std::string_view number : {"0",
                                          "-0",
                                          "00",
                                          "01",
                                          "-01",
                                          "1",
                                          "-1",
                                          "-",
                                          "+1",
                                          ".5",
                                          "5.",
                                          "5.e1",
                                          "1e",
                                          "1e+",
                                          "1E-2",
                                          "1.5e3",
                                          "0.0",
                                          "-0.0",
                                          "0e0",
                                          "2147483647",
                                          "2147483648",
                                          "-2147483648",
                                          "-2147483649",
                                          "4294967295",
                                          "4294967296",
                                          "12345678",
                                          "123456789",
                                          "1234567890123456",
                                          "12345678901234567",
                                          "999999999999999999",
                                          "1000000000000000000",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "-9223372036854775808",
                                          "-9223372036854775809",
                                          "18446744073709551615",
                                          "18446744073709551616",
                                          "123456789012345678901234567890",
                                          "9007199254740993",
                                          "0.1",
                                          "0.123456789012345",
                                          "0.1234567890123456",
                                          "0.12345678901234567",
                                          "123456789012345.5",
                                          "1234567890123456.",
                                          "1234567890123456.5",
                                          "1.7976931348623157e308",
                                          "1e308",
                                          "1e309",
                                          "-1e309",
                                          "5e-324",
                                          "1e-400",
                                          "0.000000000000000000001",
                                          "1.00000000000000011102230246251565",
                                          "1.5x",
                                          "1-",
                                          "1.5.",
                                          "1.5-",
                                          "12345678.12345678e",
                                          "12345678.12345678x",
                                          "NaN",
                                          "inf",
                                          "0x1"}) {
      for (const std::string_view behind : {"}", " }", "\n}", ",\"f\":true}", "]", ""}) {
        const std::string text = R"({"a":1,")" + std::string(field) + "\":" + std::string(number) + std::string(behind);
        ASSERT_EQ(difference(text), "") << shown(text);
        // First, and so not given twice.
        const std::string first = "{\"" + std::string(field) + "\":" + std::string(number) + std::string(behind);
        ASSERT_EQ(difference(first), "") << shown(first);
      }
    }
  }
}

TEST(JsonCursor, rounds_doubles_of_any_number_of_digits_as_the_standard_library_does) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2'000; ++round) {
    // The middle between two doubles, what is just above it, and any digits.
    std::string text = R"({"a":1,"numbers":[4503599627370496.5,4503599627370497.5,9007199254740993.0,)"
                       R"(2251799813685248.25,2251799813685248.75,2251799813685248.251,9007199254740992.999)";
    for (int i = 0; i < 50; ++i) {
      std::string digits = std::to_string(random());
      digits.resize(std::min<std::size_t>(digits.size(), 1 + random() % 21));
      const std::size_t point = 1 + random() % digits.size();
      if (point < digits.size()) digits.insert(point, 1, '.');
      if (random() % 4 == 0) digits = "0." + std::string(random() % 5, '0') + digits.substr(0, digits.find('.'));
      text += (random() % 2 == 0 ? ",-" : ",") + digits;
    }
    ASSERT_EQ(difference(text + "]}"), "") << shown(text);
  }
}

TEST(JsonCursor, agrees_with_a_reader_alone_about_strings_of_every_length) {
  for (const std::string_view inside :
       {"", "é", "\\n", "\\\"", "\x01", "\xFF", "\xC3", "\xED\xA0\x80", "日本", "\\u00e9"}) {
    for (std::size_t size = 0; size < 70; ++size) {
      for (const std::size_t front : {std::size_t{0}, size / 2, size}) {
        const std::string content = std::string(front, 'x') + std::string(inside) + std::string(size - front, 'y');
        const std::string text = R"({"a":1,"text":")" + content + R"(","eightlet":")" + content + "\"}";
        ASSERT_EQ(difference(text), "") << shown(text);
      }
    }
  }
}

TEST(JsonCursor, finds_keys_in_any_order_and_with_space_anywhere) {
  constexpr std::string_view members[] = {R"("a":1)",      R"("eightlet":"x")", R"("numbers":[1,2])",
                                          R"("f":true)",   R"("pair":[1,2])",   R"("number_of_them":4)",
                                          R"("outers":[])"};
  for (std::size_t first = 0; first < std::size(members); ++first) {
    for (std::size_t step = 1; step < std::size(members); ++step) {
      std::string text = "{";
      std::string spaced = " {\n";
      for (std::size_t i = 0; i < std::size(members); ++i) {
        const std::string_view member = members[(first + i * step) % std::size(members)];
        text += (i == 0 ? "" : ",") + std::string(member);
        spaced += (i == 0 ? " " : " , ") + std::string(member);
        spaced.insert(spaced.find(':', spaced.size() - member.size()), " \t");
        spaced.insert(spaced.find(':', spaced.size() - member.size()) + 1, "\r\n ");
      }
      ASSERT_EQ(difference(text + "}"), "") << shown(text);
      ASSERT_EQ(difference(spaced + " }\n"), "") << shown(spaced);
    }
  }
}

TEST(JsonCursor, agrees_with_a_reader_alone_about_a_text_nested_too_deeply) {
  for (const int depth : {10, 63, 64, 65}) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += R"({"a":1,"outers":[)";
    ASSERT_EQ(difference(text), "");
    for (int i = 0; i < depth; ++i) text += "]}";
    ASSERT_EQ(difference(text), "");
    EXPECT_EQ(difference(text + "}"), "");
  }
}

}  // namespace
}  // namespace keel::json_cursor_test
