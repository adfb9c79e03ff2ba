#include "keel/http/message/negotiate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::http::negotiate_test {
namespace {

void also_as_fuzzed(std::string_view text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

std::string media_type(std::string_view accept) {
  const std::vector<std::string> offered = {"application/json", "text/html", "text/plain"};
  also_as_fuzzed(accept);
  const auto chosen = choose_media_type(accept, offered);
  return chosen ? offered[*chosen] : "none";
}

std::string coding(std::string_view accept) {
  constexpr std::string_view offered[] = {"zstd", "br", "gzip"};
  also_as_fuzzed(accept);
  const auto chosen = choose_coding(accept, offered);
  return chosen ? std::string(offered[*chosen]) : "none";
}

TEST(Negotiate, gives_the_type_with_the_highest_weight_and_of_equals_the_first) {
  // RFC 9110 §12.5.1.
  EXPECT_EQ(media_type("text/html"), "text/html");
  EXPECT_EQ(media_type("*/*"), "application/json");
  EXPECT_EQ(media_type("text/*"), "text/html");
  EXPECT_EQ(media_type("text/plain, text/html"), "text/html");
  EXPECT_EQ(media_type("text/plain, text/html;q=0.9"), "text/plain");
  EXPECT_EQ(media_type("text/html;q=0.3 , application/json;q=0.299"), "text/html");
  EXPECT_EQ(media_type("TEXT/Plain;Q=1.000"), "text/plain");
  EXPECT_EQ(media_type("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"), "text/html");
  EXPECT_EQ(media_type("application/json; charset=utf-8"), "application/json");
}

TEST(Negotiate, understands_what_old_clients_of_java_say) {
  const char* const java = "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2";
  EXPECT_EQ(media_type(java), "text/html");
  EXPECT_EQ(media_type("image/gif, *; q=.2"), "application/json");
  EXPECT_EQ(media_type("text/plain;q=.2, text/html;q=.25"), "text/html");
  EXPECT_EQ(media_type("*;q=0"), "none");
  EXPECT_EQ(media_type("*;q=.0"), "none");
  EXPECT_EQ(coding("gzip;q=.5, br;q=.6"), "br");
}

TEST(Negotiate, lets_the_more_specific_range_decide) {
  EXPECT_EQ(media_type("text/*, text/html;q=0"), "text/plain");
  EXPECT_EQ(media_type("text/html;q=0, text/*"), "text/plain");
  EXPECT_EQ(media_type("*/*, application/*;q=0, text/html;q=0.1"), "text/plain");
  EXPECT_EQ(media_type("*/*;q=0.1, text/*;q=0"), "application/json");
}

TEST(Negotiate, gives_nothing_when_nothing_is_accepted) {
  EXPECT_EQ(media_type("image/png"), "none");
  EXPECT_EQ(media_type("*/*;q=0"), "none");
  EXPECT_EQ(media_type("text/*;q=0.000, application/json;q=0"), "none");
  EXPECT_EQ(media_type("tex/*"), "none");
  EXPECT_EQ(media_type("textt/*"), "none");
}

TEST(Negotiate, passes_over_what_is_malformed) {
  for (const char* nothing :
       {"", ",", " , ,", "text", "text/", "/html", "text/html;q=2", "text/html;q=", "text/html;q=.",
        "text/html;q=.1234", "text/html;q=0.1234", "text/html;q=1.001", "te xt/html", "\"text/html\""}) {
    EXPECT_EQ(media_type(nothing), "application/json") << nothing;
  }
  EXPECT_EQ(media_type("text/html;q=2, text/plain;q=0.1"), "text/plain");
  // A comma and a semicolon within a quoted string separate nothing, escaped quotes neither.
  EXPECT_EQ(media_type("image/png;a=\"x, text/html\", text/plain"), "text/plain");
  EXPECT_EQ(media_type("image/png;a=\"\\\", text/html\", text/plain"), "text/plain");
  EXPECT_EQ(media_type("text/html;a=\";q=0\""), "text/html");
  EXPECT_EQ(media_type("image/png;a=\"unfinished, text/html"), "none");
}

TEST(Negotiate, gives_the_coding_with_the_highest_weight) {
  // RFC 9110 §12.5.3.
  EXPECT_EQ(coding("gzip"), "gzip");
  EXPECT_EQ(coding("gzip, deflate, br, zstd"), "zstd");
  EXPECT_EQ(coding("gzip, deflate, br"), "br");
  EXPECT_EQ(coding("gzip;q=1.0, br;q=0.9"), "gzip");
  EXPECT_EQ(coding("GZIP"), "gzip");
  EXPECT_EQ(coding("x-gzip"), "gzip");
  EXPECT_EQ(coding("*"), "zstd");
  EXPECT_EQ(coding("*, zstd;q=0"), "br");
  EXPECT_EQ(coding("zstd;q=0, *;q=0.5, gzip;q=0.7"), "gzip");
}

TEST(Negotiate, leaves_content_as_it_is_when_the_client_says_so_or_nothing) {
  EXPECT_EQ(coding(""), "none");
  EXPECT_EQ(coding("identity"), "none");
  EXPECT_EQ(coding("deflate, compress"), "none");
  EXPECT_EQ(coding("gzip;q=0"), "none");
  EXPECT_EQ(coding("*;q=0"), "none");
  EXPECT_EQ(coding("identity;q=1, gzip;q=0.5"), "none");
  EXPECT_EQ(coding("identity;q=0.5, gzip;q=0.5"), "gzip");
  EXPECT_EQ(coding("identity;q=0, gzip;q=0.1"), "gzip");
  EXPECT_EQ(coding("gzip;q=0.5, *;q=0"), "gzip");
  EXPECT_EQ(coding("gzip;q=x"), "none");
}

TEST(Negotiate, holds_content_types_against_ranges) {
  EXPECT_TRUE(is_of_media_range("application/json", "application/json"));
  EXPECT_TRUE(is_of_media_range("Application/JSON ; charset=utf-8", "application/json"));
  EXPECT_TRUE(is_of_media_range("text/csv", "text/*"));
  EXPECT_TRUE(is_of_media_range("a/b", "*/*"));
  EXPECT_FALSE(is_of_media_range("application/jsonp", "application/json"));
  EXPECT_FALSE(is_of_media_range("application/json2; x=application/json", "application/json"));
  EXPECT_FALSE(is_of_media_range("", "application/json"));
  EXPECT_FALSE(is_of_media_range("text", "text/*"));
  EXPECT_TRUE(is_media_range("text/*"));
  EXPECT_TRUE(is_media_range("application/vnd.api+json"));
  for (const char* bad : {"", "text", "text/", "/x", "a/b/c", "a /b", "a/b;c"})
    EXPECT_FALSE(is_media_range(bad)) << bad;
}

}  // namespace
}  // namespace keel::http::negotiate_test
