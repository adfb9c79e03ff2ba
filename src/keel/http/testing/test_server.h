// keel/http/testing/test_server.h — a service under test: its router behind a real server, without sockets and without
// waiting.
//
//   TEST(Users, are_found_by_id) {
//     http::Router router;
//     Users users(router);
//     http::TestServer server(router);
//
//     http::TestResponse response = server.get("/users/1");
//
//     EXPECT_EQ(response.status(), 200);
//     EXPECT_EQ(response.body(), R"({"id":1,"name":"Ada"})");
//   }
//
// It is the server of keel/http/server/server.h on the simulated engine (keel/io/testing/simulation.h) in the calling
// thread: parser, limits, middleware and time-outs are those of production, bytes are cut and delayed by the seed. Time
// is virtual: a handler that sleeps for a minute answers at once, a minute later by its own clock. To look at what is
// between, begin a call and advance the clock:
//
//   http::TestCall call = server.begin({http::Method::Get, "/slow"});
//   server.advance(5_s);
//   EXPECT_FALSE(call.has_ended());
//   EXPECT_EQ(call.response().status(), 200);       // runs until it has ended
//
// Requests are ClientRequests (keel/http/client/client_request.h): bodies whole or streamed, any fields. A path takes
// the place of their URL. A TestClient asks with fields of its own, a token or a tenant, on connections of its own;
// where routes or limits depend on it, for a host and from an address that it is given:
//
//   http::TestClient tenant(server, {.host = "a.example.com", .address = "192.0.2.7"});
//
// Errors:    a call that got no answer has status 0 and says why in error(). No answer is asked for again and
//            redirects are not followed; a kept connection that the server had closed is replaced, as any Client does.
// Ownership: the router outlives the server, the server its clients and calls.
// Threads:   the one that made it, where nothing else has a loop meanwhile. Inside is that of the worker: handlers find
//            loop, clock and randomness as ever, run(task) runs a task there.
// Cost:      for tests: about 50 microseconds for a call.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/time.h"
#include "keel/http/client/client.h"
#include "keel/http/server/router.h"
#include "keel/http/server/server.h"
#include "keel/io/testing/simulation.h"
#include "keel/task/start.h"

namespace keel::http {

struct TestServerOptions {
  // As in production: limits, trusted proxies, request ids, metrics (whose registry outlives the server), Server-Timing
  // (in virtual time: what did not wait took none, and is not told). But `address` and `listen` are the test's: it
  // listens at 10.0.0.1, port 80.
  ServerOptions server = {};
  sim::SimOptions simulation = {};        // Seed, delays, faults (keel/io/testing/options.h).
  Duration timeout = 1_h;                 // Of a call; longer than what a handler may take.
  std::size_t body_bytes_max = 64 << 20;  // Of an answer.
};

// Whom a TestClient is taken for.
struct TestClientOptions {
  std::string host = {};     // What it asks for in Host, a name without a port; empty: "10.0.0.1".
  std::string address = {};  // Where it connects from, an IPv4 address; empty: 10.0.0.1.
};

// An answer, with everything copied out of it. A value.
class TestResponse {
 public:
  // 200, 404, …; 0 when there was no answer.
  int status() const noexcept { return answer_ ? static_cast<int>(answer_->status()) : 0; }
  std::string_view body() const noexcept { return answer_ ? answer_->body() : std::string_view(); }
  // The value of the first field of that name (any case), or nullopt.
  std::optional<std::string_view> header(std::string_view name) const noexcept {
    if (!answer_) return std::nullopt;
    return answer_->header(name);
  }
  // Why there was no answer; empty when there was one.
  const std::string& error() const noexcept { return error_; }

 private:
  friend class TestServer;
  friend class TestCall;
  explicit TestResponse(Result<ClientResponse>&& result);
  std::optional<ClientResponse> answer_;
  std::string error_;
};

class TestServer;

// A request that is under way. Movable; destroyed before its end it is stopped, as by a client that goes away.
class TestCall {
 public:
  TestCall(TestCall&&) noexcept = default;
  TestCall& operator=(TestCall&&) = delete;
  ~TestCall();
  bool has_ended() const noexcept { return call_->has_ended(); }
  // Stops it: the client closes its connection.
  void stop();
  // Lets time pass until it has ended. Once.
  TestResponse response();

