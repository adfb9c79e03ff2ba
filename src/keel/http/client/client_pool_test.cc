// Which connections are kept, lent, closed and waited for, seen through a Client.

#include "keel/http/client/client_pool.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/http/testing/internal/client_testing.h"

namespace keel::http::client_pool_test {
namespace {

using namespace internal;

class ClientPools : public ClientTest {
 protected:
  using Call = Start<ClientResponse>;
  void begin(Call& call, std::string_view target, std::string_view host = "127.0.0.1") {
    call.begin(client().get(url(target, host)), [](StartCore&) noexcept {});
  }
  static Task<> nap(Duration time) { co_await sleep_for(time); }
};
INSTANTIATE_TEST_SUITE_P(, ClientPools, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(ClientPools, a_connection_is_kept_and_lent_again) {
  serve();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(get("/plaintext"));

  EXPECT_EQ(server_->stats().accepted, 1u);
  EXPECT_EQ(client().stats().connections, 1u);
  EXPECT_EQ(client().stats().idle_connections, 1u);
  client().close_idle_connections();
  EXPECT_EQ(client().stats().connections, 0u);
  EXPECT_TRUE(get("/plaintext"));
  EXPECT_EQ(server_->stats().accepted, 2u);
}

TEST_P(ClientPools, calls_above_the_bound_of_a_server_wait_in_their_order) {
  serve();
  ClientOptions options;
  options.pool.connections_per_origin_max = 2;
  client(options);
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 4; ++i) {
    calls.push_back(std::make_unique<Call>());
    begin(*calls.back(), "/held");
  }
  ASSERT_TRUE(until([&] { return handlers_running == 2; }));
  settle();
  EXPECT_EQ(handlers_begun, 2);

  held_back = false;

  for (auto& call : calls) {
    ASSERT_TRUE(until([&] { return call->has_ended(); }));
    EXPECT_EQ(call->take()->body(), "/held");
  }
  EXPECT_EQ(server_->stats().accepted, 2u);
}

TEST_P(ClientPools, waiting_for_a_place_is_bounded) {
  serve();
  ClientOptions options;
  options.pool.connections_per_origin_max = 1;
  options.pool.wait_max = 20_ms;
  client(options);
  Call holding;
  begin(holding, "/held");
  ASSERT_TRUE(until([&] { return handlers_running == 1; }));

  const Result<ClientResponse> refused = get("/plaintext");

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::ResourceExhausted) << refused.error().describe();
  EXPECT_EQ(client().breaker(url("/")), CircuitBreaker::State::Closed);
  held_back = false;
  ASSERT_TRUE(until([&] { return holding.has_ended(); }));
  EXPECT_TRUE(holding.take());
  EXPECT_TRUE(get("/plaintext"));
}

TEST_P(ClientPools, a_call_that_is_stopped_while_it_waits_leaves_the_queue) {
  serve();
  ClientOptions options;
  options.pool.connections_per_origin_max = 1;
  client(options);
  Call holding;
  Call stopped;
  Call next;
  begin(holding, "/held");
  begin(stopped, "/plaintext");
  begin(next, "/plaintext");
  ASSERT_TRUE(until([&] { return handlers_running == 1; }));

  stopped.stop();

  ASSERT_TRUE(until([&] { return stopped.has_ended(); }));
  EXPECT_EQ(stopped.take().error().code(), Code::Cancelled);
  held_back = false;
  ASSERT_TRUE(until([&] { return holding.has_ended() && next.has_ended(); }));
  EXPECT_TRUE(holding.take());
  EXPECT_TRUE(next.take());
  EXPECT_EQ(client().stats().connections, 1u);
}

TEST_P(ClientPools, at_the_bound_of_all_connections_an_idle_one_makes_room) {
  serve();
  ClientOptions options;
  options.pool.connections_max = 2;
  client(options);
  for (const char* host : {"a.internal", "b.internal", "c.internal"}) {
    ASSERT_TRUE(run(client().get(url("/plaintext", host))));
  }
  EXPECT_EQ(client().stats().connections, 2u);

  ASSERT_TRUE(run(client().get(url("/plaintext", "b.internal"))));
  EXPECT_EQ(server_->stats().accepted, 3u) << "the one that was idle longest was closed, a's";
  ASSERT_TRUE(run(client().get(url("/plaintext", "a.internal"))));
  EXPECT_EQ(server_->stats().accepted, 4u);
}

TEST_P(ClientPools, at_the_bound_of_all_connections_calls_wait_for_those_of_other_servers) {
  serve();
  ClientOptions options;
  options.pool.connections_max = 1;
  client(options);
  Call first;
  Call second;
  begin(first, "/held", "a.internal");
  begin(second, "/held", "b.internal");
  ASSERT_TRUE(until([&] { return handlers_running == 1; }));
  settle();
  EXPECT_EQ(client().stats().connections, 1u);

  held_back = false;

  ASSERT_TRUE(until([&] { return first.has_ended() && second.has_ended(); }));
  EXPECT_TRUE(first.take());
  EXPECT_TRUE(second.take());
  EXPECT_EQ(client().stats().connections, 1u);
}

// A place of the server becomes free after half of the time, and none of all connections.
TEST_P(ClientPools, one_limit_bounds_the_waits_for_both_places) {
  serve();
  ClientOptions options;
  options.pool.connections_per_origin_max = 1;
  options.pool.connections_max = 1;
  options.pool.wait_max = 200_ms;
  client(options);
  Call holding;
  Call before;
  Call late;
  begin(holding, "/held", "a.internal");
  ASSERT_TRUE(until([&] { return handlers_running == 1; }));
  begin(before, "/plaintext", "b.internal");
  ASSERT_TRUE(run(nap(100_ms)));
  const Instant began = now();
  begin(late, "/plaintext", "b.internal");

  ASSERT_TRUE(until([&] { return late.has_ended(); }));

  const Duration took = now() - began;
  EXPECT_GE(took, 195_ms);
  if (is_sim()) {
    EXPECT_LT(took, 250_ms);
  }
  ASSERT_TRUE(before.has_ended());
  for (Call* const call : {&before, &late}) {
    const Result<ClientResponse> refused = call->take();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::ResourceExhausted) << refused.error().describe();
  }
  held_back = false;
  ASSERT_TRUE(until([&] { return holding.has_ended(); }));
  EXPECT_TRUE(holding.take());
}

