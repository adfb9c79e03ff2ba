#include "keel/net/network.h"

#include <gtest/gtest.h>

namespace keel::network_test {
namespace {

Address address(std::string_view text) { return Address::ip(text, 0).value(); }

TEST(Network, holds_the_addresses_behind_its_prefix) {
  struct {
    const char* network;
    const char* address;
    bool inside;
  } const cases[] = {
      {"10.0.0.0/8", "10.255.0.1", true},
      {"10.0.0.0/8", "11.0.0.1", false},
      {"10.1.2.3/8", "10.9.9.9", true},
      {"192.168.4.0/22", "192.168.7.255", true},
      {"192.168.4.0/22", "192.168.8.0", false},
      {"192.0.2.7", "192.0.2.7", true},
      {"192.0.2.7", "192.0.2.6", false},
      {"0.0.0.0/0", "203.0.113.9", true},
      {"0.0.0.0/0", "::1", false},
      {"fd00::/8", "fd12::1", true},
      {"fd00::/8", "fe80::1", false},
      {"10.0.0.0/8", "::ffff:10.0.0.1", true},
      {"::1", "::1", true},
      {"2001:db8::/33", "2001:db8:8000::1", false},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(Network::parse(each.network)->contains(address(each.address)), each.inside)
        << each.network << " " << each.address;
  }
  EXPECT_TRUE(Network::parse("unix")->contains(Address::parse("unix:/run/x").value()));
  EXPECT_FALSE(Network::parse("unix")->contains(address("127.0.0.1")));
}

TEST(Network, refuses_what_is_none) {
  for (const char* text :
       {"", "/8", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8x", "fd00::/129", "fe80::1%lo/64", "proxy"}) {
    const auto network = Network::parse(text);
    ASSERT_FALSE(network) << text;
    EXPECT_EQ(network.error().code(), Code::InvalidArgument);
  }
  EXPECT_EQ(Network::parse("unix:").error().message(),
            "network 'unix:': expected an IP address, a network such as 10.0.0.0/8, or unix for all clients of Unix "
            "sockets");
}

}  // namespace
}  // namespace keel::network_test
