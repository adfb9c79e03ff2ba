// docs/client.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/app/app.h"
#include "keel/app/testing/test_app.h"
#include "keel/exec/thread_pool.h"
#include "keel/http.h"
#include "keel/http/client/client.h"
#include "keel/http/testing/test_server.h"
#include "keel/net/listener.h"
#include "keel/net/resolver.h"
#include "keel/net/run.h"
#include "keel/net/tls/context.h"
#include "keel/net/tls/layer.h"
#include "keel/observe/metric.h"
#include "keel/task/group.h"

namespace keel::client_doc_test {
namespace {

struct User {
  std::string name;
  std::optional<std::string> email;
};

struct Charge {
  std::string order;
  std::int64_t cents = 0;
};
struct Receipt {
  std::string id;
};

class Shop {
 public:
  explicit Shop(app::App& app)
      : payments_(app.client({.name = "payments", .base_url = "http://payments.internal:8080/v2", .timeout = 2_s})) {
    router_.post("/orders/{id}/pay", *this, &Shop::pay);
    app.serve(router_);
  }

 private:
  Task<http::Response> pay(http::Request& request) {
    const auto order = co_await request.path_param<std::string_view>("id");
    const Charge charge{.order = std::string(order), .cents = 350};
    const Receipt receipt = co_await payments_.post("/charges", charge).json<Receipt>();
    co_return http::Response::json(http::Status::Created, receipt);
  }

  http::SharedClient& payments_;
  http::Router router_;
};

Task<Receipt> charge(http::Client& client, std::string user, std::int64_t cents) {
  const User payer = co_await client.get("http://users.internal/users/" + user).json<User>();
  const Charge charge{.order = "for " + payer.name, .cents = cents};
  co_return co_await client.post("http://payments.internal/charges", charge).json<Receipt>();
}

Task<std::string> name_of(http::Client& client, int id) {
  const http::ClientResponse response = co_await client.get("http://users.internal/users/" + std::to_string(id));
  if (response.status() == http::Status::NotFound) co_return fail(Code::NotFound, "there is no such user");
  const User user = co_await response.json<User>();
  co_return user.name;
}

Task<> copy_rows(http::Client& client, Stream& out) {
  http::ClientStream rows = co_await client.open({http::Method::Get, "http://reports.internal/rows"});
  while (true) {
    const Chunk chunk = co_await rows.read();  // borrowed until the next read; empty: the end
    if (chunk.empty()) break;
    co_await out.write(chunk);
  }
}

Task<> deliver(http::Client& webhooks, std::string url, std::string event, std::string signature) {
  http::ClientRequest request(http::Method::Post, url);
  request.body(event, "application/json").secret_header("X-Signature", signature);
  const http::ClientResponse response = co_await webhooks.send(std::move(request));
  if (http::number(response.status()) / 100 != 2) co_await fail(Code::Upstream, "the webhook was not accepted");
}

const std::string million(1'000'000, 'r');

class Backend {
 public:
  Backend() {
    router.get("/users/{id}", [](http::Request& request) -> Result<http::Response> {
      KEEL_TRY(const int id, request.path_param<int>("id"));
      if (id != 7) return fail(Code::NotFound, "nobody");
      return http::Response::json(User{.name = "Ada", .email = {}});
    });
    router.post("/charges", [](http::Request& request) -> Result<http::Response> {
      KEEL_TRY(const auto charge, request.json<Charge>());
      return http::Response::json(http::Status::Created, Receipt{charge.order + ", " + std::to_string(charge.cents)});
    });
    router.get("/rows", [](http::Request&) { return http::Response::text(http::Status::Ok, million); });
  }
  http::Router router;
};

// The backend under all names, and a client on its loop.
class ClientDoc : public ::testing::Test {
 protected:
  Resolver::Lookup lookup() {
    return [at = server_.server().address()](const std::string&) -> Result<std::vector<Address>> {
      return std::vector<Address>{at};
    };
  }
  static Task<std::string> ask(ClientDoc& test, int id) {
    Resolver resolver(test.server_.simulation().pool(), {}, test.lookup());
    http::Client client(resolver);
    const Result<std::string> name = co_await attempt(name_of(client, id));
    co_return name ? *name : name.error().describe();
  }
  static Task<std::string> pay(ClientDoc& test, std::string user) {
    Resolver resolver(test.server_.simulation().pool(), {}, test.lookup());
    http::Client client(resolver);
    const Result<Receipt> receipt = co_await attempt(charge(client, std::move(user), 350));
    co_return receipt ? receipt->id : receipt.error().describe();
  }
  static Task<std::string> refuse_inside(ClientDoc& test) {
    Resolver resolver(test.server_.simulation().pool(), {}, test.lookup());
    http::Client webhooks(resolver, {.name = "webhooks", .guard = public_addresses_only});
    const Result<> delivered = co_await attempt(deliver(webhooks, "http://hook.example/hook", "{}", "s"));
    co_return delivered ? "delivered" : delivered.error().describe();
  }
  static Task<std::string> ask_through_proxy(ClientDoc& test) {
    Resolver resolver(test.server_.simulation().pool(), {}, test.lookup());
    http::Client abroad(resolver,
                        {.proxy = "http://user:password@proxy.internal:3128", .no_proxy = {"internal", "10.0.0.0/8"}});
    const http::ClientResponse directly = co_await abroad.get("http://users.internal/users/7");
    const Result<http::ClientResponse> through = co_await attempt(abroad.get("http://shop.example/"));
    co_return through ? "answered" : std::string(directly.body()) + through.error().describe();
  }
  static Task<> copy_and_finish(http::Client& client, Stream out) { co_await copy_rows(client, out); }
  static Task<std::string> read_all(Stream in) {
    std::string text;
    while (true) {
      const Chunk chunk = co_await in.receive();
      if (chunk.empty()) co_return text;
      text += chunk;
    }
  }
  static Task<std::string> copy(ClientDoc& test) {
    Resolver resolver(test.server_.simulation().pool(), {}, test.lookup());
    http::Client client(resolver);
    Listener listener = co_await Listener::bind(*Address::parse("10.0.0.9:7000"));
    auto ends = co_await all(listener.accept(), Stream::connect(listener.address()));
    auto& [in, out] = ends;
    auto copied = co_await all(copy_and_finish(client, std::move(out)), read_all(std::move(in)));
    co_return std::move(std::get<1>(copied));
  }