TEST_P(ClientPools, an_idle_connection_is_closed_after_idle_timeout) {
  serve();
  ClientOptions options;
  options.pool.idle_timeout = 20_ms;
  client(options);
  ASSERT_TRUE(get("/plaintext"));
  EXPECT_EQ(client().stats().connections, 1u);

  ASSERT_TRUE(until([&] { return client().stats().connections == 0; }));

  EXPECT_TRUE(until([&] { return server_->stats().connections == 0; }));
}

TEST_P(ClientPools, an_old_connection_is_not_used_again) {
  serve();
  ClientOptions options;
  options.pool.age_max = 5_ms;
  client(options);
  ASSERT_TRUE(get("/plaintext"));
  ASSERT_TRUE(run(nap(10_ms)));
  ASSERT_TRUE(get("/plaintext"));
  EXPECT_EQ(server_->stats().accepted, 2u);
}

TEST_P(ClientPools, without_an_idle_timeout_nothing_is_kept) {
  serve();
  ClientOptions options;
  options.pool.idle_timeout = Duration();
  client(options);
  ASSERT_TRUE(get("/plaintext"));
  EXPECT_EQ(client().stats().connections, 0u);
}

TEST_P(ClientPools, servers_are_forgotten_when_there_are_too_many) {
  serve();
  ClientOptions options;
  options.pool.origins_max = 2;
  client(options);
  for (const char* host : {"a.internal", "b.internal", "c.internal"}) {
    ASSERT_TRUE(run(client().get(url("/plaintext", host)))) << host;
  }
  EXPECT_EQ(client().stats().connections, 1u) << "those of forgotten servers were closed";

  Call first;
  Call second;
  begin(first, "/held", "a.internal");
  begin(second, "/held", "b.internal");
  ASSERT_TRUE(until([&] { return handlers_running == 2; }));
  const Result<ClientResponse> refused = run(client().get(url("/plaintext", "c.internal")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::ResourceExhausted) << refused.error().describe();
  held_back = false;
  ASSERT_TRUE(until([&] { return first.has_ended() && second.has_ended(); }));
  EXPECT_TRUE(first.take());
  EXPECT_TRUE(second.take());
}

TEST_P(ClientPools, a_server_is_not_forgotten_while_its_answer_is_read) {
  serve();
  ClientOptions options;
  options.pool.origins_max = 1;
  client(options);
  Result<ClientStream> stream = run(client().open({Method::Get, url("/large", "a.internal")}));
  ASSERT_TRUE(stream) << stream.error().describe();

  const Result<ClientResponse> refused = run(client().get(url("/plaintext", "b.internal")));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::ResourceExhausted) << refused.error().describe();
  EXPECT_TRUE(*run(read_all(*stream)) == large);
  EXPECT_TRUE(run(client().get(url("/plaintext", "b.internal")))) << "it is read, its server may be forgotten";
  stream = run(client().open({Method::Get, url("/large", "a.internal")}));
  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_FALSE(run(client().get(url("/plaintext", "b.internal"))));
  {
    const ClientStream gone = *std::move(stream);
  }
  EXPECT_TRUE(run(client().get(url("/plaintext", "b.internal"))));
}

