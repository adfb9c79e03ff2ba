#include "keel/http/client/proxy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "keel/data/base64.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::http::proxy_test {
namespace {

void fuzz(std::string_view text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}
Url url(std::string_view text) { return Url::parse(text).value(); }
std::string basic(std::string_view text) {
  return "Proxy-Authorization: Basic " + base64::encode(text, base64::Form::Standard) + "\r\n";
}

TEST(Proxy, is_a_url_with_a_host_a_port_and_perhaps_credentials) {
  struct {
    const char* text;
    const char* name;
    const char* host;
    std::uint16_t port;
    const char* credentials;  // Null: none.
  } const cases[] = {
      {"http://proxy.internal:3128", "http://proxy.internal:3128", "proxy.internal", 3128, nullptr},
      {"HTTP://Proxy.Internal:3128/", "http://proxy.internal:3128", "proxy.internal", 3128, nullptr},
      {"proxy.internal:3128", "http://proxy.internal:3128", "proxy.internal", 3128, nullptr},
      {"proxy.internal", "http://proxy.internal", "proxy.internal", 80, nullptr},
      {"http://[fd00::1]:3128", "http://[fd00::1]:3128", "fd00::1", 3128, nullptr},
      {"http://user:password@10.0.0.1:3128", "http://10.0.0.1:3128", "10.0.0.1", 3128, "user:password"},
      {"user:password@proxy:1", "http://proxy:1", "proxy", 1, "user:password"},
      {"http://user@proxy", "http://proxy", "proxy", 80, "user:"},
      {"http://:password@proxy", "http://proxy", "proxy", 80, ":password"},
      {"http://us%40er:p%3Aw%2f%25@proxy", "http://proxy", "proxy", 80, "us@er:p:w/%"},
      {"http://user:p@ss:word@proxy", "http://proxy", "proxy", 80, "user:p@ss:word"},
  };
  for (const auto& each : cases) {
    const Result<Proxy> proxy = Proxy::parse(each.text);
    ASSERT_TRUE(proxy) << each.text << ": " << proxy.error().describe();
    EXPECT_EQ(proxy->name(), each.name);
    EXPECT_EQ(proxy->host(), each.host);
    EXPECT_EQ(proxy->port(), each.port);
    EXPECT_EQ(proxy->authorization(), each.credentials == nullptr ? "" : basic(each.credentials)) << each.text;
    fuzz(each.text);
  }
}

TEST(Proxy, that_is_refused_is_not_repeated) {
  for (const char* text :
       {"http://", "http://user:secret@", "http://user:secret@proxy:0", "http://user:secret@proxy:99999",
        "http://user:secret@proxy/path", "http://user:secret@proxy?query", "http://user:sec/ret@pr oxy",
        "http://us%3Aer:secret@proxy", "http://user:secret%0d%0aX: y@proxy", "http://user:secret%@proxy",
        "http://user:secret@[::1", "user:secret://x",
        "http://user:secret@\xc3\xbc"
        "ber"}) {
    const Result<Proxy> proxy = Proxy::parse(text);
    ASSERT_FALSE(proxy) << text;
    EXPECT_EQ(proxy.error().code(), Code::InvalidArgument) << text;
    EXPECT_EQ(proxy.error().describe().find("secret"), std::string::npos) << proxy.error().describe();
    fuzz(text);
  }
}

TEST(Proxy, that_is_asked_by_another_protocol_is_not_supported) {
  for (const char* text : {"https://user:secret@proxy", "socks5://user:secret@proxy:1080", "socks4a://proxy"}) {
    const Result<Proxy> proxy = Proxy::parse(text);
    ASSERT_FALSE(proxy) << text;
    EXPECT_EQ(proxy.error().code(), Code::Unsupported);
    EXPECT_EQ(proxy.error().describe().find("secret"), std::string::npos);
  }
}

TEST(ProxyRules, without_a_proxy_ask_everything_directly) {
  EXPECT_EQ(ProxyRules().of(url("http://shop.example/")), nullptr);
  EXPECT_EQ(ProxyRules::make("", {})->of(url("https://shop.example/")), nullptr);
}

TEST(ProxyRules, have_one_proxy_for_http_and_https) {
  const ProxyRules rules = ProxyRules::make("http://proxy:3128", {}).value();
  for (const char* target :
       {"http://shop.example/", "https://shop.example/", "http://localhost/", "http://127.0.0.1/"}) {
    ASSERT_NE(rules.of(url(target)), nullptr) << target;
    EXPECT_EQ(rules.of(url(target))->name(), "http://proxy:3128");
  }
}

TEST(ProxyRules, ask_directly_what_no_proxy_names) {
  struct {
    const char* no_proxy;
    const char* target;
    bool is_direct;
  } const cases[] = {
      {"*", "http://shop.example/", true},
      {"shop.example", "http://shop.example/", true},
      {"Shop.Example", "https://SHOP.example:8443/", true},
      {"shop.example", "http://shop.example./", true},
      {"shop.example.", "http://shop.example/", true},
      {"shop.example", "http://api.shop.example/", true},
      {"shop.example", "http://myshop.example/", false},
      {"shop.example", "http://shop.example.org/", false},
      {".shop.example", "http://api.shop.example/", true},
      {".shop.example", "http://shop.example/", true},
      {"*.shop.example", "http://api.shop.example/", true},
      {"shop.example:8080", "http://shop.example:8080/", true},
      {"shop.example:8080", "http://shop.example/", false},
      {"shop.example:443", "https://shop.example/", true},
      {"192.0.2.7", "http://192.0.2.7/", true},
      {"192.0.2.7", "http://192.0.2.8/", false},
      {"192.0.2.7:80", "http://192.0.2.7/", true},
      {"192.0.2.7:81", "http://192.0.2.7/", false},
      {"10.0.0.0/8", "http://10.255.0.1:8080/", true},
      {"10.0.0.0/8", "http://11.0.0.1/", false},
      {"10.0.0.0/8", "http://ten.example/", false},
      {"10.0.0.0/8", "http://[::ffff:10.0.0.1]/", true},
      {"::1", "http://[::1]/", true},
      {"[::1]", "http://[::1]:8080/", true},
      {"[::1]:80", "http://[::1]:8080/", false},
      {"fd00::/8", "http://[fd12::1]/", true},
      {"fd00::/8", "http://[fe80::1]/", false},
      {"localhost", "http://localhost:8080/", true},
      {"localhost", "http://db.localhost/", true},
      {"localhost", "http://127.8.8.8/", true},
      {"localhost", "http://[::1]/", true},
      {"localhost", "http://10.0.0.1/", false},
      {"localhost:80", "http://127.0.0.1:8080/", false},
      {"internal", "http://users.internal/", true},
      {"internal", "http://internal.example/", false},
  };
  for (const auto& each : cases) {
    const std::string list[] = {"other.example", each.no_proxy};
    const Result<ProxyRules> rules = ProxyRules::make("http://proxy:3128", list);
    ASSERT_TRUE(rules) << each.no_proxy << ": " << rules.error().describe();
    EXPECT_EQ(rules->of(url(each.target)) == nullptr, each.is_direct) << each.no_proxy << " " << each.target;
    fuzz(each.no_proxy);
  }
}

TEST(ProxyRules, refuse_exceptions_that_are_none) {
  for (const char* text : {"", ".", "*.", "sh op", "10.0.0.0/33", "[::1", "[::1]80", "shop.example:", "shop.example:0",
                           "shop.example:http", "http://shop.example", "a/b", "user@host", "*shop", "unix:/run/x"}) {
    const std::string list[] = {text};
    const Result<ProxyRules> rules = ProxyRules::make("http://proxy:3128", list);
    ASSERT_FALSE(rules) << text;
    EXPECT_EQ(rules.error().code(), Code::InvalidArgument);
    EXPECT_NE(rules.error().message().find("no_proxy '" + std::string(text) + "'"), std::string::npos);
    fuzz(text);
  }
}

class ProxyEnvironment : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name :
         {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"}) {
      ::unsetenv(name);
    }
  }
  static std::string through(const char* target, std::vector<std::string> no_proxy = {}) {
    const Result<ProxyRules> rules = ProxyRules::make("environment", no_proxy);
    if (!rules) return std::string(rules.error().describe());
    const Proxy* const proxy = rules->of(url(target));
    return proxy == nullptr ? "directly" : proxy->name();
  }
};

