#include "keel/data/decimal.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "keel/base/bug.h"
#include "keel/data/binary_value.h"
#include "keel/data/cbor.h"
#include "keel/data/internal/slow_decimal_test.h"
#include "keel/data/json.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_schema.h"
#include "keel/data/json_value.h"
#include "keel/data/json_write.h"
#include "keel/data/message_pack.h"
#include "keel/data/record.h"
#include "keel/data/record_fields.h"
#include "keel/data/rules.h"
#include "keel/data/text_fields.h"

namespace keel::decimal_test {
namespace {

const std::string nines(36, '9');

Decimal decimal(std::string_view text) { return Decimal::parse(text).value(); }
std::string text_of(const Result<Decimal>& value) {
  return value ? std::string(value->text().view()) : "error: " + std::string(value.error().message());
}
std::string hex_of(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    for (const int digit : {static_cast<unsigned char>(c) >> 4, c & 15}) text += "0123456789abcdef"[digit];
  }
  return text;
}

TEST(Decimal, reads_what_it_writes) {
  for (const std::string& text :
       {std::string("0"), std::string("0.00"), std::string("1"), std::string("-1"), std::string("19.90"),
        std::string("-0.001"), std::string("100"), std::string("1234567890123456789.0123456789"), nines, '-' + nines,
        "0." + nines, "-0." + nines, nines.substr(0, 34) + ".99", std::string("0.000000000000000000000000000000000001"),
        std::string("340282366920938463463374607431768211"), std::string("18446744073709551616")}) {
    const Result<Decimal> read = Decimal::parse(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->text(), text);
  }
  EXPECT_EQ(Decimal().text(), "0");
  EXPECT_EQ(decimal("19.90").scale(), 2);
  EXPECT_EQ(Decimal::highest().text(), nines);
  EXPECT_EQ(Decimal::lowest().text(), '-' + nines);
}

TEST(Decimal, reads_exponents_and_zeros_that_do_not_fit) {
  const std::pair<std::string, std::string> texts[] = {
      {"1e3", "1000"},
      {"1.5E+3", "1500"},
      {"15e-1", "1.5"},
      {"1.50e1", "15.0"},
      {"-0", "0"},
      {"-0.00", "0.00"},
      {"0e999999999999", "0"},
      {"0e-999999999999", "0." + std::string(36, '0')},
      {"1e35", '1' + std::string(35, '0')},
      {"1e-36", "0." + std::string(35, '0') + '1'},
      {"10e-37", "0." + std::string(35, '0') + '1'},
      {"1." + std::string(100, '0'), "1." + std::string(35, '0')},
      {'1' + std::string(35, '0') + ".000", '1' + std::string(35, '0')},
      {"1000e-39", "0." + std::string(35, '0') + '1'},
  };
  for (const auto& [text, expected] : texts) EXPECT_EQ(text_of(Decimal::parse(text)), expected) << text;
}

TEST(Decimal, takes_nothing_else_and_says_where_it_is_wrong) {
  const std::pair<std::string, std::string> texts[] = {
      {"", "a digit is missing, at character 1"},
      {"-", "a digit is missing, at character 2"},
      {".5", "a digit is missing, at character 1"},
      {"5.", "a digit is missing, at character 3"},
      {"1.e5", "a digit is missing, at character 3"},
      {"1e", "a digit is missing, at character 3"},
      {"1e+", "a digit is missing, at character 4"},
      {"+1", "a digit is missing, at character 1"},
      {" 1", "a digit is missing, at character 1"},
      {"NaN", "a digit is missing, at character 1"},
      {"Infinity", "a digit is missing, at character 1"},
      {"-Infinity", "a digit is missing, at character 2"},
      {"01", "there is an unnecessary leading zero, at character 1"},
      {"-00.5", "there is an unnecessary leading zero, at character 2"},
      {"1 ", "there is a character that is not part of a number, at character 2"},
      {"1,5", "there is a character that is not part of a number, at character 2"},
      {"1.5.5", "there is a character that is not part of a number, at character 4"},
      {"0x10", "there is a character that is not part of a number, at character 2"},
      {"1_000", "there is a character that is not part of a number, at character 2"},
      {"19.90 EUR", "there is a character that is not part of a number, at character 6"},
      {nines + '9', "there is one digit too many, at character 37"},
      {"0.0" + nines, "the number has too many digits after the point, at character 1"},
      {"1e36", "the number is too large, at character 1"},
      {"1e999999999999999999999", "the number is too large, at character 1"},
      {"1e-37", "the number has too many digits after the point, at character 1"},
      {"1e-999999999999999999999", "the number has too many digits after the point, at character 1"},
  };
  for (const auto& [text, problem] : texts) {
    EXPECT_EQ(text_of(Decimal::parse(text)), "error: " + std::string(Decimal::expected) + ": " + problem) << text;
  }
}

TEST(Decimal, reads_no_other_byte_at_any_place) {
  const std::string good = "-19.90e1";
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      for (const bool is_inserted : {false, true}) {
        std::string text = good;
        if (is_inserted) {
          text.insert(at, 1, static_cast<char>(byte));
        } else {
          text[at] = static_cast<char>(byte);
        }
        ASSERT_EQ(slow_decimal::disagreement(slow_decimal::parsed(text), Decimal::parse(text)), "") << text;
      }
    }
  }
}

