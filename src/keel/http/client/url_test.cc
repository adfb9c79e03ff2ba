#include "keel/http/client/url.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::http::url_test {
namespace {

Result<Url> parse(std::string_view text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  return Url::parse(text);
}

TEST(Url, is_taken_apart) {
  struct Vector {
    std::string_view text, origin, host;
    int port;
    std::string_view target;
  };
  const Vector vectors[] = {
      {"http://example.com", "http://example.com", "example.com", 80, "/"},
      {"HTTP://Example.COM/A", "http://example.com", "example.com", 80, "/A"},
      {"http://example.com:80/", "http://example.com", "example.com", 80, "/"},
      {"http://example.com:8080/a/b?c=d&e", "http://example.com:8080", "example.com", 8080, "/a/b?c=d&e"},
      {"http://example.com?q", "http://example.com", "example.com", 80, "/?q"},
      {"http://example.com/a#top", "http://example.com", "example.com", 80, "/a"},
      {"http://10.0.0.1:1/%41%2f", "http://10.0.0.1:1", "10.0.0.1", 1, "/%41%2f"},
      {"http://[::1]:65535/x", "http://[::1]:65535", "::1", 65535, "/x"},
      {"http://[2001:DB8::1]/", "http://[2001:db8::1]", "2001:db8::1", 80, "/"},
      {"http://my_service/a", "http://my_service", "my_service", 80, "/a"},
      {"http://a/?q=%zz", "http://a", "a", 80, "/?q=%zz"},
  };
  for (const Vector& vector : vectors) {
    const Result<Url> url = parse(vector.text);
    ASSERT_TRUE(url) << vector.text << ": " << url.error().describe();
    EXPECT_EQ(url->origin(), vector.origin);
    EXPECT_EQ(url->authority(), vector.origin.substr(7));
    EXPECT_EQ(url->host(), vector.host);
    EXPECT_EQ(url->port(), vector.port);
    EXPECT_EQ(url->target(), vector.target);
    EXPECT_EQ(url->text(), std::string(vector.origin) + std::string(vector.target));
  }
  EXPECT_EQ(parse("http://a/b/c?secret=1")->path(), "/b/c");
  EXPECT_EQ(parse("http://a/b/c?secret=1")->without_query(), "http://a/b/c");
}

TEST(Url, that_could_be_misread_is_refused) {
  const std::string_view texts[] = {
      "",
      "example.com",
      "/a",
      "ftp://a/",
      "http:/a",
      "httpss://a/",
      "http+unix://a/",
      "://a/",
      "https",
      "http://",
      "http:///a",
      "http://?q",
      "http://:80/",
      "http://user@a/",
      "http://user:password@a/",
      "http://a:/",
      "http://a:0/",
      "http://a:65536/",
      "http://a:080000/",
      "http://a:8 0/",
      "http://a:-1/",
      "http://a b/",
      "http://a%41/",
      "http://a,b/",
      "http://a\\b/",
      "http://[::1/",
      "http://[::1]a/",
      "http://[1.2.3.4]/",
      "http://[fe80::1%eth0]/",
      "http://[fe80::1%lo]/",
      "http://a]/",
      "http://a/b c",
      "http://a/\r\nX: y",
      "http://a/\tb",
      "http://a/\x7f",
      "http://a/\xc3\xa4",
      "http://a/\"",
      "http://a/<",
      "http://a/>",
      "http://a/b\\c",
      "http://a/^",
      "http://a/`",
      "http://a/{b}",
      "http://a/?b=c|d",
      "http://a/%",
      "http://a/%4",
      "http://a/%4?1",
      "http://a/%gg",
      "http://a/%00",
  };
  for (const std::string_view text : texts) {
    const Result<Url> url = parse(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code(), Code::InvalidArgument) << text;
  }
  const std::string_view with_nul("http://a/\0b", 11);
  EXPECT_FALSE(parse(with_nul));
}

TEST(Url, knows_what_its_scheme_means) {
  struct Vector {
    std::string_view text, name;
    Url::Scheme scheme;
    bool is_secure;
    int port;
    std::string_view origin;
  };
  const Vector vectors[] = {
      {"http://a/", "http", Url::Scheme::Http, false, 80, "http://a"},
      {"http://a:443/", "http", Url::Scheme::Http, false, 443, "http://a:443"},
      {"https://a/", "https", Url::Scheme::Https, true, 443, "https://a"},
      {"HTTPS://a:443/", "https", Url::Scheme::Https, true, 443, "https://a"},
      {"https://a:80/", "https", Url::Scheme::Https, true, 80, "https://a:80"},
      {"ws://a/", "ws", Url::Scheme::Ws, false, 80, "ws://a"},
      {"wss://a/", "wss", Url::Scheme::Wss, true, 443, "wss://a"},
      {"wss://[::1]:8443/chat", "wss", Url::Scheme::Wss, true, 8443, "wss://[::1]:8443"},
  };
  for (const Vector& vector : vectors) {
    const Result<Url> url = parse(vector.text);
    ASSERT_TRUE(url) << vector.text << ": " << url.error().describe();
    EXPECT_EQ(url->scheme(), vector.scheme);
    EXPECT_EQ(url->scheme_name(), vector.name);
    EXPECT_EQ(url->is_secure(), vector.is_secure);
    EXPECT_EQ(url->port(), vector.port);
    EXPECT_EQ(url->origin(), vector.origin);
    EXPECT_EQ(url->authority(), vector.origin.substr(vector.name.size() + 3));
  }
}

TEST(Url, keeps_its_scheme_where_a_reference_has_none) {
  const Url base = *parse("https://a/b");
  EXPECT_EQ(base.resolve("//c/d")->text(), "https://c/d");
  EXPECT_EQ(base.resolve("//c:443/d")->text(), "https://c/d");
  EXPECT_EQ(base.resolve("//c:80/d")->text(), "https://c:80/d");
  EXPECT_EQ(base.resolve("/d")->text(), "https://a/d");
  EXPECT_EQ(base.resolve("http://a/d")->origin(), "http://a");
}

TEST(Url, has_at_most_8000_bytes) {
  const std::string longest = "http://a/" + std::string(Url::bytes_max - 9, 'x');
  EXPECT_TRUE(parse(longest));
  EXPECT_FALSE(parse(longest + 'x'));
}

// RFC 3986 §5.4, with http for its scheme.
TEST(Url, resolves_references_as_the_standard_shows) {
  const Url base = *parse("http://a/b/c/d;p?q");
  struct Vector {
    std::string_view reference, text;
  };
  const Vector vectors[] = {
      {"g", "http://a/b/c/g"},
      {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},
      {"//g", "http://g/"},
      {"//g:81/h", "http://g:81/h"},
      {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},
      {"#s", "http://a/b/c/d;p?q"},
      {"g#s", "http://a/b/c/g"},
      {"g?y#s", "http://a/b/c/g?y"},
      {";x", "http://a/b/c/;x"},
      {"g;x", "http://a/b/c/g;x"},
      {"", "http://a/b/c/d;p?q"},
      {".", "http://a/b/c/"},
      {"./", "http://a/b/c/"},
      {"..", "http://a/b/"},
      {"../", "http://a/b/"},
      {"../g", "http://a/b/g"},
      {"../..", "http://a/"},
      {"../../", "http://a/"},
      {"../../g", "http://a/g"},
      {"../../../g", "http://a/g"},
      {"../../../../g", "http://a/g"},
      {"/./g", "http://a/g"},
      {"/../g", "http://a/g"},
      {"g.", "http://a/b/c/g."},
      {".g", "http://a/b/c/.g"},
      {"g..", "http://a/b/c/g.."},
      {"..g", "http://a/b/c/..g"},
      {"./../g", "http://a/b/g"},
      {"./g/.", "http://a/b/c/g/"},
      {"g/./h", "http://a/b/c/g/h"},
      {"g/../h", "http://a/b/c/h"},
      {"g?y/./x", "http://a/b/c/g?y/./x"},
      {"g?y/../x", "http://a/b/c/g?y/../x"},
      {"HTTP://Other:80/x/../y", "http://other/y"},
      // A path that begins with two slashes is a path, whoever comes first in it.
      {"http://good.internal//evil.test/x", "http://good.internal//evil.test/x"},
      {"http://good.internal//evil.test/x/../y?z=/../", "http://good.internal//evil.test/y?z=/../"},
      {"http://good.internal?x=//evil.test/", "http://good.internal/?x=//evil.test/"},
      {"http://good.internal//", "http://good.internal//"},
      {"http://good.internal///evil.test", "http://good.internal///evil.test"},
      {"http://good.internal/.//evil.test/x", "http://good.internal//evil.test/x"},
      {"//good.internal:81//evil.test//x", "http://good.internal:81//evil.test//x"},
      {"/.//evil.test/x", "http://a//evil.test/x"},
      {"../..//evil.test/x", "http://a//evil.test/x"},
      // What no target has is escaped, as browsers do, but never taken for a slash.
      {"/a|b?c={\"d\"}", "http://a/a%7Cb?c=%7B%22d%22%7D"},
      {"g<>^`", "http://a/b/c/g%3C%3E%5E%60"},
      {"/\\evil.test/x", "http://a/%5Cevil.test/x"},
      {"\\\\evil.test/x", "http://a/b/c/%5C%5Cevil.test/x"},
      {"http://a/b|c", "http://a/b%7Cc"},
      {"}", "http://a/b/c/%7D"},
  };
  for (const Vector& vector : vectors) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(vector.reference.data()), vector.reference.size());
    const Result<Url> url = base.resolve(vector.reference);
    ASSERT_TRUE(url) << vector.reference << ": " << url.error().describe();
    EXPECT_EQ(url->text(), vector.text) << vector.reference;
  }
  for (const std::string_view reference :
       {"ftp://a/", "mailto:a@b", "//", "/a b", "//user@b/", "/%0", "http://good.test\\@evil.test/"}) {
    EXPECT_FALSE(base.resolve(reference)) << reference;
  }
}

TEST(Urls, that_are_logged_show_neither_user_nor_query) {
  EXPECT_EQ(loggable_url("http://user:secret@a.test:81/b@c?token=secret#d"), "http://a.test:81/b@c");
  EXPECT_EQ(loggable_url("/b?c@d"), "/b");
  EXPECT_EQ(loggable_url("no url"), "no url");
  EXPECT_EQ(loggable_url(""), "");
}

}  // namespace
}  // namespace keel::http::url_test
