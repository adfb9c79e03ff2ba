#include "keel/data/format.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "keel/data/cbor.h"
#include "keel/data/json_write.h"
#include "keel/data/message_pack.h"

namespace keel::format_test {
namespace {

using data::detect;
using data::Format;
using namespace std::string_view_literals;

struct Point {
  int x = 1;
  std::string name = "north";
  std::vector<double> values = {1.5, 2};
};

TEST(Format, tells_what_was_written_as_an_object_or_a_list) {
  EXPECT_EQ(detect(json::write(Point())), Format::Json);
  EXPECT_EQ(detect(cbor::write(Point())), Format::Cbor);
  EXPECT_EQ(detect(message_pack::write(Point())), Format::MessagePack);
  for (std::size_t size = 1; size < 40; ++size) {
    const std::vector<std::string> list(size, "text");
    EXPECT_EQ(detect(json::write(list)), Format::Json) << size;
    EXPECT_EQ(detect(cbor::write(list)), Format::Cbor) << size;
    EXPECT_EQ(detect(message_pack::write(list)), Format::MessagePack) << size;
    std::map<std::string, std::size_t> map;
    for (std::size_t i = 0; i < size; ++i) map["k" + std::to_string(i)] = i;
    EXPECT_EQ(detect(json::write(map)), Format::Json) << size;
    EXPECT_EQ(detect(cbor::write(map)), Format::Cbor) << size;
    EXPECT_EQ(detect(message_pack::write(map)), Format::MessagePack) << size;
  }
}

TEST(Format, tells_json_by_its_grammar) {
  EXPECT_EQ(detect(" {\"a\": 1}\n"), Format::Json);
  EXPECT_EQ(detect("7"), Format::Json);  // Also a number of both others.
  EXPECT_EQ(detect("\"text\""), Format::Json);
  EXPECT_EQ(detect("{\"a\": 1"), Format::Unknown);
}

TEST(Format, takes_the_one_that_is_whole) {
  EXPECT_EQ(detect(""), Format::Unknown);
  EXPECT_EQ(detect("\xC1"sv), Format::Unknown);  // A tag of nothing; no byte of MessagePack.
  EXPECT_EQ(detect("\x9F\x01\xFF"sv), Format::Cbor);
  EXPECT_EQ(detect("\xD9\xD9\xF7\x01"sv), Format::Cbor);  // Tag 55799 is there to tell.
  EXPECT_EQ(detect("\xDC\x00\x01\xC0"sv), Format::MessagePack);
  EXPECT_EQ(detect("\x80"sv), Format::Cbor);  // An empty list, or an empty object: both are right.
  EXPECT_EQ(detect("\x91\x01\x02"sv), Format::Unknown);
}

}  // namespace
}  // namespace keel::format_test
