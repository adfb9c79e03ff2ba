// Which addresses a client connects to when somebody else chooses its URLs.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keel/http/testing/internal/client_testing.h"
#include "keel/net/address_guard.h"

namespace keel::http::client_guard_test {
namespace {

using namespace internal;

class ClientGuards : public ClientTest {
 protected:
  static std::string port_of(const RawServer& server) {
    const std::string url = server.url("");
    return url.substr(url.rfind(':'));
  }
};
INSTANTIATE_TEST_SUITE_P(, ClientGuards, io::testing::every_engine(), io::testing::name_of_engine);

// As getaddrinfo(3) reads them: inet_aton's forms are no IP literals of a URL, but names that are 127.0.0.1.
TEST_P(ClientGuards, every_way_to_write_an_address_that_is_not_public_is_rejected) {
  RawServer& server = raw();
  server.plays = {{RawServer::ok("internal")}};
  Resolver resolver(*loop_, {}, &Resolver::system_lookup);
  Client webhooks(resolver, {.guard = public_addresses_only});

  for (const char* host :
       {"127.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "0", "localhost", "[::1]", "[::]",
        "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "169.254.169.254",
        "[::ffff:169.254.169.254]", "[fd00:ec2::254]", "10.0.0.1", "100.64.0.1", "192.168.0.1"}) {
    const Result<ClientResponse> response = run(webhooks.get("http://" + std::string(host) + port_of(server) + "/"));
    ASSERT_FALSE(response) << host;
    EXPECT_EQ(response.error().code(), Code::PermissionDenied) << host << ": " << response.error().describe();
  }
  EXPECT_EQ(server.connections, 0);
}

TEST_P(ClientGuards, a_rejected_address_is_not_tried_again_and_does_not_open_the_circuit) {
  Client webhooks(*resolver_, {.guard = public_addresses_only, .breaker = {.calls_min = 2}});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(run(webhooks.get("http://inside.example/")).error().code(), Code::PermissionDenied);
  }
  EXPECT_EQ(webhooks.stats().retries, 0u);
  EXPECT_EQ(webhooks.breaker("http://inside.example/"), CircuitBreaker::State::Closed);
}

// A handler that calls for a client does not tell it what the network looks like inside.
TEST_P(ClientGuards, a_rejection_is_an_error_of_the_environment) {
  Client webhooks(*resolver_, {.guard = public_addresses_only});
  const Result<ClientResponse> response = run(webhooks.get("http://inside.example/"));
  EXPECT_EQ(problem(response.error()).status(), Status::InternalServerError);
  EXPECT_EQ(problem(response.error()).content().find("127.0.0.1"), std::string_view::npos);
}

TEST_P(ClientGuards, a_redirect_does_not_lead_around_the_guard) {
  RawServer& server = raw();
  server.plays = {
      {RawServer::answer("302 Found", "", "Location: http://127.0.0.2" + port_of(server) + "/latest/meta-data\r\n")},
      {RawServer::ok("secret")}};
  client({.guard = [](const Address& to) { return to.to_string().starts_with("127.0.0.1:"); }});

  const Result<ClientResponse> response = run(client().get(server.url()));

  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::PermissionDenied) << response.error().describe();
  EXPECT_EQ(server.requests.size(), 1u);
}

// DNS rebinding: public when somebody looks whether it is, this machine when it is connected to.
TEST_P(ClientGuards, a_name_whose_addresses_change_is_checked_each_time_it_is_connected_to) {
  RawServer& server = raw();
  server.plays = {{.reply = RawServer::ok("first"), .closes = true}, {RawServer::ok("secret")}};
  const char* address = "127.0.0.1";
  Resolver resolver(*loop_, {.lifetime = Duration()}, [&](const std::string&) {
    return Result<std::vector<Address>>(std::vector<Address>{Address::ip(address, 0).value()});
  });
  Client webhooks(resolver, {.guard = [](const Address& to) { return to.to_string().starts_with("127.0.0.1:"); }});
  const std::string url = "http://rebound.example" + port_of(server) + "/";
  ASSERT_EQ(run(webhooks.get(url))->body(), "first");
  webhooks.close_idle_connections();

  address = "127.0.0.2";
  const Result<ClientResponse> response = run(webhooks.get(url));

  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::PermissionDenied) << response.error().describe();
  EXPECT_EQ(server.requests.size(), 1u);
}

// A guard is a part of a client's options, which are copied to each worker's.
TEST_P(ClientGuards, options_with_a_guard_are_copied) {
  const ClientOptions options{.guard = public_addresses_only};
  const ClientOptions copy = options;
  Client webhooks(*resolver_, copy);
  EXPECT_EQ(run(webhooks.get("http://inside.example/")).error().code(), Code::PermissionDenied);
}

}  // namespace
}  // namespace keel::http::client_guard_test