  Backend backend_;
  http::TestServer server_{backend_.router};
};

TEST(Payment, is_asked_for_at_another_server) {
  http::Router payments;  // outlives the TestApp
  payments.post("/v2/charges", [](http::Request&) { return http::Response::json(Receipt{.id = "r-1"}); });
  app::TestApp<Shop> app;
  app.peer("payments.internal:8080", payments);
  EXPECT_EQ(app.post("/orders/7/pay").body(), R"({"id":"r-1"})");

  app.peer_down("payments.internal:8080");
  EXPECT_EQ(app.post("/orders/7/pay").status(), 503);
}

TEST_F(ClientDoc, asks_as_it_says) {
  EXPECT_EQ(server_.run(ask(*this, 7)).value(), "Ada");
  EXPECT_TRUE(server_.run(ask(*this, 8)).value().contains("there is no such user"));
  EXPECT_EQ(server_.run(pay(*this, "7")).value(), "for Ada, 350");
  EXPECT_EQ(server_.run(pay(*this, "8")).value(), "http://users.internal/users/8: returned 404 Not Found");
}

TEST_F(ClientDoc, delivers_to_no_server_inside) {
  const std::string error = server_.run(refuse_inside(*this)).value();
  EXPECT_TRUE(error.contains("the address guard does not allow")) << error;
}

TEST_F(ClientDoc, asks_through_a_proxy_what_is_not_inside) {
  const std::string said = server_.run(ask_through_proxy(*this)).value();
  EXPECT_TRUE(said.contains("Ada")) << said;
  EXPECT_TRUE(said.contains("the proxy http://proxy.internal:3128 is not reached")) << said;
}

TEST_F(ClientDoc, copies_what_it_reads) { EXPECT_TRUE(server_.run(copy(*this)).value() == million); }

Task<std::string> ask_securely(Resolver& resolver, tls::ClientContext context, std::string url) {
  tls::Layers https(std::move(context));  // outlives the client
  http::Client client(resolver, {.pool = {.https = &https}});
  const http::ClientResponse response = co_await client.get(url);
  co_return std::string(response.body());
}

Task<> make_client(metrics::Registry& registry) {
  ThreadPool lookups({.name = "resolver", .threads = 2});  // one for all workers
  Resolver resolver(lookups);                              // one per worker
  http::Client client(resolver, {.name = "users", .timeout = 2_s, .metrics = &registry});
  const Result<http::ClientResponse> answer = co_await attempt(client.get("https://users.internal/"));
  EXPECT_EQ(answer.error().code(), Code::Unsupported) << "no TLS";
  const tls::ClientOptions options;  // Named: GCC 12.
  tls::ClientContext context = co_await tls::ClientContext::make(options);
  const Result<std::string> refused = co_await attempt(ask_securely(resolver, context, "https://127.0.0.1:1/"));
  EXPECT_EQ(refused.error().code(), Code::Unavailable) << "nobody listens";
}
TEST(ClientOfALoop, is_made_as_it_says) {
  metrics::Registry registry;
  EXPECT_TRUE(run(make_client(registry), io::EngineKind::Epoll));
}

}  // namespace
}  // namespace keel::client_doc_test
