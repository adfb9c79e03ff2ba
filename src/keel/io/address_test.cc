#include "keel/io/address.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::address_test {
namespace {

TEST(Address, prints_what_it_parses) {
  for (const char* text :
       {"127.0.0.1:8080", "0.0.0.0:0", "255.255.255.255:65535", "[::1]:8080", "[::]:0", "[fe80::1]:80",
        "[fe80::1%lo]:8080", "[ff02::1%lo]:53", "[fe80::1%4000000]:80", "unix:/run/app.sock"}) {
    auto address = Address::parse(text);
    ASSERT_TRUE(address) << text << ": " << address.error().describe();
    EXPECT_EQ(address->to_string(), text);
  }
}

TEST(Address, refuses_what_is_not_an_address) {
  for (const std::string& text : {std::string(),
                                  std::string("127.0.0.1"),
                                  std::string("127.0.0.1:"),
                                  std::string("127.0.0.1:65536"),
                                  std::string("127.0.0.1:-1"),
                                  std::string("127.0.0.1:8o"),
                                  std::string(":80"),
                                  std::string("localhost:80"),
                                  std::string("256.0.0.1:80"),
                                  std::string("::1:80"),
                                  std::string("[::1:80"),
                                  std::string("[fe80::1%]:80"),
                                  std::string("[fe80::1%0]:80"),
                                  std::string("[fe80::1%-1]:80"),
                                  std::string("[fe80::1%4294967296]:80"),
                                  std::string("[fe80::1%no-such-link]:80"),
                                  std::string("[fe80::1%lo%lo]:80"),
                                  std::string("[%lo]:80"),
                                  "[fe80::1%" + std::string(40, 'x') + "]:80",
                                  std::string("[2001:db8::1%lo]:80"),
                                  std::string("127.0.0.1%lo:80"),
                                  std::string("unix:"),
                                  "unix:" + std::string(108, 'x')}) {
    auto address = Address::parse(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code(), Code::InvalidArgument) << text;
  }
}

TEST(Address, takes_the_longest_unix_path) {
  const std::string text = "unix:" + std::string(107, 'x');

  EXPECT_EQ(Address::parse(text).value().to_string(), text);
}

TEST(Address, compares_family_host_and_port) {
  const Address a = Address::parse("127.0.0.1:80").value();
  Address b = Address::parse("127.0.0.1:81").value();

  EXPECT_FALSE(a == b);
  b.set_port(80);
  EXPECT_EQ(b.port(), 80);
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a == Address::parse("127.0.0.2:80").value());
  EXPECT_FALSE(a == Address::parse("[::1]:80").value());
  EXPECT_TRUE(Address::parse("unix:/a").value() == Address::parse("unix:/a").value());
  EXPECT_FALSE(Address::parse("unix:/a").value() == Address::parse("unix:/b").value());
}

TEST(Address, knows_the_link_of_a_link_local_address) {
  const Address by_name = Address::parse("[fe80::1%lo]:80").value();
  const Address by_number = Address::parse("[fe80::1%1]:80").value();
  const Address elsewhere = Address::parse("[fe80::1%4000000]:80").value();

  EXPECT_TRUE(by_name == by_number) << "lo is the first interface of every network";
  EXPECT_FALSE(by_name == elsewhere);
  EXPECT_FALSE(by_name == Address::parse("[fe80::1]:80").value());
  EXPECT_TRUE(Address::ip("fe80::1%lo", 80).value() == by_name);
  EXPECT_EQ(by_number.to_string(), "[fe80::1%lo]:80");
  EXPECT_EQ(Address::ip("fe80::1%no-such-link", 80).error().describe(),
            "address: there is no interface 'no-such-link'");
}

TEST(Address, survives_the_system_form) {
  for (const char* text : {"127.0.0.1:80", "[::1]:80", "[fe80::1%lo]:80", "unix:/a"}) {
    const Address address = Address::parse(text).value();
    EXPECT_TRUE(Address::from_system(address.system(), address.system_size()) == address) << text;
  }
  EXPECT_EQ(Address().family(), AF_UNSPEC);
  EXPECT_TRUE(Address::parse("unix:/a").value().is_unix());
}

}  // namespace
}  // namespace keel::address_test