TEST_F(ProxyEnvironment, says_a_proxy_for_each_scheme) {
  EXPECT_EQ(through("https://shop.example/"), "directly");
  ::setenv("HTTPS_PROXY", "http://secure:1", 1);
  EXPECT_EQ(through("https://shop.example/"), "http://secure:1");
  EXPECT_EQ(through("http://shop.example/"), "directly");
  ::setenv("https_proxy", "lower:2", 1);
  EXPECT_EQ(through("https://shop.example/"), "http://lower:2");
  ::setenv("https_proxy", "", 1);
  EXPECT_EQ(through("https://shop.example/"), "http://secure:1");
  ::setenv("http_proxy", "plain:3", 1);
  EXPECT_EQ(through("http://shop.example/"), "http://plain:3");
}

// A CGI program has the field Proxy of a request there (CVE-2016-5385).
TEST_F(ProxyEnvironment, is_not_asked_for_HTTP_PROXY_in_upper_case) {
  ::setenv("HTTP_PROXY", "http://attacker.example:80", 1);
  EXPECT_EQ(through("http://shop.example/"), "directly");
  EXPECT_EQ(through("https://shop.example/"), "directly");
}

TEST_F(ProxyEnvironment, says_what_is_asked_directly_besides_the_list_that_is_given) {
  ::setenv("HTTPS_PROXY", "secure:1", 1);
  ::setenv("NO_PROXY", "one.example, 10.0.0.0/8,,two.example", 1);
  for (const char* target : {"https://one.example/", "https://a.two.example/", "https://10.1.2.3/"}) {
    EXPECT_EQ(through(target), "directly");
  }
  EXPECT_EQ(through("https://three.example/"), "http://secure:1");
  EXPECT_EQ(through("https://three.example/", {"three.example"}), "directly");
  EXPECT_EQ(through("https://one.example/", {"three.example"}), "directly");
  ::setenv("no_proxy", "*", 1);
  EXPECT_EQ(through("https://three.example/"), "directly");
}

TEST_F(ProxyEnvironment, that_is_wrong_is_named_without_what_it_says) {
  ::setenv("HTTPS_PROXY", "http://user:secret@", 1);
  EXPECT_NE(through("https://shop.example/").find("HTTPS_PROXY in the environment"), std::string::npos);
  EXPECT_EQ(through("https://shop.example/").find("secret"), std::string::npos);
  ::unsetenv("HTTPS_PROXY");
  ::setenv("NO_PROXY", "fine.example,10.0.0.0/40", 1);
  EXPECT_NE(through("https://shop.example/").find("NO_PROXY in the environment: no_proxy '10.0.0.0/40'"),
            std::string::npos)
      << through("https://shop.example/");
}

TEST_F(ProxyEnvironment, is_not_asked_unless_the_rules_say_so) {
  ::setenv("HTTPS_PROXY", "secure:1", 1);
  EXPECT_EQ(ProxyRules::make("", {})->of(url("https://shop.example/")), nullptr);
  EXPECT_EQ(ProxyRules::make("own:2", {})->of(url("https://shop.example/"))->name(), "http://own:2");
}

}  // namespace
}  // namespace keel::http::proxy_test
