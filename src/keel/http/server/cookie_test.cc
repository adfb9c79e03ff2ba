#include "keel/http/server/cookie.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/http/testing/internal/request_test.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::http::cookie_test {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

class CookieTest : public ::testing::Test {
 protected:
  CookieTest() {
    router_.get("/", [](Request&) { return Response(Status::Ok); });
  }
  Pairs read(std::string_view fields) {
    TestRequest request(router_, "GET", "/", fields);
    Pairs pairs;
    Cookies cookies(request->head());
    while (const auto cookie = cookies.next()) pairs.emplace_back(cookie->name, cookie->value);
    EXPECT_TRUE(cookies.finish());
    return pairs;
  }
  Router router_;
};

struct Case {
  const char* field;
  Pairs pairs;
};

const Case cases[] = {
    {"a=b", {{"a", "b"}}},
    {"a=b; c=d", {{"a", "b"}, {"c", "d"}}},
    {"a=b;c=d", {{"a", "b"}, {"c", "d"}}},
    {"a=", {{"a", ""}}},
    {"a=b=c==", {{"a", "b=c=="}}},
    {"  a = b c ;\td=e", {{"a", "b c"}, {"d", "e"}}},
    {"a=\"b; c=d\"", {{"a", "\"b"}, {"c", "d\""}}},  // Quotes protect nothing: one reader, one response.
    {"a=%3B+b", {{"a", "%3B+b"}}},                   // Nothing is decoded.
    {"a", {}},
    {"=b", {}},
    {";;; ; ", {}},
    {"===;;;", {}},
    {"a b=c; d=e", {{"d", "e"}}},  // "a b" is no token.
    {"a=1; a=2", {{"a", "1"}, {"a", "2"}}},
    {"$Version=1; a=b", {{"$Version", "1"}, {"a", "b"}}},
};

TEST_F(CookieTest, are_read_as_browsers_write_them) {
  for (const Case& one : cases) EXPECT_EQ(read(std::string("Cookie: ") + one.field + "\r\n"), one.pairs) << one.field;
}

TEST_F(CookieTest, of_several_fields_follow_each_other) {
  EXPECT_EQ(read("Cookie: a=1\r\nX: c=3\r\ncookie: b=2; d=4\r\n"), (Pairs{{"a", "1"}, {"b", "2"}, {"d", "4"}}));
  EXPECT_EQ(read("Cookie:\r\nCookie: a=1\r\n"), (Pairs{{"a", "1"}}));
  EXPECT_EQ(read(""), Pairs());
}

TEST_F(CookieTest, are_found_by_their_exact_name_and_the_first_wins) {
  TestRequest request(router_, "GET", "/", "Cookie: SID=upper; sid=1; sid=2\r\n");

  EXPECT_EQ(find_cookie(*request, "sid"), "1");
  EXPECT_EQ(find_cookie(*request, "SID"), "upper");
  EXPECT_EQ(find_cookie(*request, "si"), std::nullopt);
}

// What is passed over counts: it is work too.
TEST_F(CookieTest, are_bounded_in_number) {
  std::string field = "Cookie: a=1";
  for (int i = 0; i < 3; ++i) field += ";x";
  TestRequest request(router_, "GET", "/", field + "\r\n");

  Cookies enough(request->head(), 4);
  while (enough.next()) {
  }
  EXPECT_TRUE(enough.finish());

  Cookies too_few(request->head(), 3);
  EXPECT_TRUE(too_few.next());
  EXPECT_FALSE(too_few.next());
  ASSERT_FALSE(too_few.finish());
  EXPECT_EQ(too_few.finish().error().code(), Code::InvalidArgument);
}

TEST_F(CookieTest, behave_the_same_for_both_readers) {
  for (const Case& one : cases) {
    const std::string_view field = one.field;
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(field.data()), field.size());
  }
}