 private:
  friend class TestClient;
  TestCall(TestServer& server, std::unique_ptr<Start<ClientResponse>> call) noexcept
      : server_(&server), call_(std::move(call)) {}
  TestServer* server_;
  std::unique_ptr<Start<ClientResponse>> call_;
};

class TestClient {
 public:
  explicit TestClient(TestServer& server, const TestClientOptions& options = {});
  ~TestClient();
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  // Sent with each request from now on.
  TestClient& header(std::string_view name, std::string_view value) &;

  TestResponse get(std::string_view path) { return send(ClientRequest(Method::Get, path)); }
  TestResponse del(std::string_view path) { return send(ClientRequest(Method::Delete, path)); }
  TestResponse post(std::string_view path, std::string_view body, std::string_view content_type = "application/json") {
    return send(ClientRequest(Method::Post, path).body(body, content_type));
  }
  TestResponse put(std::string_view path, std::string_view body, std::string_view content_type = "application/json") {
    return send(ClientRequest(Method::Put, path).body(body, content_type));
  }
  TestResponse patch(std::string_view path, std::string_view body, std::string_view content_type = "application/json") {
    return send(ClientRequest(Method::Patch, path).body(body, content_type));
  }
  // Sends it and lets time pass until the answer is there.
  TestResponse send(ClientRequest request) { return begin(std::move(request)).response(); }
  // Begins to send it: time passes in advance() and in the calls above.
  TestCall begin(ClientRequest request);

 private:
  TestServer& server_;
  const std::string origin_;
  std::vector<std::pair<std::string, std::string>> fields_;
  std::unique_ptr<Client> client_;
};

class TestServer {
 public:
  explicit TestServer(const Router& router, TestServerOptions options = {});
  // Drains: requests in progress get the time they need, at most Limits::request_timeout.
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  // Of a client that sends nothing of its own.
  TestResponse get(std::string_view path) { return client_->get(path); }
  TestResponse del(std::string_view path) { return client_->del(path); }
  TestResponse post(std::string_view path, std::string_view body, std::string_view content_type = "application/json") {
    return client_->post(path, body, content_type);
  }
  TestResponse put(std::string_view path, std::string_view body, std::string_view content_type = "application/json") {
    return client_->put(path, body, content_type);
  }
  TestResponse patch(std::string_view path, std::string_view body, std::string_view content_type = "application/json") {
    return client_->patch(path, body, content_type);
  }
  TestResponse send(ClientRequest request) { return client_->send(std::move(request)); }
  TestCall begin(ClientRequest request) { return client_->begin(std::move(request)); }

  // Lets so much time pass, and everything happen that is due in it.
  void advance(Duration time);
  // Runs a task of the test on the server's loop to its end, and lets as much time pass as it takes.
  template <class T>
  Result<T> run(Task<T>&& task) {
    Start<T> start;
    bool has_ended = false;
    {
      io::Loop::Entered entered(*loop_);
      has_ended = start.begin(std::move(task), [](StartCore&) noexcept {});
    }
    if (!has_ended) finish(start);
    const io::Loop::Entered entered(*loop_);  // What a task that failed still holds ends here.
    return start.take();
  }
  // The server's clock.
  Instant now() noexcept;
  const Server& server() const noexcept { return *server_; }
  sim::Simulation& simulation() noexcept { return simulation_; }

 private:
  friend class TestCall;
  friend class TestClient;
  void finish(StartCore& task);

  TestServerOptions options_;
  sim::Simulation simulation_;
  io::Loop* loop_;
  io::Loop* client_loop_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Resolver> resolver_;
  std::unique_ptr<TestClient> client_;
};

}  // namespace keel::http
