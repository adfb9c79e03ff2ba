// Sessions that move between the threads of real workers. Crosses threads: run under ThreadSanitizer.

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "keel/net/listener.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/server.h"
#include "keel/net/run.h"
#include "keel/net/sessions/client.h"
#include "keel/net/sessions/handlers.h"
#include "keel/net/sessions/registry.h"
#include "keel/net/sessions/server.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::sessions::registry_workers_test {
namespace {

constexpr int rounds = 30;

struct Number {
  static constexpr std::uint16_t message_type = 1;
  int number = 0;
};

struct Program {
  Registry registry;
  Handlers handlers, of_client;
  messages::Handlers requests;
  std::vector<int> heard;  // By the session's worker of the time.
  int told = 0;            // By the client's worker.
  Address addresses[2];
  std::atomic<int> ready{0};
  std::atomic<int> done{0};

  Task<> until(const std::atomic<int>& number, int at_least) {
    while (number.load() < at_least) co_await sleep_for(1_ms);
  }

  // Says a number, hears that it was handled, breaks the connection, and comes back to the other worker.
  Task<> run_client() {
    ClientOptions options{.servers = {addresses[0], addresses[1]}, .name = "one", .reconnect_min = 1_ms};
    Client client(of_client, std::move(options));
    Scope running;
    running.spawn(client.run(), OnError::Ignore);
    for (int i = 0; i < rounds; ++i) {
      co_await client->send(Number{i});
      co_await client->acknowledged();
      if (client->peer() != nullptr) client->peer()->close(Error(Code::Unavailable, "cut by the test"));
    }
    while (!client->is_connected()) co_await sleep_for(1_ms);
    client->end(Error(Code::Cancelled, "done"));
    co_await running.join();
  }
  // From a worker that mostly does not have the session.
  Task<> tell_all() {
    while (done.load() == 0) {
      registry.broadcast(Number{7}, {.when_full = WhenFull::NewestOfKey});
      static_cast<void>(registry.list());
      co_await sleep_for(1_ms);
    }
  }
  Task<> work(Worker& worker) {
    Server sessions(registry, handlers);
    messages::ServerOptions options;
    options.drain = 10_ms;
    options.on_open = [&](messages::Peer& peer) { sessions.open(peer); };
    messages::Server server(requests, std::move(options));
    Listener listener = co_await Listener::bind(*Address::parse("127.0.0.1:0"));
    addresses[worker.index()] = listener.address();
    Event stopping;
    Scope serving;
    serving.spawn(server.serve(listener, stopping));
    ready.fetch_add(1);
    co_await until(ready, 2);
    if (worker.index() == 0) {
      co_await run_client();
      done.fetch_add(1);
    } else {
      co_await tell_all();
    }
    stopping.set();
    co_await serving.join();
    co_await sessions.stop();
  }
};

TEST(SessionsOfWorkers, move_between_threads_and_lose_nothing) {
  Program program;
  program.handlers.on<Number>([&](Session&, const Number& number) { program.heard.push_back(number.number); });
  program.of_client.on<Number>([&](Session&, const Number&) { ++program.told; });

  const Result<> ran = run({.workers = 2}, [&](Worker& worker) { return program.work(worker); });

  ASSERT_TRUE(ran) << ran.error().describe();
  std::vector<int> expected;
  for (int i = 0; i < rounds; ++i) expected.push_back(i);
  EXPECT_EQ(program.heard, expected);
  EXPECT_GT(program.told, 0);
  EXPECT_GE(program.registry.stats().resumed, static_cast<std::uint64_t>(rounds / 2));
}

}  // namespace
}  // namespace keel::sessions::registry_workers_test
