// keel/http/testing/test_server.h — runs a service under test: a real server with its router, but without sockets and
// without real waiting.
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
// A TestServer is the server of keel/http/server/server.h, on the simulated engine (keel/io/testing/simulation.h), in
// the calling thread. The parser, limits, middleware and timeouts are those of production; the seed decides how bytes
// are divided and delayed. Time is virtual: a handler that sleeps for a minute responds without a real delay, but the
// clock is then a minute later. To test what happens during a call, begin the call and advance the clock:
//
//   http::TestCall call = server.begin({http::Method::Get, "/slow"});
//   server.advance(5_s);
//   EXPECT_FALSE(call.has_ended());
//   EXPECT_EQ(call.response().status(), 200);       // runs until it has ended
//
// Requests are ClientRequests (keel/http/client/client_request.h), with whole or streamed bodies and any fields. A
// request to a TestServer has a path instead of a URL. A TestClient sends its own fields, such as a token or a tenant,
// on its own connections. If routes or limits depend on the host or the address of a client, set the host or the
// address:
//
//   http::TestClient tenant(server, {.host = "a.example.com", .address = "192.0.2.7"});
//
// Errors:    those of test_client.h.
// Ownership: the router must outlive the server, and the server must outlive its clients and calls.
// Threads:   the thread that constructed the server; this thread must not have another loop at the same time. Handlers
//            run on this thread as on a worker, with a loop, a clock and randomness; run(task) runs a task in the same
//            way.
// Cost:      about 50 microseconds for each call, which is suitable for tests.

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
  // The options, which work as in production: limits, trusted proxies, request ids, metrics (the registry must outlive
  // the server), Server-Timing (in virtual time: a stage that did not wait takes no time and is left out). Only
  // `address` and `listen` have no effect: the server listens at 10.0.0.1, port 80.
  ServerOptions server = {};
  sim::SimOptions simulation = {};  // The seed, delays and faults (keel/io/testing/options.h).
  // Time limit of a call; it should be longer than the time limit of the handlers.
  Duration timeout = 1_h;
  std::size_t body_bytes_max = 64 << 20;  // Largest body that a response may have.
};

class TestServer : public TestRequests<TestServer> {
 public:
  explicit TestServer(const Router& router, TestServerOptions options = {});
  // Drains the server: requests in progress may take as long as they need, but at most Limits::request_timeout.
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  // get(), post() and the other functions act as a client that adds no fields of its own (test_client.h).
  TestCall begin(ClientRequest request) { return client_->begin(std::move(request)); }

  // Advances the virtual time by `time`, and runs everything that becomes due.
  void advance(Duration time);
  // Runs a task of the test on the server's loop, and lets time pass until the task has ended.
  template <class T>
  Result<T> run(Task<T>&& task) {
    Start<T> start;
    bool has_ended = false;
    {
      io::Loop::Entered entered(*loop_);
      has_ended = start.begin(std::move(task), [](StartCore&) noexcept {});
    }
    if (!has_ended) finish(start);
    // Enters the loop, because objects that a failed task still holds are destroyed here.
    const io::Loop::Entered entered(*loop_);
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