std::string written(const SetCookie& cookie) {
  Response response(Status::Ok);
  const Result<> added = set_cookie(response, cookie);
  EXPECT_TRUE(response.is_valid());
  if (added) return std::string(response.fields());
  EXPECT_TRUE(added.error().is_bug()) << "of the handler, not of the client";
  EXPECT_TRUE(std::string_view(added.error().place().file_name()).ends_with("cookie_test.cc"));
  EXPECT_EQ(response.fields(), "");
  return std::string(added.error().message());
}

TEST(SetCookie, has_narrow_defaults) {
  EXPECT_EQ(written({.name = "id", .value = "x"}), "Set-Cookie: id=x; Path=/; Secure; HttpOnly; SameSite=Lax\r\n");
}

TEST(SetCookie, says_everything_it_was_given) {
  EXPECT_EQ(written({.name = "id",
                     .value = "x",
                     .max_age = 1_h,
                     .path = "/a b",
                     .domain = "example.com",
                     .same_site = SameSite::None}),
            "Set-Cookie: id=x; Max-Age=3600; Path=/a b; Domain=example.com; Secure; HttpOnly; SameSite=None\r\n");
  EXPECT_EQ(written({.name = "id", .value = "", .secure = false, .http_only = false}),
            "Set-Cookie: id=; Path=/; SameSite=Lax\r\n");
}

TEST(SetCookie, rounds_its_age_up_to_seconds) {
  const auto age = [](Duration of) {
    const std::string text = written({.name = "a", .value = "", .max_age = of});
    const std::size_t at = text.find("Max-Age=") + 8;
    return text.substr(at, text.find(';', at) - at);
  };
  EXPECT_EQ(age(1_ms), "1");
  EXPECT_EQ(age(2_s), "2");
  EXPECT_EQ(age(0_s), "0");
  EXPECT_EQ(age(0_s - 5_s), "0");
  EXPECT_EQ(age(24_h * 365 * 100), "315360000");
}

TEST(SetCookie, refuses_what_would_split_the_field_or_the_response) {
  for (const char* value : {"a;b", "a b", "a,b", "a\"", "a\\b", "a\r\nX: y", "\xc3\xa4", "\x7f"}) {
    EXPECT_NE(written({.name = "id", .value = value}).find("encode the value"), std::string::npos) << value;
  }
  for (const char* name : {"", "a b", "a=b", "a;b", "a\n"}) {
    EXPECT_NE(written({.name = name, .value = "x"}).find("token"), std::string::npos) << name;
  }
  for (const char* path : {"", "a", "/;Secure", "/\n"}) {
    EXPECT_NE(written({.name = "id", .value = "x", .path = path}).find("path"), std::string::npos) << path;
  }
  for (const char* domain : {"a b", "a;b", "a/b", "a\n"}) {
    EXPECT_NE(written({.name = "id", .value = "x", .domain = domain}).find("domain"), std::string::npos) << domain;
  }
}

TEST(SetCookie, refuses_what_browsers_drop) {
  const std::string long_value(4094, 'v');
  const std::string long_path = "/" + std::string(1023, 'p');
  EXPECT_TRUE(written({.name = "id", .value = long_value}).starts_with("Set-Cookie"));
  EXPECT_NE(written({.name = "id", .value = long_value + "v"}).find("4,096"), std::string::npos);
  EXPECT_TRUE(written({.name = "id", .value = "x", .path = long_path}).starts_with("Set-Cookie"));
  EXPECT_NE(written({.name = "id", .value = "x", .path = long_path + "p"}).find("path"), std::string::npos);
  EXPECT_NE(written({.name = "id", .value = "x", .same_site = SameSite::None, .secure = false}).find("SameSite"),
            std::string::npos);
  EXPECT_NE(written({.name = "__secure-id", .value = "x", .secure = false}).find("__Secure-"), std::string::npos);
  EXPECT_TRUE(written({.name = "__Host-id", .value = "x"}).starts_with("Set-Cookie"));
  EXPECT_NE(written({.name = "__Host-id", .value = "x", .path = "/a"}).find("__Host-"), std::string::npos);
  EXPECT_NE(written({.name = "__Host-id", .value = "x", .domain = "a"}).find("__Host-"), std::string::npos);
}

}  // namespace
}  // namespace keel::http::cookie_test