TEST(Decimal, is_made_of_literals_and_integers) {
  static_assert((19.90_dec).scale() == 2);
  constexpr Decimal price = -19.90_dec;
  EXPECT_EQ(price.text(), "-19.90");
  EXPECT_EQ((1e3_dec).text(), "1000");
  EXPECT_EQ(Decimal(7).text(), "7");
  EXPECT_EQ(Decimal(std::numeric_limits<std::int64_t>::min()).text(), "-9223372036854775808");
  EXPECT_EQ(Decimal(std::numeric_limits<std::uint64_t>::max()).text(), "18446744073709551615");
  EXPECT_EQ(Decimal::from_units(1990, 2).text(), "19.90");
  EXPECT_EQ(Decimal::from_units(-5, 2).text(), "-0.05");
  EXPECT_THROW(static_cast<void>(Decimal::from_units(1, 37)), Bug);
  EXPECT_THROW(static_cast<void>(Decimal::from_units(1, -1)), Bug);
  static_assert(!std::is_convertible_v<bool, Decimal> && !std::is_convertible_v<char, Decimal>);
}

TEST(Decimal, calculates_exactly) {
  EXPECT_EQ((0.1_dec + 0.2_dec).text(), "0.3");
  EXPECT_EQ((19.90_dec * 3).text(), "59.70");
  EXPECT_EQ((19.90_dec * 1.19_dec).text(), "23.6810");
  EXPECT_EQ((1 - 0.9_dec).text(), "0.1");
  EXPECT_EQ((1.10_dec - 1.1_dec).text(), "0.00");
  EXPECT_EQ((-1.5_dec * 0).text(), "0.0");
  Decimal total = 0;
  for (const Decimal one : {19.90_dec, -0.90_dec, 1_dec}) total += one;
  total *= 2;
  total -= 0.005_dec;
  EXPECT_EQ(total.text(), "39.995");
  EXPECT_EQ((-1.50_dec).absolute().text(), "1.50");
  EXPECT_EQ((1.500_dec).trimmed().text(), "1.5");
  EXPECT_EQ((200.00_dec).trimmed().text(), "200");
  EXPECT_EQ((0.00_dec).trimmed().text(), "0");
}

TEST(Decimal, drops_zeros_where_the_digits_do_not_fit_and_no_others) {
  const Decimal large = decimal('1' + std::string(35, '0'));
  EXPECT_EQ((large + 1.00_dec).text(), '1' + std::string(34, '0') + '1');
  EXPECT_EQ((large + 0.00_dec).text(), large.text().view());
  EXPECT_EQ((1 - decimal("1e-36")).text(), "0." + nines);
  EXPECT_EQ((decimal("1e20") * decimal("1.000000000000000000000000000000")).text(),
            "100000000000000000000.000000000000000");
  EXPECT_EQ((decimal("5e-20") * decimal("2e-16")).text(), "0." + std::string(34, '0') + "10");
  for (const auto& wrong : {Decimal::add(large, 0.1_dec), Decimal::subtract(Decimal::lowest(), 1),
                            Decimal::multiply(large, 10), Decimal::multiply(decimal("1e-20"), decimal("1e-17")),
                            Decimal::multiply(Decimal::highest(), Decimal::highest())}) {
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code(), Code::OutOfRange);
    EXPECT_EQ(wrong.error().message(), "the result of a calculation has more than 36 digits");
  }
  EXPECT_THROW(static_cast<void>(Decimal::highest() + 1), Bug);
  EXPECT_THROW(static_cast<void>(Decimal::lowest() - 1), Bug);
  EXPECT_THROW(static_cast<void>(Decimal::highest() * 2), Bug);
  EXPECT_THROW(static_cast<void>(Decimal::highest().rounded(1)), Bug);
}

