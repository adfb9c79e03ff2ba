#include "keel/contract/formats.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace keel::contract::formats_test {
namespace {

struct Case {
  std::string_view format;
  std::vector<std::string_view> valid;
  std::vector<std::string_view> invalid;
};

// JSON-Schema-Test-Suite has some 700 more (tools/keel/gen/schema_suite_test.cc).
TEST(Formats, a_text_is_valid_as_the_standard_of_its_format_says) {
  const std::vector<Case> cases = {
      {"date", {"2024-02-29", "2000-02-29", "0000-01-01"}, {"2023-02-29", "1900-02-29", "2024-2-29", "2024-13-01", ""}},
      {"time",
       {"12:00:00Z", "23:59:60Z", "01:29:60+01:30", "12:00:00.123-08:00"},
       {"12:00:00", "24:00:00Z", "12:59:60Z", "12:00:00.Z", "12:00:00+24:00"}},
      {"date-time", {"2026-11-24T12:00:37.250Z"}, {"2026-11-24 12:00:37Z", "2026-11-24T12:00:37"}},
      {"duration", {"P1D", "PT1H30M", "P1Y2M3DT4H5M6S", "P2W"}, {"P", "PT", "P1", "P1Y2D", "PT1H2S", "1D", "P1DT"}},
      {"email",
       {"ada@example.com", "\"a b\"@example.com", "a+b@[192.0.2.1]", "a@[IPv6:::1]"},
       {"ada", "@example.com", ".a@example.com", "a..b@example.com", "a@-b.com", "a@[1.2.3]", "\xC3\xA9@example.com"}},
      {"idn-email", {"\xC3\xA9@example.com", "a@\xC3\xA9.com"}, {"\xC3@example.com", "a b@example.com"}},
      {"hostname",
       {"example.com", "a", "xn--nxasmq6b", "1.2"},
       {"", "-a.com", "a-.com", "a..b", "example.com.", "a_b", "ab--c", "xn--X"}},
      {"ipv4", {"192.0.2.1", "0.0.0.0"}, {"1.2.3", "1.2.3.256", "01.2.3.4", "1.2.3.4.", "1.2.3.4.5"}},
      {"ipv6",
       {"::", "::1", "2001:db8::1", "1:2:3:4:5:6:7:8", "::ffff:192.0.2.1", "1::"},
       {":", "1:2:3:4:5:6:7", "1::2::3", "12345::", "::1%eth0", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:"}},
      {"uri",
       {"https://a:b@example.com:80/c?d=e#f", "urn:a:b", "http://[::1]/"},
       {"/a", "a", "http:// a", "http://[1]/", "a:%x"}},
      {"uri-reference", {"/a?b#c", "", "//host/a"}, {"\\a", "a b", "#a#b"}},
      {"iri", {"https://example.com/\xC3\xA9"}, {"/\xC3\xA9", "https://example.com/\xC3"}},
      {"iri-reference", {"/\xC3\xA9", ""}, {"\\\xC3\xA9"}},
      {"uri-template", {"/pets/{id}", "{+a,b*}{?c:3}", ""}, {"/pets/{id", "{a b}", "{a:0}", "}"}},
      {"uuid", {"0192F7A8-3c1b-7d2e-9f00-6b1c2d3e4f50"}, {"0192f7a83c1b7d2e9f006b1c2d3e4f50", ""}},
      {"json-pointer", {"", "/a~0b~1c", "//"}, {"a", "/~", "/~2"}},
      {"relative-json-pointer", {"0", "1/a", "10#", "2+1/a"}, {"", "-1", "01", "0##", "1a", "0+0"}},
      {"regex", {"^a{2,3}$", "(?=a)b", "[^]"}, {"(", "a**", "[a", "\\Z", "a{3,2}"}},
      {"byte", {"", "AAAA", "AA==", "AAA="}, {"A", "AB==", "AA", "AA=A", "A-_="}},
  };

  for (const Case& one : cases) {
    const Format format = format_of(one.format);
    EXPECT_NE(format, Format::None) << one.format;
    for (const std::string_view text : one.valid) EXPECT_TRUE(is_valid(format, text)) << one.format << " " << text;
    for (const std::string_view text : one.invalid) EXPECT_FALSE(is_valid(format, text)) << one.format << " " << text;
    EXPECT_TRUE(std::string_view(expected(format)).starts_with("expected ")) << one.format;
  }
}

TEST(Formats, a_format_that_is_not_known_is_an_annotation) {
  for (const std::string_view name : {"idn-hostname", "password", "binary", "int32", ""}) {
    EXPECT_EQ(format_of(name), Format::None) << name;
  }
  EXPECT_TRUE(is_valid(Format::None, "anything"));
}

// No format reads behind the end of its text, whatever it begins like.
TEST(Formats, every_beginning_of_a_text_is_judged) {
  constexpr std::string_view text = "P1Y2M3DT12:00:00.5+01:30//[::ffff:1.2.3.4]:80/%C3%A9?{a:3}#\"q\\\"@xn--nxasmq6b";
  for (int format = 0; format <= static_cast<int>(Format::Byte); ++format) {
    for (std::size_t begin = 0; begin <= text.size(); ++begin) {
      for (std::size_t size = 0; begin + size <= text.size(); ++size) {
        const std::vector<char> copy(text.begin() + begin, text.begin() + begin + size);
        is_valid(static_cast<Format>(format), {copy.data(), copy.size()});
      }
    }
  }
}

}  // namespace
}  // namespace keel::contract::formats_test
