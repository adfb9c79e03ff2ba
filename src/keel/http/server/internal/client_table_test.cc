#include "keel/http/server/internal/client_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "keel/http/server/forwarded.h"
#include "keel/io/address.h"

namespace keel::http::client_table_test {
namespace {

std::string client(const char* text) { return std::string(client_of(Address::parse(text).value())); }
std::string numbered(std::uint64_t number) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

TEST(ClientTable, has_a_place_for_a_client_as_long_as_it_has_a_connection) {
  ClientTable table(SipKey{1, 2});
  const std::uint32_t first = table.enter("abcd");
  EXPECT_EQ(table.enter("abcd"), first);
  const std::uint32_t other = table.enter("abce");
  EXPECT_NE(first, other);
  EXPECT_EQ(table.at(first).connections, 2u);
  EXPECT_EQ(table.size(), 2u);

  table.leave(first);
  EXPECT_EQ(table.at(first).connections, 1u);
  table.leave(other);
  EXPECT_EQ(table.size(), 1u);
  table.at(first).body_bytes = 7;
  table.leave(first);
  EXPECT_EQ(table.size(), 0u);
  const std::uint32_t anew = table.enter("abcd");
  EXPECT_EQ(table.at(anew).connections, 1u);
  EXPECT_EQ(table.at(anew).body_bytes, 0u);
}

TEST(ClientTable, tells_addresses_of_both_families_apart) {
  ClientTable table(SipKey{1, 2});
  // Four bytes, and eight that begin with them.
  EXPECT_NE(table.enter(std::string("\x20\x01\x0d\xb8", 4)), table.enter(std::string("\x20\x01\x0d\xb8\0\0\0\0", 8)));
  EXPECT_EQ(table.size(), 2u);
}

TEST(ClientTable, keeps_thousands_and_forgets_each) {
  ClientTable table(SipKey{3, 4});
  for (int round = 0; round < 3; ++round) {
    std::vector<std::uint32_t> places;
    for (std::uint64_t i = 0; i < 5000; ++i) places.push_back(table.enter(numbered(i)));
    for (std::uint64_t i = 0; i < 5000; ++i) EXPECT_EQ(table.enter(numbered(i)), places[i]) << i;
    EXPECT_EQ(table.size(), 5000u);
    for (const std::uint32_t place : places) EXPECT_EQ(table.at(place).connections, 2u);
    for (int time = 0; time < 2; ++time) {
      for (const std::uint32_t place : places) table.leave(place);
    }
    EXPECT_EQ(table.size(), 0u);
  }
}

TEST(ClientOf, is_an_address_or_the_network_of_a_household) {
  EXPECT_EQ(client("192.0.2.7:80"), client("192.0.2.7:81"));
  EXPECT_NE(client("192.0.2.7:80"), client("192.0.2.8:80"));
  EXPECT_EQ(client("[::ffff:192.0.2.7]:80"), client("192.0.2.7:80"));
  EXPECT_EQ(client("[2001:db8::1]:80"), client("[2001:db8::ffff:1]:80"));
  EXPECT_NE(client("[2001:db8::1]:80"), client("[2001:db8:0:1::1]:80"));
  EXPECT_EQ(client("unix:/tmp/socket"), "");
}

}  // namespace
}  // namespace keel::http::client_table_test
