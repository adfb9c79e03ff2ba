#include "keel/net/proxy_header.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);

namespace keel::proxy_header_test {
namespace {

using namespace std::string_literals;
using State = ProxyHeader::State;
using Sender = ProxyHeader::Sender;

const std::string signature("\r\n\r\n\0\r\nQUIT\n", 12);
const std::string v4_addresses = "\xc0\x00\x02\x07\x0a\x00\x00\x01\xdd\xd5\x01\xbb"s;  // 192.0.2.7:56789, 10.0.0.1:443
const std::string v6_addresses = "\x20\x01\x0d\xb8"s + std::string(11, '\0') + "\x01" + "\x20\x01\x0d\xb8"s +
                                 std::string(11, '\0') + "\x02" + "\xdd\xd5\x01\xbb"s;

std::string two_bytes(std::size_t number) { return {static_cast<char>(number >> 8), static_cast<char>(number & 0xff)}; }
// A header of version 2 whose length is that of `block`.
std::string v2(char command, char family, const std::string& block) {
  return signature + command + family + two_bytes(block.size()) + block;
}
std::string tlv(char type, const std::string& value) { return type + two_bytes(value.size()) + value; }

// "client" and its address, "unknown", "proxy", "incomplete" or why it is rejected. What is complete or rejected is
// looked at byte by byte as well.
std::string meaning(const std::string& wire) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const unsigned char*>(wire.data()), wire.size());
  const ProxyHeader header = parse_proxy_header(wire);
  const std::string_view whole = std::string_view(wire).substr(0, header.size);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(parse_proxy_header(whole.substr(0, size)).state, State::Incomplete) << size;
  }
  switch (header.state) {
    case State::Incomplete:
      return "incomplete";
    case State::Refused:
      return header.reason;
    case State::Complete:
      break;
  }
  switch (header.sender) {
    case Sender::Proxy:
      return "proxy";
    case Sender::Unknown:
      return "unknown";
    case Sender::Client:
      break;
  }
  return "client " + header.client.to_string();
}

TEST(ProxyHeader, of_version_1_names_a_client) {
  EXPECT_EQ(meaning("PROXY TCP4 192.0.2.7 10.0.0.1 56789 443\r\n"), "client 192.0.2.7:56789");
  EXPECT_EQ(meaning("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n"), "client 255.255.255.255:65535");
  EXPECT_EQ(meaning("PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n"), "client 0.0.0.0:0");
  EXPECT_EQ(meaning("PROXY TCP6 2001:db8::1 2001:DB8::2 56789 443\r\n"), "client [2001:db8::1]:56789");
  const std::string all_digits = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
  EXPECT_EQ(meaning("PROXY TCP6 " + all_digits + " " + all_digits + " 65535 65535\r\n"),
            "client [" + all_digits + "]:65535");
}

TEST(ProxyHeader, of_version_1_ends_at_its_line) {
  const std::string line = "PROXY TCP4 192.0.2.7 10.0.0.1 56789 443\r\n";
  const ProxyHeader header = parse_proxy_header(line + "PROXY TCP4 1.1.1.1 10.0.0.1 1 443\r\nGET / HTTP/1.1\r\n");
  EXPECT_EQ(header.state, State::Complete);
  EXPECT_EQ(header.size, line.size());
  EXPECT_EQ(header.client.to_string(), "192.0.2.7:56789");
}

TEST(ProxyHeader, of_version_1_may_not_know_the_client) {
  EXPECT_EQ(meaning("PROXY UNKNOWN\r\n"), "unknown");
  EXPECT_EQ(meaning("PROXY UNKNOWN 192.0.2.7 10.0.0.1 56789 443\r\n"), "unknown");
  const std::string all_digits = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
  const std::string longest = "PROXY UNKNOWN " + all_digits + " " + all_digits + " 65535 65535\r\n";
  ASSERT_EQ(longest.size(), 107u);
  EXPECT_EQ(meaning(longest), "unknown");
}

