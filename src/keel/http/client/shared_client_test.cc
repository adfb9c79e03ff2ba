#include "keel/http/client/shared_client.h"

#include <gtest/gtest.h>

#include "keel/base/host.h"
#include "keel/http/testing/internal/client_testing.h"

namespace keel::http::shared_client_test {
namespace {

using namespace internal;

class SharedClients : public ClientTest {};
INSTANTIATE_TEST_SUITE_P(, SharedClients, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(SharedClients, call_by_the_client_of_their_worker_below_the_base_url) {
  RawServer& server = raw();
  server.plays = {{RawServer::ok("seven")}};
  metrics::Registry registry;
  SharedClient payments(2, {.name = "payments", .base_url = server.url("/v2/"), .metrics = &registry});
  payments.attach(*resolver_);

  const Result<ClientResponse> relative = run(payments.get("/charges/7?a=b"));
  const Result<ClientResponse> absolute = run(payments.post(server.url("/elsewhere"), "x", "text/plain"));
  const auto requests = server.requests;
  const bool is_here = payments.here() != nullptr;
  payments.detach();

  ASSERT_TRUE(relative) << relative.error().describe();
  ASSERT_TRUE(absolute) << absolute.error().describe();
  EXPECT_EQ(relative->body(), "seven");
  EXPECT_TRUE(is_here);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_TRUE(requests[0].starts_with("GET /v2/charges/7?a=b HTTP/1.1\r\n")) << requests[0];
  EXPECT_TRUE(requests[1].starts_with("POST /elsewhere HTTP/1.1\r\n")) << requests[1];
  EXPECT_EQ(registry
                .counter("http_client_requests_total", "Completed calls, by result",
                         {{"client", "payments"}, {"status_class", "2xx"}})
                .value(),
            metrics::is_recorded ? 2u : 0u);
}

TEST_P(SharedClients, say_where_they_may_be_used) {
  SharedClient payments(2, {.name = "payments", .base_url = "http://a"});

  const Result<ClientResponse> before = run(payments.get("/"));
  payments.attach(*resolver_);
  Client* elsewhere = payments.here();
  Host::system().start_thread("elsewhere", [&] { elsewhere = payments.here(); })->join();
  payments.detach();
  const Result<ClientResponse> after = run(payments.get("/"));

  ASSERT_FALSE(before);
  EXPECT_EQ(before.error().code(), Code::Internal);
  EXPECT_EQ(before.error().message(),
            "the client \"payments\" can be used only on a worker and while the service runs");
  EXPECT_EQ(elsewhere, nullptr);
  ASSERT_FALSE(after);
}

TEST_P(SharedClients, without_a_base_url_do_not_call_a_path) {
  SharedClient payments(1, {.name = "payments"});
  payments.attach(*resolver_);

  const Result<ClientResponse> result = run(payments.get("/charges"));
  payments.detach();

  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::InvalidArgument);
  EXPECT_TRUE(
      result.error().message().starts_with("GET /charges: the client has no base_url; a service reads base_url from "
                                           "network.clients.payments.base_url: a URL must begin with "))
      << result.error().describe();
}

}  // namespace
}  // namespace keel::http::shared_client_test
