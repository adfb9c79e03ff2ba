#include "keel/net/address_guard.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "keel/net/internal/net_test.h"
#include "keel/net/resolver.h"
#include "keel/net/stream.h"

namespace keel::address_guard_test {
namespace {

bool is_public(const char* host) { return public_addresses_only(Address::ip(host, 80).value()); }

// The first and the last address of each network, and its neighbours where they are public.
TEST(AddressGuard, knows_the_networks_of_the_special_purpose_registries) {
  for (const char* host : {"0.0.0.0",
                           "0.255.255.255",
                           "10.0.0.0",
                           "10.255.255.255",
                           "100.64.0.0",
                           "100.127.255.255",
                           "127.0.0.1",
                           "127.255.255.255",
                           "169.254.0.0",
                           "168.63.129.16",
                           "169.254.169.254",
                           "172.16.0.0",
                           "172.31.255.255",
                           "192.0.0.1",
                           "192.0.0.255",
                           "192.0.2.1",
                           "192.88.99.1",
                           "192.168.0.0",
                           "192.168.255.255",
                           "198.18.0.0",
                           "198.19.255.255",
                           "198.51.100.7",
                           "203.0.113.7",
                           "224.0.0.1",
                           "239.255.255.255",
                           "240.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::2",
                           "::8.8.8.8",
                           "::ffff:0:8.8.8.8",
                           "100::1",
                           "64:ff9b:1::1",
                           "fc00::1",
                           "fdff::1",
                           "fe80::1",
                           "fec0::1",
                           "ff02::1",
                           "ff0e::1",
                           "1fff::1",
                           "4000::1",
                           "5f00::1",
                           "2001::1",
                           "2001:1ff::1",
                           "2001:db8::1",
                           "3fff::1",
                           "3fff:fff::1"}) {
    EXPECT_FALSE(is_public(host)) << host;
  }
  for (const char* host :
       {"1.0.0.0",      "9.255.255.255",   "11.0.0.0",      "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.0",    "168.63.129.15",   "168.63.129.17", "169.253.0.1",    "169.255.0.1", "172.15.0.1",
        "172.32.0.0",   "192.0.1.1",       "192.0.3.1",     "192.167.0.1",    "192.169.0.1", "198.17.255.255",
        "198.20.0.0",   "223.255.255.255", "2000::1",       "2001:200::1",    "2001:db7::1", "2001:db9::1",
        "2606:4700::1", "3ffe::1",         "3fff:1000::1"}) {
    EXPECT_TRUE(is_public(host)) << host;
  }
}

TEST(AddressGuard, judges_an_address_of_IPv6_that_stands_for_one_of_IPv4_as_that_one) {
  for (const char* host :
       {"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:168.63.129.16", "::ffff:10.0.0.1", "64:ff9b::127.0.0.1",
        "64:ff9b::169.254.169.254", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "2002:a00:1::1"}) {
    EXPECT_FALSE(is_public(host)) << host;
  }
  for (const char* host : {"::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"}) {
    EXPECT_TRUE(is_public(host)) << host;
  }
}

TEST(AddressGuard, does_not_call_a_path_public) {
  EXPECT_FALSE(public_addresses_only(Address::parse("unix:/run/app.sock").value()));
  EXPECT_FALSE(public_addresses_only(Address()));
}

TEST(AddressGuard, without_a_function_allows_everything) {
  EXPECT_TRUE(AddressGuard().allows(Address::parse("127.0.0.1:80").value()));
}

// A function that cannot be copied, in a guard that can.
TEST(AddressGuard, is_copied_and_keeps_what_its_function_owns) {
  AddressGuard copy;
  {
    auto port = std::make_unique<std::uint16_t>(443);
    const AddressGuard guard([port = std::move(port)](const Address& to) { return to.port() == *port; });
    copy = guard;
  }
  EXPECT_TRUE(copy.allows(Address::parse("127.0.0.1:443").value()));
  EXPECT_FALSE(copy.allows(Address::parse("127.0.0.1:22").value()));
}

class GuardedConnects : public internal::NetTest {
 protected:
  static Task<> expect_nobody(Listener& listener) {
    const Result<Stream> came = co_await attempt(with_timeout(20_ms, listener.accept()));
    EXPECT_FALSE(came);
  }
};
INSTANTIATE_TEST_SUITE_P(, GuardedConnects, internal::every_engine(), internal::name_of_engine);

TEST_P(GuardedConnects, go_only_to_addresses_that_are_allowed) {
  Listener listener = listen();
  const Address other = Address::ip("127.0.0.2", 0).value();
  Resolver resolver(*loop_, {}, [&](const std::string&) {
    return Result<std::vector<Address>>(std::vector<Address>{other, listener.address()});
  });
  std::vector<std::string> asked;
  const AddressGuard guard([&](const Address& to) {
    asked.push_back(to.to_string());
    return to == listener.address();
  });

  const Result<Stream> stream = run(Stream::connect(resolver, "both.internal", listener.address().port(), guard));

  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_EQ(stream->peer_address(), listener.address());
  EXPECT_EQ(asked.size(), 2u) << "each address, with its port";
}

TEST_P(GuardedConnects, fail_before_anything_is_sent_where_no_address_is_allowed) {
  Listener listener = listen();
  Resolver resolver(*loop_, {}, [&](const std::string&) {
    return Result<std::vector<Address>>(std::vector<Address>{listener.address()});
  });
  const AddressGuard guard(public_addresses_only);

  for (const char* host : {"rebound.example", "127.0.0.1"}) {
    const Result<Stream> stream = run(Stream::connect(resolver, host, listener.address().port(), guard));
    ASSERT_FALSE(stream) << host;
    EXPECT_EQ(stream.error().code(), Code::PermissionDenied) << stream.error().describe();
    EXPECT_TRUE(stream.error().is_from_environment());
    EXPECT_NE(stream.error().message().find(listener.address().to_string()), std::string_view::npos)
        << stream.error().describe();
  }
  ASSERT_TRUE(run(expect_nobody(listener)));
}

}  // namespace
}  // namespace keel::address_guard_test