// The results are those of Python's decimal: Decimal(text).quantize(Decimal("0.01"), rounding).
TEST(Decimal, rounds_as_it_is_told) {
  struct Row {
    const char* text;
    const char* half_even;
    const char* half_up;
    const char* up;
    const char* down;
    const char* ceiling;
    const char* floor;
  };
  const Row rows[] = {
      {"2.345", "2.34", "2.35", "2.35", "2.34", "2.35", "2.34"},
      {"2.355", "2.36", "2.36", "2.36", "2.35", "2.36", "2.35"},
      {"-2.345", "-2.34", "-2.35", "-2.35", "-2.34", "-2.34", "-2.35"},
      {"-2.355", "-2.36", "-2.36", "-2.36", "-2.35", "-2.35", "-2.36"},
      {"2.3450000000000000000000001", "2.35", "2.35", "2.35", "2.34", "2.35", "2.34"},
      {"2.344999999999999999999999", "2.34", "2.34", "2.35", "2.34", "2.35", "2.34"},
      {"0.005", "0.00", "0.01", "0.01", "0.00", "0.01", "0.00"},
      {"-0.001", "0.00", "0.00", "-0.01", "0.00", "0.00", "-0.01"},
      {"9.995", "10.00", "10.00", "10.00", "9.99", "10.00", "9.99"},
      {"1.5", "1.50", "1.50", "1.50", "1.50", "1.50", "1.50"},
  };
  for (const Row& row : rows) {
    const Decimal value = decimal(row.text);
    EXPECT_EQ(value.rounded(2).text(), row.half_even) << row.text;
    EXPECT_EQ(value.rounded(2, Rounding::HalfUp).text(), row.half_up) << row.text;
    EXPECT_EQ(value.rounded(2, Rounding::Up).text(), row.up) << row.text;
    EXPECT_EQ(value.rounded(2, Rounding::Down).text(), row.down) << row.text;
    EXPECT_EQ(value.rounded(2, Rounding::Ceiling).text(), row.ceiling) << row.text;
    EXPECT_EQ(value.rounded(2, Rounding::Floor).text(), row.floor) << row.text;
  }
  EXPECT_EQ((15.5_dec).rounded(0).text(), "16");
  EXPECT_EQ((14.5_dec).rounded(0).text(), "14");
  EXPECT_THROW(static_cast<void>((1_dec).rounded(37)), Bug);
}

TEST(Decimal, divides_to_a_scale_that_is_stated) {
  EXPECT_EQ(text_of((100_dec).divided_by(3, 2)), "33.33");
  EXPECT_EQ(text_of((200_dec).divided_by(3, 2)), "66.67");
  EXPECT_EQ(text_of((200_dec).divided_by(3, 2, Rounding::Down)), "66.66");
  EXPECT_EQ(text_of((-1_dec).divided_by(8, 2)), "-0.12");
  EXPECT_EQ(text_of((1_dec).divided_by(3, 36)), "0." + std::string(36, '3'));
  EXPECT_EQ(text_of((1.00_dec).divided_by(decimal("1e-36"), 0)),
            "error: the result of a calculation has more than 36 digits");
  EXPECT_EQ(text_of(decimal("1e-36").divided_by(Decimal::highest(), 0)), "0");
  EXPECT_EQ(text_of((0_dec).divided_by(7, 2)), "0.00");
  EXPECT_EQ(text_of((1_dec).divided_by(0.00_dec, 2)), "error: a number is divided by zero");
  EXPECT_THROW(static_cast<void>((1_dec).divided_by(1, -1)), Bug);
}

TEST(Decimal, compares_by_value) {
  EXPECT_EQ(1.10_dec, 1.1_dec);
  EXPECT_EQ(0.00_dec, 0);
  EXPECT_EQ(-0_dec, 0);
  EXPECT_LT(1.10_dec, 1.11_dec);
  EXPECT_LT(-2, -1.9_dec);
  EXPECT_LT(-1_dec, 0);
  EXPECT_LT(decimal("0." + nines), 1);
  EXPECT_LT(decimal("0." + nines), Decimal::highest());
  EXPECT_LT(Decimal::lowest(), decimal("-0." + nines));
  EXPECT_TRUE(19.90_dec >= 19.9_dec && 19.90_dec <= 19.9_dec);
}

