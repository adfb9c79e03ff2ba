// find() of json_reader.h and message_pack.h; that of cbor.h is in cbor_test.cc.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "keel/data/binary_value.h"
#include "keel/data/json_parse.h"
#include "keel/data/message_pack.h"

namespace keel::find_test {
namespace {

constexpr std::string_view text =
    R"({"id": 7, "lines": [{"sku": "a\nb"}, {"sku": "c"}], "a/b~c": true, "e\u0301": null, "twice": 1, "twice": 2} )";

TEST(Find, gives_the_text_of_one_value) {
  EXPECT_EQ(*json::find(text, "/id"), "7");
  EXPECT_EQ(*json::find(text, "/lines/0/sku"), "\"a\\nb\"");
  EXPECT_EQ(*json::find(text, "/lines/1"), "{\"sku\": \"c\"}");
  EXPECT_EQ(*json::find(text, "/a~1b~0c"), "true");
  EXPECT_EQ(*json::find(text, "/e\u0301"), "null");
  EXPECT_EQ(*json::find(text, "/twice"), "1");
  EXPECT_EQ(json::find("[1, 2]", "")->size(), 6u);
  EXPECT_EQ(*json::parse<std::string>(*json::find(text, "/lines/0/sku")), "a\nb");
}

TEST(Find, tells_what_is_missing_from_what_is_wrong) {
  EXPECT_EQ(json::find(text, "/lines/2").error().code(), Code::NotFound);
  EXPECT_EQ(json::find(text, "/lines/01").error().code(), Code::NotFound);
  EXPECT_EQ(json::find(text, "/id/x").error().message(), "/id/x is missing");
  EXPECT_EQ(json::find(text, "id").error().message(), "\"id\" is not a JSON Pointer");
  EXPECT_EQ(json::find("{\"a\" 1}", "/b").error().code(), Code::InvalidArgument);
  EXPECT_EQ(*json::find("{\"a\": 1, nonsense", "/a"), "1");  // What is behind it is not looked at.
}

TEST(Find, finds_in_message_pack) {
  const std::string bytes = message_pack::write(*json::parse<json::Value>(R"({"id": 7, "lines": [{"sku": "x"}]})"));
  EXPECT_EQ(*message_pack::parse<int>(*message_pack::find(bytes, "/id")), 7);
  EXPECT_EQ(*message_pack::parse<std::string>(*message_pack::find(bytes, "/lines/0/sku")), "x");
  EXPECT_EQ(message_pack::find(bytes, "/lines/1").error().code(), Code::NotFound);
}

}  // namespace
}  // namespace keel::find_test
