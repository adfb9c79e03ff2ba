// What a client does when servers are slow, wrong, overloaded or gone: timeouts, retries, the circuit breaker, and
// what a stopped call leaves behind. Where a test says how long something takes it is the simulation's time.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "keel/http/client/client.h"
#include "keel/http/testing/internal/client_testing.h"

namespace keel::http::client_faults_test {
namespace {

using namespace internal;

class ClientFaults : public ClientTest {
 protected:
  static ClientOptions one_attempt() {
    ClientOptions options;
    options.retry.attempts_max = 1;
    return options;
  }
  static ClientOptions quick() {
    ClientOptions options;
    options.retry.backoff_first = 1_ms;
    return options;
  }
  static Task<> nap(Duration time) { co_await sleep_for(time); }
  static std::string busy(std::string_view fields = "") { return RawServer::answer("503 Busy", "busy", fields); }
};
INSTANTIATE_TEST_SUITE_P(, ClientFaults, io::testing::every_engine(), io::testing::name_of_engine);

// --- Connections that were closed.

TEST_P(ClientFaults, a_kept_connection_that_the_server_has_closed_is_not_used) {
  Limits limits;
  limits.idle_timeout = is_sim() ? 5_ms : 200_ms;  // It holds before the first request too: a machine may be loaded.
  serve(limits);
  ASSERT_TRUE(get("/plaintext"));
  EXPECT_TRUE(until([&] { return server_->stats().connections == 0; }));
  settle();

  ASSERT_TRUE(run(client().post(url("/echo"), "not idempotent", "text/plain")));

  EXPECT_EQ(client().stats().stale, 0u);
  EXPECT_EQ(server_->stats().accepted, 2u);
}

// The request crosses with the end of the connection: nobody can know it beforehand.
// Answers one request, and ends its connection when it is told to; answers one more on another.
class EndingServer {
 public:
  EndingServer() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in any{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&any), sizeof any), 0);
    EXPECT_EQ(listen(listener_, 4), 0);
    socklen_t size = sizeof any;
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&any), &size), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(any.sin_port)) + "/";
    thread_ = std::jthread([this] {
      for (int i = 0; i < 2; ++i) {
        const int fd = accept(listener_, nullptr, nullptr);
        if (fd < 0) return;
        char request[1024];
        EXPECT_GT(recv(fd, request, sizeof request, 0), 0);
        EXPECT_EQ(::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL), std::ssize(answer));
        if (i == 0) ends_.wait(false);
        close(fd);
        has_ended_.store(true);
      }
    });
  }
  ~EndingServer() {
    shutdown(listener_, SHUT_RDWR);  // Nobody may have come a second time.
    thread_.join();
    close(listener_);
  }
  const std::string& url() const { return url_; }
  void end() {
    ends_.store(true);
    ends_.notify_one();
    while (!has_ended_.load()) std::this_thread::yield();
  }

 private:
  static constexpr std::string_view answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  int listener_;
  std::string url_;
  std::atomic<bool> ends_ = false;
  std::atomic<bool> has_ended_ = false;
  std::jthread thread_;
};

class RealClientFaults : public ClientFaults {
 protected:
  static Task<> ask_end_ask(Client& client, EndingServer& server) {
    co_await client.post(server.url(), "1", "text/plain");
    server.end();
    const Instant end = Host::system().now() + 2_ms;
    while (Host::system().now() < end) {
    }
    co_await client.post(server.url(), "2", "text/plain");
  }
};
INSTANTIATE_TEST_SUITE_P(, RealClientFaults, ::testing::Values(io::testing::Which::Uring, io::testing::Which::Epoll),
                         io::testing::name_of_engine);

TEST_P(RealClientFaults, a_kept_connection_that_was_closed_in_a_long_turn_is_not_used) {
  EndingServer server;
  const Result<> asked = run(ask_end_ask(client(), server));
  EXPECT_TRUE(asked) << asked.error().describe();
}

TEST_P(ClientFaults, a_kept_connection_that_ends_under_a_request_is_replaced_once) {
  RawServer& server = raw();
  server.plays = {{RawServer::ok("1")}, {.reply = "", .closes = true}, {RawServer::ok("2")}};
  client(one_attempt());
  EXPECT_EQ(run(client().get(server.url()))->body(), "1");

  EXPECT_EQ(run(client().get(server.url()))->body(), "2");

  EXPECT_EQ(client().stats().stale, 1u);
  EXPECT_EQ(client().stats().retries, 0u);
  EXPECT_EQ(server.connections, 2);
}