TEST(Decimal, is_converted_to_units_and_to_a_double) {
  EXPECT_EQ((19.9_dec).units(2).value(), 1990);
  EXPECT_EQ((-19.90_dec).units(2).value(), -1990);
  EXPECT_EQ((20_dec).units(0).value(), 20);
  EXPECT_EQ(decimal("-9223372036854775808").units(0).value(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(decimal("9223372036854775807").units(0).value(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ((19.905_dec).units(2).error().message(),
            "the number has more digits after the point than the scale: round "
            "it first");
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "1e35"}) {
    EXPECT_EQ(decimal(text).units(0).error().message(), "the number does not fit into 64 bits") << text;
  }
  EXPECT_EQ((Decimal::highest()).units(2).error().code(), Code::OutOfRange);
  EXPECT_EQ((0.1_dec).to_double(), 0.1);
  EXPECT_EQ(decimal("-123456789.987654321").to_double(), -123456789.987654321);
  EXPECT_EQ(Decimal::highest().to_double(), 1e36);
}

TEST(Decimal, agrees_with_school_arithmetic) {
  std::mt19937_64 random(20261129);
  const auto number = [&] {
    const auto size = 1 + random() % 36;
    std::string digits(1, static_cast<char>('1' + random() % 9));
    while (digits.size() < size)
      digits += static_cast<char>('0' + (random() % 3 == 0 ? random() % 10 : random() % 2 * 9));
    if (random() % 4 == 0) digits.replace(digits.size() / 2, digits.size(), digits.size() - digits.size() / 2, '0');
    if (random() % 20 == 0) digits = "0";
    return decimal((random() % 2 == 0 ? "-" : "") + digits + "e-" + std::to_string(random() % 37));
  };
  for (int i = 0; i < 4'000; ++i) {
    const Decimal a = number();
    const Decimal b = number();
    const int scale = static_cast<int>(random() % 37);
    const auto rounding = static_cast<Rounding>(random() % 6);
    ASSERT_EQ(slow_decimal::first_disagreement(a, b, scale, rounding), "");
  }
}

struct Invoice {
  Decimal total;
  std::optional<Decimal> paid;
  std::vector<Decimal> rates;
};

TEST(Decimal, is_a_string_in_json_and_is_read_from_numbers_by_their_digits) {
  const Invoice invoice = {19.90_dec, std::nullopt, {0.19_dec, 1_dec, -0.5_dec}};
  const std::string text = json::write(invoice);
  EXPECT_EQ(text, R"({"total":"19.90","paid":null,"rates":["0.19","1","-0.5"]})");
  EXPECT_EQ(json::write(json::parse<Invoice>(text).value()), text);
  const std::string numbers = R"({"total":123456789012345678901234.56789,"paid":1.50,"rates":[1e3,-0,2.5E-1]})";
  EXPECT_EQ(json::write(json::parse<Invoice>(numbers).value()),
            R"({"total":"123456789012345678901234.56789","paid":"1.50","rates":["1000","0","0.25"]})");
  const std::string words = std::string("/total: ") + Decimal::expected + "; /paid: " + Decimal::expected +
                            "; /rates/0: " + Decimal::expected + "; /rates/1: " + Decimal::expected;
  EXPECT_EQ(json::parse<Invoice>(R"({"total":"1,5","paid":true,"rates":[1e99,{"a":[1]},"2"]})").error().message(),
            words);
  EXPECT_EQ(json::parse<Decimal>("01").error().message(), "number with a leading zero at line 1 column 1");
  Arena arena;
  json::Reader in("[1.10, \"1.1\"]", arena);
  in.begin_array();
  in.next_element();
  EXPECT_EQ(in.value<Decimal>().text(), "1.10");
  in.next_element();
  EXPECT_EQ(in.value<Decimal>().text(), "1.1");
}

TEST(Decimal, has_a_schema) {
  json::Schemas schemas;
  EXPECT_EQ(schemas.add<Decimal>(), R"({"type":"string","format":"decimal"})");
}

TEST(Decimal, is_a_decimal_fraction_in_cbor) {
  const std::pair<std::string, std::string> numbers[] = {
      {"273.15", "c48221196ab3"},  // RFC 8949 §3.4.4
      {"0", "c4820000"},
      {"-0.5", "c4822024"},
      {"18446744073709551615", "c482001bffffffffffffffff"},
      {"-18446744073709551616", "c482003bffffffffffffffff"},
      {"18446744073709551616", "c48200c249010000000000000000"},
      {"-18446744073709551617", "c48200c349010000000000000000"},
      {nines,
       "c48200c24f"
       "c097ce7bc90715b34b9f0fffffffff"},
  };
  for (const auto& [text, bytes] : numbers) {
    const std::string written = cbor::write(decimal(text));
    EXPECT_EQ(hex_of(written), bytes) << text;
    EXPECT_EQ(text_of(cbor::parse<Decimal>(written)), text);
    EXPECT_EQ(text_of(message_pack::parse<Decimal>(message_pack::write(decimal(text)))), text);
  }
  EXPECT_EQ(message_pack::write(1.50_dec),
            "\xA4"
            "1.50");
  const Invoice invoice = {19.90_dec, -0.1_dec, {decimal(nines), 0_dec}};
  const std::string text = json::write(invoice);
  EXPECT_EQ(json::write(cbor::parse<Invoice>(cbor::write(invoice)).value()), text);
  EXPECT_EQ(json::write(message_pack::parse<Invoice>(message_pack::write(invoice)).value()), text);
  EXPECT_EQ(json::write(cbor::parse<json::Value>(cbor::write(invoice)).value()).size(), text.size());
}

TEST(Decimal, is_read_from_other_forms_of_cbor) {
  using namespace std::string_literals;
  const std::pair<std::string, std::string> read[] = {
      {"\x64"
       "1.50",
       "1.50"},       // A text.
      {"\x05", "5"},  // Integers.
      {"\x3B\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "-18446744073709551616"},
      {"\xC2\x49\x01\0\0\0\0\0\0\0\0"s, "18446744073709551616"},
      {"\xC4\x82\x02\x05", "500"},       // A positive exponent.
      {"\xC4\x9F\x21\x05\xFF", "0.05"},  // Of indefinite length.
      {"\xC4\x82\x38\x63\x00"s, "0." + std::string(36, '0')},
  };
  for (const auto& [bytes, text] : read) EXPECT_EQ(text_of(cbor::parse<Decimal>(bytes)), text) << hex_of(bytes);
  const std::string wrong[] = {
      "\xFB\x3F\xF0\0\0\0\0\0\0"s,  // A double.
      "\xF5",                       // true
      "\xC4\x82\x18\x24\x01",       // 1e36
      "\xC4\x82\x38\x24\x01",       // 1e-37
      "\xC5\x82\x21\x01",           // A binary fraction.
      "\xC4\x82\x21\x63"
      "1.5",                                    // Its number is a text.
      "\xC4\x82\x21\xFB\x3F\xF0\0\0\0\0\0\0"s,  // Its number is a double.
      "\xC4\x80"s,                              // Without its number, and with too many.
      "\xC4\x81\x21"s,
      "\xC4\x83\x21\x01\x01"s,
      "\xC2\x51\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"s,
      "\x65"
      "1.5.0",
  };
  for (const std::string& bytes : wrong) {
    EXPECT_EQ(text_of(cbor::parse<Decimal>(bytes)), "error: " + std::string(Decimal::expected)) << hex_of(bytes);
  }
  EXPECT_FALSE(cbor::parse<Decimal>("\xC4"));
  EXPECT_FALSE(cbor::parse<Decimal>("\xC4\x82\x21"));
}

TEST(Decimal, is_a_text_in_a_record) {
  struct Price {
    Decimal amount;
  };
  const Record record = to_record(Price{19.90_dec});
  EXPECT_EQ(record.get<std::string>("amount").value(), "19.90");
  EXPECT_EQ(from_record<Price>(record)->amount.text(), "19.90");
}

TEST(Decimal, is_a_field_of_a_query_and_has_bounds) {
  struct Filter {
    Decimal least;
    std::optional<Decimal> most;
    void rules(Check& check) const {
      check(least).at_least(0.01_dec);
      check(most).range(1, 1'000.50_dec);
    }
  };
  Filter filter;
  Violations wrong;
  const NamedText good[] = {{"least", "0.50"}, {"most", "1000.5"}};
  EXPECT_TRUE(read_texts(filter, good, wrong));
  EXPECT_EQ(filter.most.value() - filter.least, 1000);
  const NamedText bad[] = {{"least", "free"}, {"most", "1e9"}};
  EXPECT_FALSE(read_texts(filter, bad, wrong));
  EXPECT_EQ(wrong.size(), 2u);
  EXPECT_EQ(json::parse<Filter>(R"({"least":0.001,"most":"1000.51"})").error().message(),
            "/least must be at least 0.01; /most must be from 1 to 1000.50");
}

}  // namespace
}  // namespace keel::decimal_test
