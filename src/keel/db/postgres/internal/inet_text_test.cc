#include "keel/db/postgres/internal/inet_text.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::db::postgres::inet_text_test {
namespace {

using namespace std::string_literals;

std::string bytes_of(std::string_view text, bool is_cidr = false) {
  Buffer out;
  return append_inet_bytes(text, is_cidr, out) ? std::string(out.view()) : "none";
}
std::string text_of(std::string_view bytes, bool is_cidr = false) {
  Buffer out;
  return append_inet_text(bytes, is_cidr, out) ? std::string(out.view()) : "none";
}

TEST(InetText, comes_back) {
  for (const char* text : {"10.0.0.1", "0.0.0.0", "255.255.255.255", "10.1.2.3/8", "0.0.0.0/0", "::", "::1",
                           "2001:db8::1", "2001:db8::/32", "::ffff:1.2.3.4", "fe80::1/64", "1:2:3:4:5:6:7:8"}) {
    EXPECT_EQ(text_of(bytes_of(text)), text);
  }
  for (const char* text : {"10.0.0.0/8", "0.0.0.0/0", "10.0.0.1/32", "2001:db8::/32", "::/0", "::1/128"}) {
    EXPECT_EQ(text_of(bytes_of(text, true), true), text);
  }
  EXPECT_EQ(bytes_of("10.0.0.1/8"), "\x02\x08\0\x04\x0a\0\0\x01"s);
}

TEST(InetText, rejects_what_is_none) {
  for (const std::string& text : {""s, "10"s, "10.0.0"s, "10.0.0.256"s, "10.0.0.1/33"s, "10.0.0.1/"s, "10.0.0.1/-1"s,
                                  "10.0.0.1/8x"s, "::1/129"s, "1::2::3"s, "example.org"s, "10.0.0.1\0"s}) {
    EXPECT_EQ(bytes_of(text), "none") << text;
  }
  EXPECT_EQ(bytes_of("10.0.0.1/8", true), "none") << "bits behind the mask";
  EXPECT_EQ(text_of("\x02\x08\x01\x04\x0a\0\0\x01"s, true), "none");
  EXPECT_EQ(text_of("\x02\x08\x01\x04\x0a\0\0\0"s, false), "none") << "the other type's";
  for (const std::string& bytes : {""s, "\x02\x20\0"s, "\x02\x21\0\x04\x0a\0\0\x01"s, "\x04\x20\0\x04\x0a\0\0\x01"s,
                                   "\x02\x20\x02\x04\x0a\0\0\x01"s, "\x02\x20\0\x10\x0a\0\0\x01"s,
                                   "\x03\x20\0\x10\x0a\0\0\x01"s, "\x02\x20\0\x04\x0a\0\0\x01x"s}) {
    EXPECT_EQ(text_of(bytes), "none");
  }
}

}  // namespace
}  // namespace keel::db::postgres::inet_text_test