TEST(ProxyHeader, of_version_1_is_refused_when_it_is_not_strictly_one) {
  for (const char* const line :
       {"PROXY TCP4 192.0.2.7 10.0.0.1 56789\r\n", "PROXY TCP4 192.0.2.7 10.0.0.1 56789 443 \r\n",
        "PROXY TCP4 192.0.2.7  10.0.0.1 56789 443\r\n", "PROXY TCP4 192.0.2.7 10.0.0.1 56789 443 1\r\n",
        "PROXY TCP4 192.0.2 10.0.0.1 56789 443\r\n", "PROXY TCP4 192.0.2.07 10.0.0.1 56789 443\r\n",
        "PROXY TCP4 192.0.2.7 10.0.0.256 56789 443\r\n", "PROXY TCP4 192.0.2.7 10.0.0.1 65536 443\r\n",
        "PROXY TCP4 192.0.2.7 10.0.0.1 056789 443\r\n", "PROXY TCP4 192.0.2.7 10.0.0.1 +5 443\r\n",
        "PROXY TCP4 192.0.2.7 10.0.0.1 -1 443\r\n", "PROXY TCP4 192.0.2.7 10.0.0.1  443\r\n",
        "PROXY TCP4 192.0.2.7\t10.0.0.1 56789 443\r\n", "PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n",
        "PROXY TCP6 192.0.2.7 10.0.0.1 56789 443\r\n", "PROXY TCP6 [2001:db8::1] 2001:db8::2 1 2\r\n",
        "PROXY TCP6 fe80::1%eth0 2001:db8::2 1 2\r\n", "PROXY TCP4 \r\n", "PROXY TCP4\r\n"}) {
    EXPECT_EQ(meaning(line), "a header of version 1 has an invalid address or port") << line;
  }
  EXPECT_EQ(meaning("PROXY TCP4 192.0.2.7\0 10.0.0.1 56789 443\r\n"s),
            "a header of version 1 has an invalid address or port");
  for (const char* const line : {"PROXY \r\n", "PROXY  TCP4 192.0.2.7 10.0.0.1 56789 443\r\n", "PROXY tcp4 a b 1 2\r\n",
                                 "PROXY UDP4 192.0.2.7 10.0.0.1 1 2\r\n", "PROXY UNKNOWNS\r\n", "PROXY TCP\r\n"}) {
    EXPECT_EQ(meaning(line), "version 1 names neither TCP4, TCP6 nor UNKNOWN") << line;
  }
}

TEST(ProxyHeader, of_version_1_is_refused_without_the_end_of_its_line) {
  const std::string longest(107 - 14, 'x');
  EXPECT_EQ(meaning("PROXY UNKNOWN " + longest), "the line of version 1 has more than 107 bytes");
  EXPECT_EQ(meaning("PROXY UNKNOWN " + longest + "\r\n"), "the line of version 1 has more than 107 bytes");
  EXPECT_EQ(meaning("PROXY UNKNOWN " + longest.substr(1)), "incomplete");
  EXPECT_EQ(meaning("PROXY UNKNOWN " + longest.substr(1) + "\r"), "the line of version 1 has more than 107 bytes");
  EXPECT_EQ(meaning("PROXY UNKNOWN\n"), "the line of version 1 ends without CRLF");
  EXPECT_EQ(meaning("PROXY UNKNOWN\n\r\n"), "the line of version 1 ends without CRLF");
  EXPECT_EQ(meaning("PROXY UNKNOWN\rx"), "the line of version 1 ends without CRLF");
  EXPECT_EQ(meaning("PROXY UNKNOWN\r\r\n"), "the line of version 1 ends without CRLF");
  EXPECT_EQ(meaning("PROXY UNKNOWN\r"), "incomplete");
}

TEST(ProxyHeader, is_what_the_first_bytes_are) {
  EXPECT_EQ(meaning(""), "incomplete");
  EXPECT_EQ(meaning("P"), "incomplete");
  EXPECT_EQ(meaning("\r\n"), "incomplete");
  for (const std::string& wire : {"G"s, "GET / HTTP/1.1\r\n"s, "PROXY\r\n"s, "proxy "s, " PROXY "s, "\n"s, "\r\n\r\nG"s,
                                  "\x16\x03\x01"s, "\0"s, signature.substr(0, 11) + "\r"}) {
    EXPECT_EQ(meaning(wire), "the connection does not begin with a PROXY header") << wire;
  }
}

TEST(ProxyHeader, of_version_2_names_a_client) {
  EXPECT_EQ(meaning(v2('\x21', '\x11', v4_addresses)), "client 192.0.2.7:56789");
  EXPECT_EQ(meaning(v2('\x21', '\x21', v6_addresses)), "client [2001:db8::1]:56789");
  const std::string header = v2('\x21', '\x11', v4_addresses);
  EXPECT_EQ(parse_proxy_header(header + "GET / HTTP/1.1\r\n").size, header.size());
}

TEST(ProxyHeader, of_version_2_may_not_know_the_client) {
  EXPECT_EQ(meaning(v2('\x21', '\0', "")), "unknown");
  EXPECT_EQ(meaning(v2('\x21', '\x31', std::string(216, '/'))), "unknown");
  EXPECT_EQ(meaning(v2('\x21', '\x12', v4_addresses)), "unknown") << "a datagram";
  EXPECT_EQ(meaning(v2('\x21', '\x10', v4_addresses)), "unknown");
  EXPECT_EQ(meaning(v2('\x21', '\x01', "")), "unknown");
}

TEST(ProxyHeader, of_version_2_may_be_of_the_proxy_itself) {
  EXPECT_EQ(meaning(v2('\x20', '\0', "")), "proxy");
  EXPECT_EQ(meaning(v2('\x20', '\x11', v4_addresses)), "proxy");
  EXPECT_EQ(meaning(v2('\x20', '\xff', "what it likes")), "proxy") << "all of it is discarded";
}

