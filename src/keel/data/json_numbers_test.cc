// Each type of number at its edges: what is taken and as what, what is refused, and what is written.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>

#include "keel/data/json_parse.h"
#include "keel/data/json_value.h"
#include "keel/data/json_write.h"

namespace keel::json_numbers_test {
namespace {

template <class T>
struct Held {
  T n;
};

template <class T>
std::string error_of(std::string_view number) {
  const auto held = json::parse<Held<T>>("{\"n\":" + std::string(number) + "}");
  return held ? "" : std::string(held.error().message());
}
template <class T>
bool is_same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a == b && std::signbit(a) == std::signbit(b);
  return a == b;
}
// `number` is read as `value`, in a struct as by itself; `written` is what is written of that, and read back.
template <class T>
void takes(std::string_view number, T value, std::string_view written) {
  const auto held = json::parse<Held<T>>("{\"n\":" + std::string(number) + "}");
  ASSERT_TRUE(held) << number;
  EXPECT_TRUE(is_same(held->n, value)) << number;
  EXPECT_TRUE(is_same(json::parse<T>(number).value(), value)) << number;
  EXPECT_EQ(json::write(value), written);
  EXPECT_TRUE(is_same(json::parse<T>(written).value(), value)) << written;
}
template <class T>
void takes(std::string_view number, T value) {
  takes(number, value, number);
}
template <class T>
void refuses(std::initializer_list<std::string_view> numbers, std::string_view message) {
  for (const std::string_view number : numbers) {
    EXPECT_EQ(error_of<T>(number), "/n: " + std::string(message)) << number;
  }
}

template <class T>
std::string range_of() {
  using Limits = std::numeric_limits<T>;
  return "expected an integer from " + std::to_string(Limits::min()) + " to " + std::to_string(Limits::max());
}

template <class T>
void integer_edges(std::string_view least, std::string_view below, std::string_view most, std::string_view above) {
  takes<T>(least, std::numeric_limits<T>::min());
  takes<T>(most, std::numeric_limits<T>::max());
  takes<T>("0", 0);
  takes<T>("-0", 0, "0");
  takes<T>("1", 1);
  takes<T>("100", 100);
  refuses<T>({below, above, "99999999999999999999999999999999", "-99999999999999999999999999999999"}, range_of<T>());
  takes<T>("1.0", 1, "1");
  takes<T>("1E2", 100, "100");
  takes<T>("0.010e+2", 1, "1");
  takes<T>("100e-2", 1, "1");
  takes<T>("120.00000000000000000000000000000000", 120, "120");
  takes<T>("0.000e999999999999999999", 0, "0");
  takes<T>("-0.0", 0, "0");
  refuses<T>({"1.5", "1e-1", "0.10", "1.000000000000000000000000000000000001", "1e-999999999999999999"},
             "expected an integer");
  refuses<T>({"1e30", "1e999999999999999999", "123456789012345678901234567890.0"}, range_of<T>());
  refuses<T>({"\"1\"", "true", "null", "[1]"}, "expected an integer");
  if constexpr (std::is_signed_v<T>) {
    takes<T>("-1", -1);
  } else {
    refuses<T>({"-1", "-1.0", "-1e3"}, range_of<T>());
  }
}

TEST(JsonNumbers, of_each_type_of_integer_are_exact_at_its_edges) {
  integer_edges<std::int8_t>("-128", "-129", "127", "128");
  integer_edges<std::uint8_t>("0", "-1", "255", "256");
  integer_edges<std::int16_t>("-32768", "-32769", "32767", "32768");
  integer_edges<std::uint16_t>("0", "-1", "65535", "65536");
  integer_edges<std::int32_t>("-2147483648", "-2147483649", "2147483647", "2147483648");
  integer_edges<std::uint32_t>("0", "-1", "4294967295", "4294967296");
  integer_edges<std::int64_t>("-9223372036854775808", "-9223372036854775809", "9223372036854775807",
                              "9223372036854775808");
  integer_edges<std::uint64_t>("0", "-1", "18446744073709551615", "18446744073709551616");
  takes<std::int64_t>("9007199254740993", 9007199254740993);  // 2^53 + 1, which no double is.
  takes<std::uint64_t>("9007199254740993", 9007199254740993);
  // One digit more or less than eight, sixteen and nineteen.
  for (const std::int64_t number : {9999999, 10000000, 99999999, 100000000, 123456789}) {
    takes<std::int64_t>(std::to_string(number), number);
  }
  for (std::uint64_t number = 1; number < 10'000'000'000'000'000'000u; number *= 10) {
    takes<std::uint64_t>(std::to_string(number), number);
    takes<std::uint64_t>(std::to_string(number - 1), number - 1);
  }
}

TEST(JsonNumbers, of_doubles_are_rounded_correctly_and_written_in_the_shortest_form) {
  takes<double>("0", 0.0);
  takes<double>("-0", -0.0);
  takes<double>("-0.0", -0.0, "-0");
  takes<double>("1e0", 1.0, "1");
  takes<double>("97.25", 97.25);
  takes<double>("0.1", 0.1);
  takes<double>("0.30000000000000004", 0.1 + 0.2);
  takes<double>("1.7976931348623157e308", std::numeric_limits<double>::max(), "1.7976931348623157e+308");
  takes<double>("-1.7976931348623157e+308", std::numeric_limits<double>::lowest());
  takes<double>("2.2250738585072014e-308", std::numeric_limits<double>::min());
  takes<double>("2.2250738585072011e-308", 0x0.fffffffffffffp-1022, "2.225073858507201e-308");
  takes<double>("5e-324", std::numeric_limits<double>::denorm_min());
  takes<double>("4.9406564584124654e-324", std::numeric_limits<double>::denorm_min(), "5e-324");
  takes<double>("9007199254740991", 9007199254740991.0);
  takes<double>("9007199254740993", 9007199254740992.0, "9007199254740992");  // Half-way: to even.
  takes<double>("9007199254740995", 9007199254740996.0, "9007199254740996");
  takes<double>("9007199254740993.00000000000000000000000000000001", 9007199254740994.0, "9007199254740994");
  takes<double>("18446744073709551615", 0x1p64, "18446744073709551616");
  takes<double>("123456789012345678", 123456789012345680.0, "123456789012345680");
  takes<double>("1e22", 1e22, "1e+22");
  takes<double>("1e23", 1e23, "1e+23");
  takes<double>("0.000001", 1e-6, "1e-06");
  takes<double>("1" + std::string(300, '0'), 1e300, "1e+300");
  takes<double>("0." + std::string(300, '0') + "1", 1e-301, "1e-301");
  refuses<double>({"1e309", "-1e309", "1e400", "1e99999999999999999999", "1.8e308", "1e-400", "1e-324"},
                  "number out of range");
  refuses<double>({"\"1\"", "null"}, "expected a number");
}

TEST(JsonNumbers, of_floats_are_not_rounded_twice) {
  takes<float>("0.1", 0.1f);
  takes<float>("-0", -0.0f);
  takes<float>("3.4028235e38", std::numeric_limits<float>::max(), "3.4028235e+38");
  takes<float>("1e-45", std::numeric_limits<float>::denorm_min());
  takes<float>("16777217", 16777216.0f, "16777216");
  takes<float>("1.00000005960464477539062501", 1.0000001f, "1.0000001");  // By way of a double it would be 1.
  takes<float>("1.00000017881393432617187499", 1.0000001f, "1.0000001");  // And here 1.0000002.
  refuses<float>({"3.5e38", "-3.5e38", "1e400", "1e-60"}, "number out of range");
}

TEST(JsonNumbers, are_read_back_as_they_were_written) {
  std::mt19937_64 random(25);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bits = random();
    const auto real = std::bit_cast<double>(bits);
    const auto small = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const auto decimal = static_cast<double>(static_cast<std::int64_t>(bits >> 20)) / std::pow(10, i % 20);
    if (std::isfinite(real)) {
      ASSERT_TRUE(is_same(json::parse<double>(json::write(real)).value(), real)) << bits;
      ASSERT_TRUE(is_same(*json::parse<json::Value>(json::write(real)).value().number(), real)) << bits;
    }
    if (std::isfinite(small)) {
      ASSERT_TRUE(is_same(json::parse<float>(json::write(small)).value(), small)) << bits;
    }
    ASSERT_TRUE(is_same(json::parse<double>(json::write(decimal)).value(), decimal)) << bits;
    const auto whole = static_cast<std::int64_t>(bits) >> i % 64;
    ASSERT_EQ(json::parse<std::int64_t>(json::write(whole)).value(), whole);
    ASSERT_EQ(json::parse<std::uint64_t>(json::write(bits >> i % 64)).value(), bits >> i % 64);
    ASSERT_EQ(json::parse<json::Value>(json::write(whole)).value().int64(), whole);
  }
}

}  // namespace
}  // namespace keel::json_numbers_test
