// Structs as bodies of requests, and of responses.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/http/client/client.h"
#include "keel/http/client/shared_client.h"
#include "keel/http/testing/internal/client_testing.h"
#include "keel/task/group.h"

namespace keel::http::client_json_test {
namespace {

using namespace internal;

struct Rate {
  std::string currency;
  double rate;
  void rules(Check& check) const { check(rate).range(0.001, 1000); }
};
struct Charge {
  std::string order;
  int cents;
};

class ClientsOfJson : public ClientTest {
 protected:
  std::string failure(const RawServer::Play& play) {
    raw().plays = {play};
    const Result<Rate> rate = run(client({.body_bytes_max = 1000}).get(raw().url("/eur?token=secret")).json<Rate>());
    if (rate) return "";
    EXPECT_EQ(rate.error().code(), Code::Upstream);
    EXPECT_TRUE(rate.error().is_from_environment()) << "not told to a client";
    std::string text(rate.error().message());
    EXPECT_EQ(text.find("secret"), std::string::npos);
    const std::string where = raw().url("/eur");
    EXPECT_NE(text.find(where + ": "), std::string::npos) << text;
    return text.substr(text.find(where) + where.size() + 2);
  }
};
INSTANTIATE_TEST_SUITE_P(, ClientsOfJson, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(ClientsOfJson, give_the_struct_that_a_server_has_sent) {
  raw().plays = {{RawServer::answer("201 Created", R"({"rate":1.25,"currency":"E\u0055R","more":[]})")}};

  const Result<Rate> rate = run(client().get(raw().url("/eur")).json<Rate>());

  ASSERT_TRUE(rate) << rate.error().describe();
  EXPECT_EQ(rate->currency, "EUR");
  EXPECT_EQ(rate->rate, 1.25);
}

TEST_P(ClientsOfJson, send_a_struct_as_the_body) {
  raw().plays = {{RawServer::ok(R"([1,2])")}};
  const std::string wanted =
      "\r\nContent-Type: application/json\r\nContent-Length: 25\r\n\r\n{\"order\":\"A\",\"cents\":350}";

  const Charge charge{"A", 350};
  EXPECT_EQ(run(client().post(raw().url("/"), charge).json<std::vector<int>>()).value(), (std::vector{1, 2}));
  EXPECT_TRUE(run(client().put(raw().url("/"), charge)));
  EXPECT_TRUE(run(client().patch(raw().url("/"), charge)));
  EXPECT_TRUE(run(client().send(ClientRequest(Method::Post, raw().url("/")).json(Charge{"A", 350}))));

  ASSERT_EQ(raw().requests.size(), 4u);
  EXPECT_TRUE(raw().requests[0].starts_with("POST / "));
  EXPECT_TRUE(raw().requests[1].starts_with("PUT / "));
  EXPECT_TRUE(raw().requests[2].starts_with("PATCH / "));
  for (const std::string& request : raw().requests) EXPECT_TRUE(request.ends_with(wanted)) << request;
}

TEST_P(ClientsOfJson, fail_when_the_body_is_another_and_say_what_is_wrong_with_it) {
  EXPECT_EQ(failure({RawServer::ok(R"({"currency":7,"rate":0})")}),
            "the body does not have the expected form: /currency: expected a string; /rate must be from 0.001 to 1000");
  EXPECT_EQ(failure({RawServer::ok("<html>")}),
            "the body does not have the expected form: expected a value at line 1 column 1");
  EXPECT_EQ(failure({RawServer::answer("204 No Content")}),
            "the body does not have the expected form: the text is empty at line 1 column 1");
  EXPECT_EQ(failure({RawServer::ok(std::string(1001, ' '))}),
            "the body of the response has more than 1000 bytes (body_bytes_max): to read it in pieces, call open()");
}

TEST_P(ClientsOfJson, fail_when_the_status_is_not_2xx_and_say_which) {
  client({.retry = {.attempts_max = 1}});
  const std::string body = R"({"currency":"EUR","rate":1})";
  EXPECT_EQ(failure({RawServer::answer("404 Not Found", body)}), "returned 404 Not Found");
  EXPECT_EQ(failure({RawServer::answer("503 Service Unavailable", body)}), "returned 503 Service Unavailable");
  EXPECT_EQ(failure({RawServer::answer("304 Not Modified")}), "returned 304 Not Modified");
  EXPECT_EQ(failure({RawServer::answer("499 Whatever", body)}), "returned 499");
}

Task<std::string> rate_or_none(Client& client, std::string url) {
  const ClientResponse response = co_await client.get(url);
  if (response.status() == Status::NotFound) co_return "none";
  const Rate rate = co_await response.json<Rate>();
  co_return rate.currency;
}

TEST_P(ClientsOfJson, read_the_struct_of_a_response_whose_status_was_looked_at) {
  raw().plays = {{RawServer::answer("404 Not Found")}, {RawServer::ok(R"({"currency":"EUR","rate":1})")}};
  EXPECT_EQ(run(rate_or_none(client(), raw().url())).value(), "none");
  EXPECT_EQ(run(rate_or_none(client(), raw().url())).value(), "EUR");
}

Task<> ask_in_every_way(Client& client, std::string url) {
  Scope scope;
  scope.spawn(client.get(url).json<std::vector<int>>(), OnError::Ignore);
  auto both = co_await all(client.get(url).json<Rate>(), with_timeout(5_s, client.get(url).json<Rate>()));
  const Result<Rate> rate = co_await attempt(client.get(url).json<Rate>());
  EXPECT_TRUE(rate);
  auto call = client.get(url);
  const Rate named = co_await std::move(call).json<Rate>();
  EXPECT_EQ(named.rate, 1);
  EXPECT_EQ(std::get<0>(both).rate + std::get<1>(both).rate, 2);
  co_await scope.join();
}

TEST_P(ClientsOfJson, are_tasks_as_any_other) {
  raw().plays = {{RawServer::ok(R"({"currency":"EUR","rate":1})")}};
  EXPECT_TRUE(run(ask_in_every_way(client(), raw().url())));
  static_cast<void>(client().get(raw().url()).json<Rate>());  // Not begun.
  EXPECT_EQ(raw().requests.size(), 5u);
}

TEST_P(ClientsOfJson, in_a_handler_that_does_not_catch_it_are_a_502_that_tells_nothing) {
  raw().plays = {{RawServer::ok(R"({"password":"secret"})")}};
  struct Lends {
    Client* client;
    std::optional<Response> before(Request& request) {
      request.set(client);
      return std::nullopt;
    }
  };
  router_.use(Lends{&client()});
  router_.get("/rate", [](Request& request) -> Task<Response> {
    const auto url = co_await request.query_param<std::string_view>("url");
    const Rate rate = co_await (*request.get<Client*>())->get(*url).json<Rate>();
    co_return Response::json(rate);
  });
  serve();

  const Result<ClientResponse> response = get("/rate?url=" + raw().url());

  ASSERT_TRUE(response) << response.error().describe();
  EXPECT_EQ(number(response->status()), 502);
  EXPECT_EQ(response->body(), R"({"type":"about:blank","title":"Bad Gateway","status":502,)"
                              R"("detail":"another server failed; the error has been logged"})");
}

}  // namespace
}  // namespace keel::http::client_json_test