TEST(ProxyHeader, of_version_2_is_refused_when_it_is_none) {
  EXPECT_EQ(meaning(signature + "\x11"), "the binary header is not of version 2");
  EXPECT_EQ(meaning(signature + "\x31"), "the binary header is not of version 2");
  EXPECT_EQ(meaning(signature + "\x22"), "the command of version 2 is neither LOCAL nor PROXY");
  for (const char family : {'\x41', '\xf1', '\x13', '\x1f'}) {
    EXPECT_EQ(meaning(v2('\x21', family, v4_addresses)), "version 2 names an unknown family or protocol");
  }
  EXPECT_EQ(meaning(v2('\x21', '\x11', v4_addresses.substr(1))),
            "the header of version 2 ends before the end of its addresses");
  EXPECT_EQ(meaning(v2('\x21', '\x21', v6_addresses.substr(1))),
            "the header of version 2 ends before the end of its addresses");
  EXPECT_EQ(meaning(v2('\x21', '\x31', std::string(215, '/'))),
            "the header of version 2 ends before the end of its addresses");
}

TEST(ProxyHeader, of_version_2_is_bounded) {
  const std::string padding = tlv('\x04', std::string(4096 - 16 - 12 - 3, 'x'));
  EXPECT_EQ(meaning(v2('\x21', '\x11', v4_addresses + padding)), "client 192.0.2.7:56789");
  EXPECT_EQ(meaning(v2('\x21', '\x11', v4_addresses + padding + "x")),
            "the header of version 2 has more than 4096 bytes");
  EXPECT_EQ(meaning(signature + "\x20"s + "\0\xff\xff"s), "the header of version 2 has more than 4096 bytes");
}

TEST(ProxyHeader, of_version_2_has_extensions_that_are_skipped) {
  const std::string extensions =
      tlv('\x01', "h2") + tlv('\x02', "shop.example") + tlv('\xea', "\x01vpce-1") + tlv('\x04', "");
  EXPECT_EQ(meaning(v2('\x21', '\x11', v4_addresses + extensions)), "client 192.0.2.7:56789");
  EXPECT_EQ(meaning(v2('\x21', '\x11', v4_addresses + extensions + "\x04")), "a TLV of version 2 is truncated");
  EXPECT_EQ(meaning(v2('\x21', '\x11', v4_addresses + "\x04\0"s)), "a TLV of version 2 is truncated");
  EXPECT_EQ(meaning(v2('\x21', '\x11', v4_addresses + "\x04\0\x01"s)), "a TLV of version 2 is longer than the header");
  EXPECT_EQ(meaning(v2('\x20', '\x11', v4_addresses + "\x04\0\x01"s)), "proxy") << "all of it is discarded";
}

TEST(ProxyHeader, of_version_2_is_not_believed_about_the_tls_of_its_client) {
  // PP2_TYPE_SSL: the client has shown a certificate that was not verified, its version of TLS and its name.
  const std::string of_tls = "\x07\0\0\0\x01"s + tlv('\x21', "TLSv1.3") + tlv('\x22', "billing");
  EXPECT_EQ(meaning(v2('\x21', '\x11', v4_addresses + tlv('\x20', of_tls))), "client 192.0.2.7:56789");
  EXPECT_EQ(meaning(v2('\x21', '\x11', v4_addresses + tlv('\x20', of_tls.substr(0, 3)))), "client 192.0.2.7:56789");
  EXPECT_EQ(meaning(v2('\x21', '\x11', v4_addresses + tlv('\x20', of_tls + "\x21\xff\xff"s))),
            "client 192.0.2.7:56789");
}

// RFC 3720 appendix B.4 has the CRC32C of 32 zeros; this one was computed by the polynomial, bit by bit.
std::uint32_t crc32c(const std::string& bytes) {
  std::uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
  }
  return ~crc;
}

TEST(ProxyHeader, of_version_2_is_refused_when_its_checksum_is_wrong) {
  ASSERT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  const std::string before = v4_addresses + tlv('\x01', "h2");
  const std::string after = tlv('\x04', "xx");
  const std::string unsummed = v2('\x21', '\x11', before + tlv('\x03', std::string(4, '\0')) + after);
  const std::uint32_t sum = crc32c(unsummed);
  const std::string right = two_bytes(sum >> 16) + two_bytes(sum & 0xffff);
  const std::string header = v2('\x21', '\x11', before + tlv('\x03', right) + after);
  EXPECT_EQ(meaning(header), "client 192.0.2.7:56789");
  EXPECT_EQ(meaning(unsummed), "the CRC32C of version 2 is wrong");
  for (std::size_t at = 16; at < 28; ++at) {
    std::string other = header;
    other[at] = static_cast<char>(other[at] ^ 1);
    EXPECT_EQ(meaning(other), "the CRC32C of version 2 is wrong") << at;
  }
  EXPECT_EQ(meaning(v2('\x21', '\x11', before + tlv('\x03', right.substr(1)))),
            "the CRC32C of version 2 does not have four bytes");
}

}  // namespace
}  // namespace keel::proxy_header_test