// Heads that come in pieces cost up to 64 KiB, and there may be many idle connections.
TEST_P(ClientPools, an_idle_connection_holds_no_memory_of_the_answer_before) {
  serve();
  ClientPool pool(*resolver_, {}, {}, {}, {});
  const auto ask = [](ClientPool& p, Url where) -> Task<> {
    ClientPool::Origin* const origin = co_await p.origin(where);
    const ClientPool::Origin::Use use(*origin);
    bool has_place = false;
    ClientPool::Lease lease = co_await p.lend(*origin, where, ClientPool::Kind::Any, has_place);
    const ResponseReader& reader = lease->reader;  // Of a connection that the pool keeps.
    lease->reader.begin(false);
    lease->reader.feed("HTTP/1.1 204 No Content\r\nX: ");
    EXPECT_EQ(lease->reader.feed(std::string(10'000, 'x') + "\r\n\r\n").state, ResponseState::Done);
    EXPECT_GT(reader.held(), 10'000u);
    lease.give_back();
    EXPECT_EQ(p.idle(), 1u);
    EXPECT_EQ(reader.held(), 0u);
  };
  EXPECT_TRUE(run(ask(pool, *Url::parse(url("/")))));
}

// --- What the breaker is told when a call's time is over before it has a connection.

TEST_P(ClientPools, a_deadline_while_waiting_for_a_place_says_nothing_about_the_server) {
  serve();
  for (const bool of_all : {false, true}) {
    ClientOptions options;
    (of_all ? options.pool.connections_max : options.pool.connections_per_origin_max) = 1;
    options.breaker = {.calls_min = 1, .open_time = 1_h};
    client_.reset();
    client(options);
    held_back = true;
    Call holding;
    begin(holding, "/held", "a.internal");
    ASSERT_TRUE(until([&] { return handlers_running == 1; }));
    const std::string host = of_all ? "b.internal" : "a.internal";

    const Result<ClientResponse> late = send(ClientRequest(Method::Get, url("/plaintext", host)).timeout(20_ms));

    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code(), Code::DeadlineExceeded) << late.error().describe();
    EXPECT_EQ(client().breaker(url("/", host)), CircuitBreaker::State::Closed);
    held_back = false;
    ASSERT_TRUE(until([&] { return holding.has_ended(); }));
    EXPECT_TRUE(holding.take());
    EXPECT_TRUE(run(client().get(url("/plaintext", host))));
  }
}

// Looks names up when it is told to.
class HeldExecutor final : public Executor {
 public:
  void post(Job& job) noexcept override { jobs.push_back(&job); }
  std::vector<Job*> jobs;
};

TEST_P(ClientPools, connecting_is_bounded_with_the_name_looked_up) {
  HeldExecutor lookups;
  resolver_ = std::make_unique<Resolver>(lookups, ResolverOptions{}, [](const std::string&) {
    return Result<std::vector<Address>>(std::vector<Address>{Address::parse("127.0.0.1:1").value()});
  });
  ClientOptions options;
  options.retry.attempts_max = 1;
  options.pool.connect_timeout = 20_ms;
  const Result<ClientResponse> response = run(client(options).get("http://slow.internal/"));

  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::DeadlineExceeded);
  EXPECT_NE(response.error().message().find("connect_timeout"), std::string_view::npos) << response.error().message();
  for (Job* job : lookups.jobs) job->run(*job);
  settle();
}

TEST_P(ClientPools, a_deadline_while_connecting_counts_against_the_server) {
  HeldExecutor lookups;
  resolver_ = std::make_unique<Resolver>(lookups, ResolverOptions{}, [](const std::string&) {
    return Result<std::vector<Address>>(std::vector<Address>{Address::parse("127.0.0.1:1").value()});
  });
  ClientOptions options;
  options.breaker = {.calls_min = 1, .open_time = 1_h};
  client(options);
  const Result<ClientResponse> late = send(ClientRequest(Method::Get, "http://slow.internal/").timeout(20_ms));

  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Code::DeadlineExceeded) << late.error().describe();
  EXPECT_EQ(client().breaker("http://slow.internal/"), CircuitBreaker::State::Open);
  for (Job* job : lookups.jobs) job->run(*job);
  settle();
}

}  // namespace
}  // namespace keel::http::client_pool_test