TEST_P(ClientFaults, a_fresh_connection_that_ends_is_not_replaced_without_a_retry) {
  RawServer& server = raw();
  server.plays = {{RawServer::ok("1")}, {.reply = "", .closes = true}};
  client(one_attempt());
  ASSERT_TRUE(run(client().get(server.url())));

  const Result<ClientResponse> response = run(client().get(server.url()));

  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::Unavailable);
  EXPECT_EQ(server.requests.size(), 3u) << "the kept connection, and one that replaced it";
}

TEST_P(ClientFaults, a_request_that_may_not_be_repeated_is_not_sent_again_on_another_connection) {
  RawServer& server = raw();
  server.plays = {{RawServer::ok("1")}, {.reply = "", .closes = true}, {RawServer::ok("2")}};
  client(quick());
  ASSERT_TRUE(run(client().get(server.url())));

  const Result<ClientResponse> response = run(client().post(server.url(), "pay", "text/plain"));

  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::Unavailable) << response.error().describe();
  EXPECT_EQ(server.requests.size(), 2u);
}

TEST_P(ClientFaults, a_kept_connection_that_has_ended_does_not_open_the_circuit) {
  RawServer& server = raw();
  server.plays = {{RawServer::ok("1")}, {.reply = "", .closes = true}};
  ClientOptions options = quick();
  options.breaker = {.calls_min = 1, .open_time = 1_h};
  client(options);
  ASSERT_TRUE(run(client().get(server.url())));

  ASSERT_FALSE(run(client().post(server.url(), "pay", "text/plain")));

  EXPECT_EQ(client().breaker(server.url()), CircuitBreaker::State::Closed) << "a server may close what is idle";
  ASSERT_FALSE(run(client().post(server.url(), "pay", "text/plain")));
  EXPECT_EQ(client().breaker(server.url()), CircuitBreaker::State::Open) << "but not what was made for a request";
}

TEST_P(ClientFaults, an_idempotency_key_lets_any_request_be_repeated) {
  RawServer& server = raw();
  server.plays = {{RawServer::ok("1")}, {.reply = "", .closes = true}, {busy()}, {RawServer::ok("2")}};
  client(quick());
  ASSERT_TRUE(run(client().get(server.url())));

  const Result<ClientResponse> response =
      send(ClientRequest(Method::Post, server.url()).body("pay", "text/plain").idempotency_key("k1"));

  EXPECT_EQ(response->body(), "2");
  ASSERT_EQ(server.requests.size(), 4u);
  for (int i = 1; i < 4; ++i) {
    EXPECT_NE(server.requests[i].find("Idempotency-Key: k1\r\n"), std::string::npos);
    EXPECT_TRUE(server.requests[i].ends_with("\r\n\r\npay"));
  }
}

TEST_P(ClientFaults, an_answer_that_ends_too_early_is_unavailable) {
  RawServer& server = raw();
  client(one_attempt());
  for (const char* reply : {"", "HTTP/1.1 200 OK\r\nContent-", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcd",
                            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n"}) {
    server.plays = {{.reply = reply, .closes = true}};
    const Result<ClientResponse> response = run(client().get(server.url()));
    ASSERT_FALSE(response) << reply;
    EXPECT_EQ(response.error().code(), Code::Unavailable) << reply << response.error().describe();
  }
  EXPECT_EQ(client().stats().connections, 0u);
}

// --- Time.

TEST_P(ClientFaults, a_silent_server_is_given_up_after_first_byte_timeout) {
  RawServer& server = raw();
  server.plays = {{.reply = RawServer::ok("late"), .after = 1_h}};
  ClientOptions options = one_attempt();
  options.first_byte_timeout = 20_ms;
  client(options);
  for (const bool has_body : {false, true}) {
    ClientRequest request(has_body ? Method::Put : Method::Get, server.url());
    if (has_body) request.body("x", "text/plain");
    const Instant began = now();
    const Result<ClientResponse> response = send(std::move(request));

    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code(), Code::DeadlineExceeded);
    EXPECT_NE(response.error().message().find("first_byte_timeout"), std::string_view::npos)
        << response.error().message();
    EXPECT_GE(now() - began, 20_ms);
    EXPECT_EQ(client().stats().connections, 0u);
  }
}

