#include "keel/data/message_pack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "keel/data/binary_value.h"
#include "keel/data/internal/attacks_test.h"

namespace keel::message_pack_test {
namespace {

using binary::testing::unhex;

template <class T>
void goes_to_and_fro(const T& value, std::string_view bytes) {
  EXPECT_EQ(message_pack::write(value), unhex(bytes)) << bytes;
  const Result<T> again = message_pack::parse<T>(unhex(bytes));
  ASSERT_TRUE(again) << bytes << ": " << again.error().message();
  EXPECT_EQ(*again, value) << bytes;
  // Every byte is needed.
  const std::string whole = unhex(bytes);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(message_pack::parse<T>(std::string_view(whole).substr(0, size))) << bytes << " up to " << size;
  }
}

TEST(MessagePack, has_the_forms_of_its_specification) {
  goes_to_and_fro(0, "00");
  goes_to_and_fro(127, "7f");
  goes_to_and_fro(128, "cc80");
  goes_to_and_fro(256, "cd0100");
  goes_to_and_fro(65536, "ce00010000");
  goes_to_and_fro(std::int64_t{1} << 32, "cf0000000100000000");
  goes_to_and_fro(std::numeric_limits<std::uint64_t>::max(), "cfffffffffffffffff");
  goes_to_and_fro(-1, "ff");
  goes_to_and_fro(-32, "e0");
  goes_to_and_fro(-33, "d0df");
  goes_to_and_fro(-128, "d080");
  goes_to_and_fro(-129, "d1ff7f");
  goes_to_and_fro(-32768, "d18000");
  goes_to_and_fro(-32769, "d2ffff7fff");
  goes_to_and_fro(std::numeric_limits<std::int32_t>::min(), "d280000000");
  goes_to_and_fro(std::int64_t{std::numeric_limits<std::int32_t>::min()} - 1, "d3ffffffff7fffffff");
  goes_to_and_fro(std::numeric_limits<std::int64_t>::min(), "d38000000000000000");
  goes_to_and_fro(1.5, "cb3ff8000000000000");
  goes_to_and_fro(1.5f, "ca3fc00000");
  goes_to_and_fro(true, "c3");
  goes_to_and_fro(false, "c2");
  goes_to_and_fro(std::optional<int>(), "c0");
  goes_to_and_fro(std::string(), "a0");
  goes_to_and_fro(std::string(31, 'a'), "bf" + std::string(62, '6').replace(0, 62, [] {
    std::string text;
    for (int i = 0; i < 31; ++i) text += "61";
    return text;
  }()));
  EXPECT_EQ(message_pack::write(std::string(32, 'a')).substr(0, 2), "\xD9\x20");
  EXPECT_EQ(message_pack::write(std::string(256, 'a')).substr(0, 3), std::string_view("\xDA\x01\x00", 3));
  EXPECT_EQ(message_pack::write(std::string(65536, 'a')).substr(0, 5), std::string_view("\xDB\x00\x01\x00\x00", 5));
  goes_to_and_fro(std::vector<std::byte>{std::byte{7}}, "c40107");
  goes_to_and_fro(std::vector<int>{1, 2}, "920102");
  EXPECT_EQ(message_pack::write(std::vector<int>(16)).substr(0, 3), std::string_view("\xDC\x00\x10", 3));
  EXPECT_EQ(message_pack::write(std::vector<int>(65536)).substr(0, 5), std::string_view("\xDD\x00\x01\x00\x00", 5));
  goes_to_and_fro(std::map<std::string, int>{{"a", 1}, {"bb", 2}}, "82a16101a2626202");
  EXPECT_EQ(*message_pack::parse<double>(unhex("d3ffdffffffffffffe")), -9007199254740994.0);
  goes_to_and_fro(Timestamp::from_unix_seconds(1), "d6ff00000001");
  goes_to_and_fro(Timestamp::from_unix_ns(1'000'000'001), "d7ff0000000400000001");
  goes_to_and_fro(Timestamp::from_unix_seconds(-1), "c70cff00000000ffffffffffffffff");
  goes_to_and_fro(Timestamp::last(), "c70cff3b9ac9ff0000003afff4417f");
  goes_to_and_fro(Uuid::parse("0192f7a8-0000-7000-8000-0000000000ff").value(), "c4100192f7a80000700080000000000000ff");
}

TEST(MessagePack, holds_nothing_of_an_attack) {
  const binary::testing::Attack attacks[] = {
      {"nested arrays", std::string(100'000, '\x91')},
      {"nested maps", std::string(100'000, '\x81')},
      {"a count of elements", unhex("dd7fffffff")},
      {"a count of fields", unhex("df7fffffff")},
      {"a length of bytes", unhex("c6ffffffff")},
      {"a length of text", unhex("dbffffffff")},
      {"a length of an extension", unhex("c9ffffffff05")},
      {"a count of children", unhex("81a86368696c6472656eddffffffff")},
      {"a count of names", unhex("81a56e616d6573dfffffffff")},
  };
  binary::testing::holds_nothing_of(attacks, unhex("81a86368696c6472656e91"),
                                    [](auto&... of) { return message_pack::read(of...); });
}

TEST(MessagePack, tells_what_is_wrong) {
  struct Point {
    int x = 0;
    std::string name;
  };
  const auto why = [](std::string_view bytes) {
    const Result<Point> point = message_pack::parse<Point>(unhex(bytes));
    return point ? "nothing" : std::string(point.error().message());
  };
  EXPECT_EQ(why("82a17801a46e616d65a161"), "nothing");
  EXPECT_EQ(why("83a17801a17ad50102"
                "03a46e616d65a161"),
            "nothing");
  EXPECT_EQ(why("82a178c3a46e616d6507"), "/x: expected an integer; /name: expected a string");
  EXPECT_EQ(why("82a178d40500a46e616d65a161"), "/x: expected an integer");
  EXPECT_EQ(why("c1"), "a byte that cannot begin a value at byte 0");
  EXPECT_EQ(why("dfffffffff"), "a count is larger than the bytes that follow at byte 0");
  EXPECT_EQ(why("81a178c7ff05"), "a length is larger than the bytes that follow at byte 6 (/x)");
  EXPECT_FALSE(message_pack::parse<json::Value>(std::string(100'000, '\x91')));
  EXPECT_FALSE(message_pack::parse<Timestamp>(unhex("d7ffffffffff00000000")));
  EXPECT_FALSE(message_pack::parse<Timestamp>(unhex("d5ff0000")));
}

}  // namespace
}  // namespace keel::message_pack_test
