#include "keel/db/postgres/internal/numeric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace keel::db::postgres::numeric_test {
namespace {

using namespace std::string_literals;

std::string text_of(std::string_view bytes) {
  Buffer out;
  return append_numeric_text(bytes, out) ? std::string(out.view()) : "none";
}
std::string bytes_of(std::string_view text) {
  Buffer out;
  return append_numeric_bytes(text, out) ? std::string(out.view()) : "none";
}
std::string real_text(double value, bool is_single = false) {
  Buffer out;
  append_real_text(value, is_single, out);
  return std::string(out.view());
}

TEST(Numeric, comes_back_as_the_same_text) {
  for (const char* text : {"0",
                           "1",
                           "-1",
                           "12",
                           "1234",
                           "12345",
                           "123456789",
                           "10000",
                           "100000000",
                           "0.1",
                           "0.0001",
                           "0.00001",
                           "-0.5",
                           "1.50",
                           "0.00",
                           "1.0000000000000000000000000000000000000001",
                           "99999999999999999999999999999999999999.99",
                           "-1234567890123456789012345678901234567890.0987654321",
                           "0.0000000000000000000000000000000001",
                           "NaN",
                           "Infinity",
                           "-Infinity",
                           "9223372036854775807",
                           "-9223372036854775808"}) {
    EXPECT_EQ(text_of(bytes_of(text)), text);
  }
}

TEST(Numeric, has_the_binary_form_of_the_server) {
  EXPECT_EQ(bytes_of("12345.67"), "\0\x03\0\x01\0\0\0\x02\0\x01\x09\x29\x1a\x2c"s);
  EXPECT_EQ(bytes_of("0.00"), "\0\0\0\0\0\0\0\x02"s);
  EXPECT_EQ(bytes_of("-0.0001"), "\0\x01\xff\xff\x40\0\0\x04\0\x01"s);
  EXPECT_EQ(bytes_of("10000"), "\0\x01\0\x01\0\0\0\0\0\x01"s);
  EXPECT_EQ(bytes_of("NaN"), "\0\0\0\0\xc0\0\0\0"s);
}

TEST(Numeric, reads_exponents_signs_and_zeros_in_front) {
  EXPECT_EQ(text_of(bytes_of("1e+20")), "100000000000000000000");
  EXPECT_EQ(text_of(bytes_of("1.5e3")), "1500");
  EXPECT_EQ(text_of(bytes_of("1.25E-3")), "0.00125");
  EXPECT_EQ(text_of(bytes_of("+007.10")), "7.10");
  EXPECT_EQ(text_of(bytes_of("-0")), "0");
  EXPECT_EQ(text_of(bytes_of("1e131071")).size(), 131'072u) << "the server's largest";
}

TEST(Numeric, rejects_texts_that_are_none) {
  for (const char* text :
       {"",     "-",   "+",   ".",     "1.",    ".5",       "1e",       "1e+",           "e5",      "1 ", " 1", "1,5",
        "0x10", "nan", "--1", "1.2.3", "1e5.5", "1e-20000", "1e200001", "1e99999999999", "1e131072"}) {
    EXPECT_EQ(bytes_of(text), "none") << text;
  }
  EXPECT_EQ(bytes_of("0." + std::string(16'384, '1')), "none") << "more digits behind the point than a numeric has";
}

TEST(Numeric, rejects_bytes_that_are_none) {
  const std::string good = bytes_of("12345.67");
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_EQ(text_of(good.substr(0, size)), "none") << size;
  EXPECT_EQ(text_of(good + "x"), "none");
  EXPECT_EQ(text_of("\xff\xff\0\0\0\0\0\0"s), "none") << "more groups than bytes";
  EXPECT_EQ(text_of("\0\x01\0\0\0\0\0\0\x27\x10"s), "none") << "a digit of 10000";
  EXPECT_EQ(text_of("\0\0\0\0\x12\x34\0\0"s), "none") << "a sign that there is not";
  EXPECT_EQ(text_of("\0\0\0\0\0\0\x40\0"s), "none") << "a scale above 16383";
}

TEST(Numeric, bounds_what_few_bytes_can_become) {
  EXPECT_EQ(text_of("\0\x01\x7f\xff\0\0\x3f\xff\0\x01"s).size(), 131'069u + 1 + 16'383) << "the most there is";
  EXPECT_EQ(text_of("\0\x01\x80\0\0\0\0\x02\0\x01"s), "0.00") << "far behind what is shown";
  EXPECT_EQ(text_of("\0\x01\x80\0\x40\0\0\x02\0\x01"s), "0.00") << "and no minus before a zero";
  EXPECT_EQ(text_of("\0\x02\0\x01\0\0\0\0\0\0\0\x07"s), "7") << "a zero in front";
}

TEST(RealText, is_what_the_server_writes) {
  EXPECT_EQ(real_text(0), "0");
  EXPECT_EQ(real_text(-0.0), "-0");
  EXPECT_EQ(real_text(1), "1");
  EXPECT_EQ(real_text(0.1), "0.1");
  EXPECT_EQ(real_text(-1.5), "-1.5");
  EXPECT_EQ(real_text(100'000), "100000");
  EXPECT_EQ(real_text(123456789012345), "123456789012345");
  EXPECT_EQ(real_text(1e15), "1e+15");
  EXPECT_EQ(real_text(1e20), "1e+20");
  EXPECT_EQ(real_text(0.0001), "0.0001");
  EXPECT_EQ(real_text(0.00001), "1e-05");
  EXPECT_EQ(real_text(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(real_text(5e-324), "5e-324");
  EXPECT_EQ(real_text(0.1f, true), "0.1");
  EXPECT_EQ(real_text(100'000, true), "100000");
  EXPECT_EQ(real_text(1e6, true), "1e+06");
  EXPECT_EQ(real_text(std::nan("")), "NaN");
  EXPECT_EQ(real_text(std::numeric_limits<double>::infinity()), "Infinity");
  EXPECT_EQ(real_text(-std::numeric_limits<double>::infinity()), "-Infinity");
}

}  // namespace
}  // namespace keel::db::postgres::numeric_test
