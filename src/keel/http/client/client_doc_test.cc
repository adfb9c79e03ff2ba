// docs/client.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "keel/exec/thread_pool.h"
#include "keel/http/client/client.h"
#include "keel/http/server/router.h"
#include "keel/http/testing/test_server.h"
#include "keel/net/listener.h"
#include "keel/net/resolver.h"
#include "keel/net/run.h"
#include "keel/observe/metric.h"
#include "keel/task/group.h"

namespace keel::client_doc_test {
namespace {

Task<std::string> name_of(http::Client& client, int id) {
  http::ClientResponse user = co_await client.get("http://users.internal/users/" + std::to_string(id));
  if (user.status() != http::Status::Ok) co_return fail(Code::NotFound, "the users service does not know this one");
  co_return std::string(user.body());
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
      return http::Response::text(http::Status::Ok, "Ada");
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
  static Task<std::string> refuse_inside(ClientDoc& test) {
    Resolver resolver(test.server_.simulation().pool(), {}, test.lookup());
    http::Client webhooks(resolver, {.name = "webhooks", .guard = public_addresses_only});
    const Result<> delivered = co_await attempt(deliver(webhooks, "http://hook.example/hook", "{}", "s"));
    co_return delivered ? "delivered" : delivered.error().describe();
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

TEST_F(ClientDoc, asks_as_it_says) {
  EXPECT_EQ(server_.run(ask(*this, 7)).value(), "Ada");
  EXPECT_TRUE(server_.run(ask(*this, 8)).value().contains("the users service does not know this one"));
}

TEST_F(ClientDoc, delivers_to_no_server_inside) {
  const std::string error = server_.run(refuse_inside(*this)).value();
  EXPECT_TRUE(error.contains("the address guard does not allow")) << error;
}

TEST_F(ClientDoc, copies_what_it_reads) { EXPECT_TRUE(server_.run(copy(*this)).value() == million); }

Task<> make_client(metrics::Registry& registry) {
  ThreadPool lookups({.name = "resolver", .threads = 2});  // one for all workers
  Resolver resolver(lookups);                              // one per worker
  http::Client client(resolver, {.name = "users", .timeout = 2_s, .metrics = &registry});
  const Result<http::ClientResponse> answer = co_await attempt(client.get("https://users.internal/"));
  EXPECT_EQ(answer.error().code(), Code::Unsupported) << "no TLS";
}
TEST(ClientOfALoop, is_made_as_it_says) {
  metrics::Registry registry;
  EXPECT_TRUE(run(make_client(registry), io::EngineKind::Epoll));
}

}  // namespace
}  // namespace keel::client_doc_test
