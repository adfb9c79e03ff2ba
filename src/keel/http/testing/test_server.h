// keel/http/testing/test_server.h — a service under test: a real server with its router, without sockets and without
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
// thread: parser, limits, middleware and timeouts are those of production; the seed decides how bytes are divided and
// delayed. Time is virtual: a handler that sleeps for a minute responds without a real delay, at a time that is a
// minute later on its own clock. To see the states in between, begin a call and advance the clock:
//
//   http::TestCall call = server.begin({http::Method::Get, "/slow"});
//   server.advance(5_s);
//   EXPECT_FALSE(call.has_ended());
//   EXPECT_EQ(call.response().status(), 200);       // runs until it has ended
//
// Requests are ClientRequests (keel/http/client/client_request.h): bodies whole or streamed, any fields. These requests
// have a path instead of a URL. A TestClient sends its own fields, such as a token or a tenant, on its own connections;
// if routes or limits depend on them, give it a host and an address:
//
//   http::TestClient tenant(server, {.host = "a.example.com", .address = "192.0.2.7"});
//
// Errors:    those of test_client.h.
// Ownership: the router outlives the server, and the server outlives its clients and calls.
// Threads:   the thread that constructed it, which must not have another loop at the same time. Handlers run on it as
//            on a worker, with loop, clock and randomness; run(task) runs a task there.
// Cost:      for tests: about 50 microseconds for a call.

#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "keel/base/time.h"
#include "keel/http/server/router.h"
#include "keel/http/server/server.h"
#include "keel/http/testing/test_client.h"
#include "keel/io/testing/simulation.h"
#include "keel/task/start.h"

namespace keel::http {

// Options of the server under test, of the simulation and of its clients.
struct TestServerOptions {
  // As in production: limits, trusted proxies, request ids, metrics (whose registry outlives the server), Server-Timing
  // (in virtual time: a stage that did not wait takes no time and is left out). `address` and `listen` have no effect:
  // the server listens at 10.0.0.1, port 80.
  ServerOptions server = {};
  sim::SimOptions simulation = {};        // Seed, delays, faults (keel/io/testing/options.h).
  Duration timeout = 1_h;                 // Time limit of a call; choose a longer one than that of the handlers.
  std::size_t body_bytes_max = 64 << 20;  // Largest body of a response.
};

class TestServer : public TestRequests<TestServer> {
 public:
  explicit TestServer(const Router& router, TestServerOptions options = {});
  // Drains the server: requests in progress get the time that they need, at most Limits::request_timeout.
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  // get(), post() and the like act as a client without its own fields (test_client.h).
  TestCall begin(ClientRequest request) { return client_->begin(std::move(request)); }

  // Advances the virtual time by `time`, and runs everything that is due in it.
  void advance(Duration time);
  // Runs a task of the test on the server's loop, and lets time pass until it has ended.
  template <class T>
  Result<T> run(Task<T>&& task) {
    Start<T> start;
    bool has_ended = false;
    {
      io::Loop::Entered entered(*loop_);
      has_ended = start.begin(std::move(task), [](StartCore&) noexcept {});
    }
    if (!has_ended) finish(start);
    const io::Loop::Entered entered(*loop_);  // Objects that a failed task still holds are destroyed here.
    return start.take();
  }
  // The server's clock.
  Instant now() noexcept;
  const Server& server() const noexcept { return *server_; }
  const TestTarget& target() const noexcept { return target_; }
  sim::Simulation& simulation() noexcept { return simulation_; }

 private:
  void finish(StartCore& task);

  TestServerOptions options_;
  sim::Simulation simulation_;
  io::Loop* loop_;
  TestTarget target_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Resolver> resolver_;
  std::unique_ptr<TestClient> client_;
};

}  // namespace keel::http