TEST_P(ClientFaults, a_body_that_does_not_go_on_is_given_up_after_read_timeout) {
  RawServer& server = raw();
  server.plays = {{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcd"}};
  ClientOptions options = one_attempt();
  options.read_timeout = 20_ms;
  const Result<ClientResponse> response = run(client(options).get(server.url()));

  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::DeadlineExceeded);
  EXPECT_NE(response.error().message().find("read_timeout"), std::string_view::npos) << response.error().message();

  Result<ClientStream> stream = run(client().open({Method::Get, server.url()}));
  ASSERT_TRUE(stream);
  std::string got;
  while (got.size() < 4) got += run(stream->read()).value();
  EXPECT_EQ(got, "abcd");
  EXPECT_EQ(run(stream->read()).error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(run(stream->read()).error().code(), Code::Unavailable) << "a body that was cut never looks whole";
}

TEST_P(ClientFaults, a_call_takes_at_most_its_time_out_or_the_deadline_it_inherits) {
  RawServer& server = raw();
  server.plays = {{.reply = RawServer::ok("late"), .after = 1_h}};
  const Result<ClientResponse> response = send(ClientRequest(Method::Get, server.url()).timeout(20_ms));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::DeadlineExceeded);

  const auto limited = [](Client& c, std::string where) -> Task<ClientResponse> {
    co_return co_await with_timeout(20_ms, c.get(where));
  };
  EXPECT_EQ(run(limited(client(), server.url())).error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(client().stats().retries, 0u) << "there is no time left for another attempt";
  EXPECT_EQ(client().stats().connections, 0u);
}

// --- Retries.

TEST_P(ClientFaults, an_overloaded_server_is_asked_again) {
  RawServer& server = raw();
  server.plays = {{busy()}, {RawServer::answer("429 Slow Down", "")}, {RawServer::ok("at last")}};
  EXPECT_EQ(run(client(quick()).get(server.url()))->body(), "at last");

  EXPECT_EQ(client().stats().retries, 2u);
  EXPECT_EQ(server.connections, 1) << "a refusal keeps its connection";
}

TEST_P(ClientFaults, attempts_are_bounded_and_the_last_answer_stands) {
  RawServer& server = raw();
  server.plays = {{busy()}, {busy()}, {RawServer::answer("502 Bad Gateway", "third")}, {RawServer::ok("fourth")}};
  const Result<ClientResponse> response = run(client(quick()).get(server.url()));

  EXPECT_EQ(response->status(), Status::BadGateway);
  EXPECT_EQ(response->body(), "third");
  EXPECT_EQ(server.requests.size(), 3u);
}

TEST_P(ClientFaults, what_is_not_idempotent_or_was_streamed_is_asked_once) {
  RawServer& server = raw();
  server.plays = {{busy()}};
  client(quick());
  EXPECT_EQ(run(client().post(server.url(), "x", "text/plain"))->status(), Status::ServiceUnavailable);
  EXPECT_EQ(server.requests.size(), 1u);
  const auto writer = [](ClientBodyWriter& body) { return body.write("x"); };
  EXPECT_EQ(send(ClientRequest(Method::Put, server.url()).stream("text/plain", writer))->status(),
            Status::ServiceUnavailable);
  EXPECT_EQ(server.requests.size(), 2u);
  EXPECT_EQ(run(client().put(server.url(), "x", "text/plain"))->status(), Status::ServiceUnavailable);
  EXPECT_EQ(server.requests.size(), 5u);
}

TEST_P(ClientFaults, other_answers_are_not_asked_for_again) {
  RawServer& server = raw();
  client(quick());
  for (const char* status : {"400 Bad", "404 Nothing", "500 Oh", "501 No"}) {
    server.plays = {{RawServer::answer(status)}};
    ASSERT_TRUE(run(client().get(server.url())));
  }
  EXPECT_EQ(server.requests.size(), 4u);
}

TEST_P(ClientFaults, retries_end_with_the_budget) {
  RawServer& server = raw();
  server.plays = {{busy()}};
  ClientOptions options = quick();
  options.retry.budget_max = 3;
  options.retry.budget_ratio = 0;
  client(options);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(run(client().get(server.url())));

  EXPECT_EQ(client().stats().retries, 3u);
  EXPECT_EQ(client().stats().unaffordable, 4u) << "one in the second call, one in each of the three others";
  EXPECT_EQ(server.requests.size(), 8u);
}

TEST_P(ClientFaults, a_streamed_answer_is_one_of_the_attempt_that_went_well) {
  RawServer& server = raw();
  server.plays = {{busy()}, {RawServer::ok("streamed")}};
  Result<ClientStream> stream = run(client(quick()).open({Method::Get, server.url()}));

  ASSERT_TRUE(stream);
  EXPECT_EQ(stream->status(), Status::Ok);
  EXPECT_EQ(*run(read_all(*stream)), "streamed");
  server.plays = {{busy()}};
  Result<ClientStream> refused = run(client().open({Method::Get, server.url()}));
  EXPECT_EQ(refused->status(), Status::ServiceUnavailable);
  EXPECT_EQ(*run(read_all(*refused)), "busy");
}

TEST_P(ClientFaults, a_streamed_refusal_that_stands_is_the_callers_to_read_whatever_its_size) {
  RawServer& server = raw();
  const std::string body = io::testing::pattern(9 << 20);  // Above body_bytes_max.
  server.plays = {{RawServer::answer("503 Busy", body)}};
  const auto opened = [&](ClientRequest request) {
    Result<ClientStream> stream = run(client(quick()).open(std::move(request)));
    ASSERT_TRUE(stream) << stream.error().describe();
    EXPECT_EQ(stream->status(), Status::ServiceUnavailable);
    EXPECT_TRUE(*run(read_all(*stream)) == body);
  };
  opened(ClientRequest(Method::Post, server.url()).body("x", "text/plain"));
  EXPECT_EQ(server.requests.size(), 1u);
  opened({Method::Get, server.url()});
  EXPECT_EQ(server.requests.size(), 4u) << "of three attempts the last one stands";
  EXPECT_EQ(server.connections, 3) << "nine megabytes are not read for a connection";
  server.plays = {{RawServer::answer("429 Slow Down", body, "Retry-After: 1000\r\n")}};
  Result<ClientStream> asked = run(client().open({Method::Get, server.url()}));
  ASSERT_TRUE(asked) << asked.error().describe();
  EXPECT_TRUE(*run(read_all(*asked)) == body) << "it is not asked again before";
}

TEST_P(ClientFaults, a_streamed_redirect_is_read_by_who_follows_it) {
  RawServer& server = raw();
  const std::string body = io::testing::pattern(9 << 20);
  server.plays = {{RawServer::answer("302 Found", "short", "Location: /next\r\n")}, {RawServer::ok("there")}};
  Result<ClientStream> stream = run(client().open({Method::Get, server.url()}));
  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_EQ(*run(read_all(*stream)), "there");
  EXPECT_EQ(server.connections, 1);

  server.plays = {{RawServer::answer("302 Found", body, "Location: /next\r\n")}, {RawServer::ok("there")}};
  stream = run(client().open({Method::Get, server.url()}));
  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_EQ(*run(read_all(*stream)), "there");
  EXPECT_EQ(server.connections, 2) << "a large one costs its connection";

  server.plays = {{RawServer::answer("302 Found", body, "Location: /next\r\n")}, {RawServer::ok("whole")}};
  const Result<ClientResponse> whole = run(client().get(server.url()));
  ASSERT_TRUE(whole) << whole.error().describe();
  EXPECT_EQ(whole->body(), "whole") << "its size is no matter";

  server.plays = {{RawServer::answer("302 Found", body)}};
  stream = run(client().open({Method::Get, server.url()}));
  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_EQ(stream->status(), Status::Found);
  EXPECT_TRUE(*run(read_all(*stream)) == body) << "it leads nowhere";
}

TEST_P(ClientFaults, nobody_there_is_unavailable_after_all_attempts) {
  // Bound and not listening: nobody else is given the port meanwhile. In a simulation nobody has it.
  const int taken = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(taken, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(taken, reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const Result<ClientResponse> response =
      run(client(quick()).get("http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/"));
  ::close(taken);

  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::Unavailable) << response.error().describe();
  EXPECT_EQ(client().stats().retries, 2u);
}

// --- The circuit breaker.

TEST_P(ClientFaults, a_server_that_fails_is_left_alone_until_it_is_probed) {
  RawServer& server = raw();
  server.plays = {{RawServer::answer("500 Oh")}};
  ClientOptions options = one_attempt();
  options.breaker = {.calls_min = 4, .open_time = 30_ms};
  client(options);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(client().breaker(server.url()), CircuitBreaker::State::Closed);
    ASSERT_TRUE(run(client().get(server.url())));
  }
  EXPECT_EQ(client().breaker(server.url()), CircuitBreaker::State::Open);

  const Result<ClientResponse> refused = run(client().get(server.url()));
  // A loaded machine may be late: the circuit may be half open by now, then this was the probe.
  if (!refused) {
    EXPECT_EQ(refused.error().code(), Code::Unavailable);
    EXPECT_NE(refused.error().message().find("circuit"), std::string_view::npos) << refused.error().message();
    EXPECT_EQ(client().stats().rejected, 1u);
    EXPECT_EQ(server.requests.size(), 4u);
  } else {
    EXPECT_FALSE(is_sim());
  }
  server.plays = {{RawServer::ok("well again")}};
  ASSERT_TRUE(run(nap(50_ms)));
  EXPECT_EQ(client().breaker(server.url()), CircuitBreaker::State::HalfOpen);
  EXPECT_EQ(run(client().get(server.url()))->body(), "well again");
  EXPECT_EQ(client().breaker(server.url()), CircuitBreaker::State::Closed);
}

TEST_P(ClientFaults, each_server_has_a_breaker_of_its_own) {
  serve();
  RawServer& server = raw();
  server.plays = {{RawServer::answer("500 Oh")}};
  ClientOptions options = one_attempt();
  options.breaker = {.calls_min = 1, .open_time = 1_h};
  client(options);
  ASSERT_TRUE(run(client().get(server.url())));

  EXPECT_FALSE(run(client().get(server.url())));
  EXPECT_TRUE(get("/plaintext"));
}

TEST_P(ClientFaults, answers_that_blame_the_request_do_not_open_the_circuit) {
  RawServer& server = raw();
  server.plays = {{RawServer::answer("404 Nothing")}};
  ClientOptions options = one_attempt();
  options.breaker = {.calls_min = 1};
  client(options);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(run(client().get(server.url())));
  EXPECT_EQ(client().breaker(server.url()), CircuitBreaker::State::Closed);
}

Task<> give_up(ClientBodyWriter& body) {
  co_await body.write("some");
  co_await fail(Code::Unavailable, "whoever uploads is gone");
}

// One who uploads through us and goes away says nothing about the server behind.
TEST_P(ClientFaults, who_cannot_write_the_body_does_not_open_the_circuit) {
  serve();
  ClientOptions options = one_attempt();
  options.breaker = {.calls_min = 2};
  client(options);
  for (int i = 0; i < 5; ++i) {
    const auto response = run(client().send(ClientRequest(Method::Post, url("/echo")).stream("text/plain", give_up)));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code(), Code::Unavailable);
  }
  EXPECT_EQ(client().breaker(url("")), CircuitBreaker::State::Closed);
  EXPECT_TRUE(get("/plaintext"));
}

TEST_P(ClientFaults, the_answer_that_opens_the_circuit_is_the_callers) {
  RawServer& server = raw();
  server.plays = {{busy()}};
  ClientOptions options = quick();
  options.breaker = {.calls_min = 1, .open_time = 20_ms};
  client(options);
  for (int i = 0; i < 3; ++i) {  // The second and third are probes.
    const Result<ClientResponse> response = run(client().get(server.url()));
    ASSERT_TRUE(response) << response.error().describe();
    EXPECT_EQ(response->body(), "busy");
    EXPECT_EQ(client().stats().retries, 0u);
    ASSERT_TRUE(run(nap(40_ms)));
  }
  EXPECT_EQ(server.requests.size(), 3u);
}

// --- Calls that are stopped.

TEST_P(ClientFaults, a_stopped_call_closes_its_connection_and_nothing_else) {
  serve();
  ASSERT_TRUE(get("/plaintext"));
  Start<ClientResponse> stopped;
  Start<ClientResponse> other;
  ASSERT_FALSE(stopped.begin(client().get(url("/held")), [](StartCore&) noexcept {}));
  ASSERT_FALSE(other.begin(client().get(url("/held")), [](StartCore&) noexcept {}));
  ASSERT_TRUE(until([&] { return handlers_running == 2; }));

  stopped.stop();
  ASSERT_TRUE(until([&] { return stopped.has_ended(); }));

  EXPECT_EQ(stopped.take().error().code(), Code::Cancelled);
  EXPECT_EQ(client().stats().connections, 1u);
  held_back = false;
  ASSERT_TRUE(until([&] { return other.has_ended() && handlers_running == 0; }));
  EXPECT_EQ(other.take()->body(), "/held");
  EXPECT_EQ(client().breaker(url("/")), CircuitBreaker::State::Closed);
}

TEST_P(ClientFaults, a_call_that_is_stopped_while_it_sends_closes_its_connection) {
  RawServer& server = raw();
  server.plays = {{.reply = "", .reads_body = false}};
  const std::string body(24 << 20, 'x');
  Start<ClientResponse> sending;
  ASSERT_FALSE(sending.begin(client().post(server.url(), body, "text/plain"), [](StartCore&) noexcept {}));
  ASSERT_TRUE(until([&] { return !server.requests.empty(); }));
  settle();

  sending.stop();

  ASSERT_TRUE(until([&] { return sending.has_ended(); }));
  EXPECT_EQ(sending.take().error().code(), Code::Cancelled);
  EXPECT_EQ(client().stats().connections, 0u);
}

TEST_P(ClientFaults, a_call_that_is_stopped_between_two_attempts_ends_at_once) {
  RawServer& server = raw();
  server.plays = {{busy("Retry-After: 9\r\n")}};
  Start<ClientResponse> waiting;
  ASSERT_FALSE(waiting.begin(client().get(server.url()), [](StartCore&) noexcept {}));
  ASSERT_TRUE(until([&] { return client().stats().retries == 1; }));

  waiting.stop();

  ASSERT_TRUE(until([&] { return waiting.has_ended(); }));
  EXPECT_EQ(waiting.take().error().code(), Code::Cancelled);
  EXPECT_EQ(server.requests.size(), 1u);
  EXPECT_EQ(client().stats().idle_connections, 1u);
}

// --- Waits, in virtual time.

using ClientWaits = ClientFaults;
INSTANTIATE_TEST_SUITE_P(, ClientWaits, ::testing::Values(io::testing::Which::Sim), io::testing::name_of_engine);

TEST_P(ClientWaits, retry_after_is_honoured_up_to_its_bound) {
  RawServer& server = raw();
  server.plays = {{busy("Retry-After: 10\r\n")}, {RawServer::ok("then")}};
  Instant began = now();
  EXPECT_EQ(run(client().get(server.url()))->body(), "then");
  EXPECT_GE(now() - began, 10_s);
  EXPECT_LT(now() - began, 11_s);

  server.plays = {{busy("Retry-After: 11\r\n")}, {RawServer::ok("never")}};
  began = now();
  EXPECT_EQ(run(client().get(server.url()))->status(), Status::ServiceUnavailable);
  EXPECT_LT(now() - began, 1_s);
}

TEST_P(ClientWaits, retry_after_may_be_a_date) {
  RawServer& server = raw();
  // The calendar of a simulation begins at 2026-01-01, and a second has passed.
  server.plays = {{busy("Retry-After: Thu, 01 Jan 2026 00:00:08 GMT\r\n")}, {RawServer::ok("then")}};
  EXPECT_EQ(run(client().get(server.url()))->body(), "then");
  EXPECT_GE(loop_->wall_ns(), 1'767'225'608'000'000'000);
}

TEST_P(ClientWaits, nobody_waits_for_an_attempt_that_the_deadline_forbids) {
  RawServer& server = raw();
  server.plays = {{busy("Retry-After: 5\r\n")}};
  const Instant began = now();
  EXPECT_EQ(send(ClientRequest(Method::Get, server.url()).timeout(5_s))->status(), Status::ServiceUnavailable);
  EXPECT_LT(now() - began, 1_s);
}

TEST_P(ClientWaits, attempts_are_a_random_time_apart) {
  RawServer& server = raw();
  server.plays = {{busy()}};
  ClientOptions options;
  options.retry = {.attempts_max = 5, .backoff_first = 1_s, .backoff_max = 2_s, .budget_max = 1000};
  options.breaker.failure_ratio = 2;
  client(options);
  Duration least = 1_h;
  Duration most;
  for (int i = 0; i < 30; ++i) {
    const Instant began = now();
    ASSERT_TRUE(run(client().get(server.url())));
    least = std::min(least, now() - began);
    most = std::max(most, now() - began);
  }
  EXPECT_LT(most, 7_s + 100_ms) << "1 + 2 + 2 + 2 seconds at most";
  EXPECT_GT(most - least, 1_s);
}

}  // namespace
}  // namespace keel::http::client_faults_test
