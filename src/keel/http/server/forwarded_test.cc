#include "keel/http/server/forwarded.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);

namespace keel::http::forwarded_test {
namespace {

Address address(std::string_view text) { return Address::ip(text, 0).value(); }

std::vector<Network> networks(std::initializer_list<const char*> texts) {
  std::vector<Network> list;
  for (const char* text : texts) list.push_back(Network::parse(text).value());
  return list;
}

constexpr Believed host_too{.host = TrustedPeers::TrustedProxies};

// "client scheme host" of a request with these fields, from `peer`.
std::string origin(std::string_view peer, std::string_view fields, const Trust& trust) {
  const std::string wire = "GET / HTTP/1.1\r\nHost: own.example\r\n" + std::string(fields) + "\r\n";
  RequestHead head;
  EXPECT_EQ(parse_head(wire, {}, head).state, HeadState::Complete) << wire;
  const Origin found = origin_of(head, address(peer), trust);
  Address client = found.client;
  client.set_port(0);
  std::string text = client.to_string();
  text.resize(text.size() - 2);  // ":0"
  LLVMFuzzerTestOneInput(reinterpret_cast<const unsigned char*>(fields.data()), fields.size());
  return text + " " + std::string(found.scheme) + " " + std::string(found.host);
}

class ForwardedFields : public ::testing::Test {
 protected:
  std::string x(std::string_view peer, std::string_view fields, const Believed& believed = host_too) const {
    return origin(peer, fields, {proxies, ForwardedBy::XForwarded, believed});
  }
  std::string standard(std::string_view peer, std::string_view fields, const Believed& believed = host_too) const {
    return origin(peer, fields, {proxies, ForwardedBy::Forwarded, believed});
  }
  std::string real(std::string_view peer, std::string_view fields, const Believed& believed = host_too) const {
    return origin(peer, fields, {proxies, ForwardedBy::XRealIp, believed});
  }
  const std::vector<Network> proxies = networks({"10.0.0.0/8", "fd00::/8"});
};

TEST_F(ForwardedFields, are_not_looked_at_from_a_peer_that_is_not_trusted) {
  EXPECT_EQ(x("192.0.2.1", "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\n"),
            "192.0.2.1 http own.example");
  EXPECT_EQ(standard("192.0.2.1", "Forwarded: for=203.0.113.9;proto=https;host=x.example\r\n"),
            "192.0.2.1 http own.example");
  EXPECT_EQ(origin("10.0.0.1", "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\n", {}),
            "10.0.0.1 http own.example");
  EXPECT_EQ(real("192.0.2.1", "X-Real-IP: 203.0.113.9\r\nX-Forwarded-Proto: https\r\n"), "192.0.2.1 http own.example");
}

TEST_F(ForwardedFields, name_the_first_address_from_the_right_that_is_not_trusted) {
  // What a client wrote itself stands on the left.
  EXPECT_EQ(x("10.0.0.1", "X-Forwarded-For: 1.1.1.1, 203.0.113.9, 10.2.2.2\r\n"), "203.0.113.9 http own.example");
  EXPECT_EQ(x("10.0.0.1", "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 203.0.113.9\r\n"),
            "203.0.113.9 http own.example");
  EXPECT_EQ(x("10.0.0.1", "X-Forwarded-For: 10.3.3.3, 10.2.2.2\r\n"), "10.3.3.3 http own.example");
  EXPECT_EQ(x("10.0.0.1", "X-Forwarded-For: 2001:db8::7\r\n"), "[2001:db8::7] http own.example");
  EXPECT_EQ(x("10.0.0.1", "X-Forwarded-For: [2001:db8::7]:443\r\n"), "[2001:db8::7] http own.example");
  EXPECT_EQ(x("10.0.0.1", "X-Forwarded-For: 203.0.113.9:5000\r\n"), "203.0.113.9 http own.example");
  EXPECT_EQ(
      standard("fd00::1", "Forwarded: for=1.1.1.1, for=\"[2001:db8::7]:4711\";proto=https;host=\"a.example:443\"\r\n"),
      "[2001:db8::7] https a.example");
  EXPECT_EQ(standard("10.0.0.1", "Forwarded: For=203.0.113.9 ; Proto=HTTPS\r\n"), "203.0.113.9 https own.example");
}

TEST_F(ForwardedFields, give_scheme_and_host_by_the_last_element_of_their_fields) {
  EXPECT_EQ(
      x("10.0.0.1",
        "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: ftp, https\r\nX-Forwarded-Host: a, b.example:8443\r\n"),
      "203.0.113.9 https b.example");
  EXPECT_EQ(x("10.0.0.1", "X-Forwarded-Host: [2001:db8::1]:80\r\n"), "10.0.0.1 http [2001:db8::1]");
}

TEST_F(ForwardedFields, name_the_client_by_x_real_ip_where_the_proxies_write_that) {
  EXPECT_EQ(real("10.0.0.1", "X-Real-IP: 203.0.113.9\r\n"), "203.0.113.9 http own.example");
  EXPECT_EQ(real("10.0.0.1", "x-real-ip: 2001:db8::7\r\n"), "[2001:db8::7] http own.example");
  EXPECT_EQ(real("10.0.0.1", "X-Real-IP: 10.2.2.2\r\n"), "10.2.2.2 http own.example") << "one hop, whoever it is";
  EXPECT_EQ(real("10.0.0.1", "X-Real-IP: 203.0.113.9\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: b.example\r\n"),
            "203.0.113.9 https b.example");
}

TEST_F(ForwardedFields, are_not_looked_at_but_the_one_that_the_proxies_write) {
  const std::string all = "X-Real-IP: 203.0.113.1\r\nX-Forwarded-For: 203.0.113.2\r\nForwarded: for=203.0.113.3\r\n";
  EXPECT_EQ(real("10.0.0.1", all), "203.0.113.1 http own.example");
  EXPECT_EQ(x("10.0.0.1", all), "203.0.113.2 http own.example");
  EXPECT_EQ(standard("10.0.0.1", all), "203.0.113.3 http own.example");
  EXPECT_EQ(real("10.0.0.1", "X-Forwarded-For: 1.1.1.1\r\nForwarded: for=1.1.1.1\r\n"), "10.0.0.1 http own.example");
  EXPECT_EQ(x("10.0.0.1", "X-Real-IP: 1.1.1.1\r\n"), "10.0.0.1 http own.example");
  EXPECT_EQ(standard("10.0.0.1", "X-Real-IP: 1.1.1.1\r\n"), "10.0.0.1 http own.example");
}

// A proxy that writes one family lets pass what a client wrote of the other.
TEST_F(ForwardedFields, of_the_family_that_the_proxies_do_not_write_are_not_looked_at) {
  const std::string of_client = "Forwarded: for=1.1.1.1;proto=http;host=evil.example\r\n";
  const std::string of_proxy =
      "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: a.example\r\n";
  EXPECT_EQ(x("10.0.0.1", of_client + of_proxy), "203.0.113.9 https a.example");
  EXPECT_EQ(x("10.0.0.1", of_client), "10.0.0.1 http own.example");

  EXPECT_EQ(standard("10.0.0.1",
                     "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Proto: https\r\n"
                     "X-Forwarded-Host: evil.example\r\nForwarded: for=203.0.113.9\r\n"),
            "203.0.113.9 http own.example");
  EXPECT_EQ(standard("10.0.0.1", "X-Forwarded-For: 1.1.1.1\r\n"), "10.0.0.1 http own.example");
}

TEST_F(ForwardedFields, are_believed_about_scheme_and_host_from_whom_it_is_said) {
  const std::string fields = "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: b\r\n";
  const std::string same = "Forwarded: for=10.9.9.9, for=203.0.113.9;proto=https;host=b\r\n";
  const struct {
    Believed believed;
    const char* of_proxy;
    const char* of_stranger;
  } cases[] = {
      {{}, "203.0.113.9 https own.example", "192.0.2.1 http own.example"},
      {{.host = TrustedPeers::TrustedProxies}, "203.0.113.9 https b", "192.0.2.1 http own.example"},
      {{.proto = TrustedPeers::Nobody}, "203.0.113.9 http own.example", "192.0.2.1 http own.example"},
      {{.proto = TrustedPeers::Everybody}, "203.0.113.9 https own.example", "192.0.2.1 https own.example"},
      {{.host = TrustedPeers::Everybody}, "203.0.113.9 https b", "192.0.2.1 http b"},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(x("10.0.0.1", fields, each.believed), each.of_proxy);
    EXPECT_EQ(x("192.0.2.1", fields, each.believed), each.of_stranger);
    EXPECT_EQ(standard("10.0.0.1", same, each.believed), each.of_proxy);
    EXPECT_EQ(standard("192.0.2.1", same, each.believed), each.of_stranger);
  }
}

// A proxy copies the Host of the client into a quoted value, and escapes what it has to (RFC 7239 §4, RFC 9110 §5.6.4).
TEST_F(ForwardedFields, have_quotes_that_are_escaped_and_end_no_value) {
  const std::string of_proxy = "Forwarded: for=203.0.113.9;proto=https;host=";
  for (const char* host :
       {R"("a\",for=1.1.1.1;x=\"")", R"("a\",for=1.1.1.1;proto=http;host=\"")", R"("a\";for=1.1.1.1;x=\"")",
        R"("\",for=1.1.1.1,\"")", R"("a\\\",for=1.1.1.1;x=\"")", R"("a\\\";for=1.1.1.1;x=\"")"}) {
    EXPECT_EQ(standard("10.0.0.1", of_proxy + host + "\r\n"), "203.0.113.9 https own.example") << host;
  }
  // An escaped backslash does not escape the quote after it.
  EXPECT_EQ(standard("10.0.0.1", R"(Forwarded: for=1.1.1.1;host="a\\",for=203.0.113.9)"
                                 "\r\n"),
            "203.0.113.9 http own.example");
  EXPECT_EQ(standard("10.0.0.1", R"(Forwarded: for=1.1.1.1, host="a\\";for=203.0.113.9)"
                                 "\r\n"),
            "203.0.113.9 http own.example");
  // What stands on the left has no effect, whatever it leaves open.
  for (const char* left : {R"(")", R"(\)", R"(\")", R"(x="a\)", R"(x="a\")"}) {
    EXPECT_EQ(standard("10.0.0.1", std::string("Forwarded: ") + left + ", for=203.0.113.9;host=\"b.example\"\r\n"),
              "203.0.113.9 http b.example")
        << left;
  }
}

TEST_F(ForwardedFields, that_are_garbage_leave_the_peer) {
  for (const char* fields : {"X-Forwarded-For: \r\n", "X-Forwarded-For: ,,,\r\n", "X-Forwarded-For: unknown\r\n",
                             "X-Forwarded-For: 203.0.113.9, nonsense\r\n",
                             "X-Forwarded-For: 203.0.113.9, 300.1.1.1\r\n", "X-Forwarded-For: [::1\r\n",
                             "X-Forwarded-For: []\r\n", "X-Forwarded-For: [1.2.3.4]\r\n", "X-Forwarded-For: [::1]x\r\n",
                             "X-Forwarded-Proto: gopher\r\n", "X-Forwarded-Proto: \r\n", "X-Forwarded-Host: a/b\r\n",
                             "X-Forwarded-Host: a:b\r\n", "X-Forwarded-Host: [\r\n", "X-Forwarded-Host: \r\n"}) {
    EXPECT_EQ(x("10.0.0.1", fields), "10.0.0.1 http own.example") << fields;
  }
  for (const char* fields : {"Forwarded: \r\n", "Forwarded: for\r\n", "Forwarded: for=\r\n",
                             "Forwarded: for=_hidden\r\n", "Forwarded: for=unknown\r\n", "Forwarded: for=\"\r\n",
                             "Forwarded: by=203.0.113.9\r\n", "Forwarded: ;;;=\"\r\n"}) {
    EXPECT_EQ(standard("10.0.0.1", fields), "10.0.0.1 http own.example") << fields;
  }
  for (const char* fields : {"X-Real-IP: \r\n", "X-Real-IP: unknown\r\n", "X-Real-IP: 203.0.113.9, 203.0.113.8\r\n",
                             "X-Real-IP: 203.0.113.9\r\nX-Real-IP: 203.0.113.9\r\n"}) {
    EXPECT_EQ(real("10.0.0.1", fields), "10.0.0.1 http own.example") << fields;
  }
}

}  // namespace
}  // namespace keel::http::forwarded_test
