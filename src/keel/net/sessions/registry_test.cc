// Sessions of several workers: in a simulation, whose loops take turns by its seed.

#include "keel/net/sessions/registry.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "keel/base/host.h"
#include "keel/io/testing/simulation.h"
#include "keel/net/listener.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/server.h"
#include "keel/net/sessions/internal/sessions_test.h"
#include "keel/net/sessions/server.h"
#include "keel/observe/metric.h"

namespace keel::sessions::registry_test {
namespace {

using testing::Text;

// Two workers, each with an address of its own, and a client on a third loop.
class Workers : public ::testing::Test {
 protected:
  struct OfWorker {
    explicit OfWorker(Workers& t) : loop(t.simulation.add_loop()) {
      const io::Loop::Entered entered(loop);
      listener.emplace(*Listener::bind(Address::parse("127.0.0.1:0").value()));
      sessions.emplace(t.registry, t.handlers, ServerOptions{});
      messages::ServerOptions options;
      options.drain = 1_ms;
      options.on_open = [this](messages::Peer& peer) { sessions->open(peer); };
      messages.emplace(t.requests, std::move(options));
      serving.begin(messages->serve(*listener, stopping), [](StartCore&) noexcept {});
    }
    io::Loop& loop;
    std::optional<Listener> listener;
    std::optional<Server> sessions;
    std::optional<messages::Server> messages;
    keel::Event stopping;
    Start<void> serving, ending;
  };

  Workers() {
    handlers.on<Text>([this](Session&, const Text& text) { heard.push_back(text.text); })
        .on<testing::Slow>([this](Session&, testing::Slow slow) -> Task<> {
          co_await sleep_for(50_ms);
          heard.push_back("slow " + std::to_string(slow.number));
        })
        .on_event([this](Session&, const SessionEvent& event) { events.push_back(testing::to_string(event)); });
    client_handlers.on<Text>([this](Session&, const Text& text) { client_heard.push_back(text.text); });
    for (auto& worker : workers) worker = std::make_unique<OfWorker>(*this);
    ClientOptions options;
    for (const auto& worker : workers) options.servers.push_back(worker->listener->address());
    options.name = "kitchen";
    options.reconnect_min = 1_ms;
    const io::Loop::Entered entered(client_loop);
    client.emplace(client_handlers, options);
    running.begin(client->run(), [](StartCore&) noexcept {});
  }
  ~Workers() override {
    running.is_running() ? on_client([&] { running.stop(); }) : static_cast<void>(0);
    EXPECT_TRUE(until([&] { return !running.is_running(); }));
    on_client([&] {
      if (running.has_ended()) static_cast<void>(running.take());
      client.reset();
    });
    for (const auto& worker : workers) {
      on(worker->loop, [&] { worker->stopping.set(); });
      EXPECT_TRUE(until([&] { return worker->serving.has_ended(); }));
      on(worker->loop, [&] {
        static_cast<void>(worker->serving.take());
        worker->messages.reset();
        worker->ending.begin(worker->sessions->stop(), [](StartCore&) noexcept {});
      });
      EXPECT_TRUE(until([&] { return worker->ending.has_ended(); }));
      on(worker->loop, [&] {
        static_cast<void>(worker->ending.take());
        worker->sessions.reset();
        worker->listener.reset();
      });
    }
    simulation.run_until([] { return false; }, 100_ms);
  }
  template <class F>
  static void on(io::Loop& loop, F f) {
    const io::Loop::Entered entered(loop);
    f();
  }
  template <class F>
  void on_client(F f) {
    on(client_loop, f);
  }
  template <class F>
  bool until(F done) {
    return simulation.run_until(done, 60_s);
  }
  OfWorker& home() { return *workers[workers[0]->sessions->sessions() != 0 ? 0 : 1]; }
  Session& session() { return *home().sessions->find((*client)->number()); }
  void cut() {
    OfWorker& at = home();
    on(at.loop, [&] { session().peer()->close(Error(Code::Unavailable, "cut")); });
  }
  void say(std::string text) {
    on_client([&] { ASSERT_TRUE((*client)->send(Text{text})); });
  }

  sim::Simulation simulation;
  metrics::Registry metrics;
  Registry registry{{.sessions_max = 2, .metrics = &metrics}};
  Handlers handlers, client_handlers;
  messages::Handlers requests;
  std::vector<std::string> heard, client_heard, events;
  std::unique_ptr<OfWorker> workers[2];
  io::Loop& client_loop = simulation.add_loop();
  std::optional<Client> client;
  Start<void> running;
};

TEST_F(Workers, hand_a_session_over_to_the_worker_that_its_client_comes_back_to) {
  ASSERT_TRUE(until([&] { return (*client)->is_connected(); }));
  const std::uint64_t number = (*client)->number();
  int moved = 0;
  for (int i = 0; i < 6; ++i) {
    const OfWorker* const before = &home();
    say(std::to_string(2 * i));
    cut();
    say(std::to_string(2 * i + 1));
    ASSERT_TRUE(until([&] { return (*client)->stats().resumed == static_cast<std::uint64_t>(i + 1); }));
    moved += &home() != before ? 1 : 0;
    on(home().loop, [&] { ASSERT_TRUE(session().send(Text{std::to_string(i)})); });
  }

  ASSERT_TRUE(until([&] { return heard.size() == 12 && client_heard.size() == 6; }));

  EXPECT_EQ(heard, (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"}));
  EXPECT_EQ(client_heard, (std::vector<std::string>{"0", "1", "2", "3", "4", "5"}));
  EXPECT_EQ(moved, 6) << "the client takes the servers in turn";
  EXPECT_EQ((*client)->number(), number);
  EXPECT_EQ(workers[0]->sessions->sessions() + workers[1]->sessions->sessions(), 1u);
  EXPECT_EQ(registry.stats().resumed, 6u);
  EXPECT_EQ(registry.stats().connected, 1u);
  EXPECT_EQ(registry.stats().ring_bytes, registry.list().at(0).ring_bytes);
}

TEST_F(Workers, count_what_waits_for_a_client_that_is_away) {
  ASSERT_TRUE(until([&] { return (*client)->is_connected(); }));
  cut();
  ASSERT_TRUE(until([&] { return registry.stats().connected == 0; }));

  on(home().loop, [&] {
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(registry.send((*client)->number(), Text{"x"}));
  });

  EXPECT_GE(registry.stats().ring_bytes, 3u * 64);
  EXPECT_EQ(registry.list().at(0).ring_bytes, registry.stats().ring_bytes);
  ASSERT_TRUE(until([&] { return client_heard.size() == 3 && registry.stats().ring_bytes == 0; }));
  EXPECT_EQ(registry.stats().connected, 1u);
  on_client([&] { ASSERT_TRUE(registry.kick((*client)->number(), Error(Code::Cancelled, "enough"))); });
  ASSERT_TRUE(until([&] { return registry.stats().sessions == 0; }));
  EXPECT_EQ(registry.stats().connected, 0u);
}

TEST_F(Workers, give_a_session_each_message_once_that_is_sent_while_it_moves) {
  ASSERT_TRUE(until([&] { return (*client)->is_connected(); }));
  const std::uint64_t number = (*client)->number();
  io::Loop* const callers[] = {&client_loop, &workers[0]->loop, &workers[1]->loop};
  std::size_t sent = 0;
  for (std::uint64_t moves = 1; moves <= 6; ++moves) {
    cut();
    const std::size_t before = sent;
    ASSERT_TRUE(until([&] {
      if ((*client)->stats().resumed == moves) return true;
      if (sent - before >= 400) return false;  // The ring has room for these.
      on(*callers[sent % 3], [&] {
        registry.broadcast(Text{"all " + std::to_string(sent)});
        ASSERT_TRUE(registry.send(number, Text{"one " + std::to_string(sent)}));
      });
      ++sent;
      return false;
    }));
    simulation.run_until([&] { return client_heard.size() >= 2 * sent && registry.stats().ring_bytes == 0; }, 10_s);
  }

  simulation.run_until([] { return false; }, 100_ms);

  EXPECT_EQ(client_heard.size(), 2 * sent);
  EXPECT_EQ(std::set<std::string>(client_heard.begin(), client_heard.end()).size(), 2 * sent);
  EXPECT_GT(sent, 50u);
}

struct World final : Workers {
  void TestBody() override {}
  // So many steps of the simulation after its connection was closed.
  bool ends_when_kicked_after(int steps) {
    if (!until([&] { return (*client)->is_connected(); })) return false;
    const std::uint64_t number = (*client)->number();
    cut();
    int done = 0;
    if (!until([&] { return ++done > steps; })) return false;
    Result<> kicked;
    on_client([&] { kicked = registry.kick(number, Error(Code::PermissionDenied, "out")); });
    return kicked && simulation.run_until([&] { return registry.list().empty(); }, 1_s);
  }
  // Outside of an iteration of its loop, after this many steps of the simulation.
  bool is_known_to_be_gone_when_stopped_after(int steps) {
    for (int i = 0; i < steps; ++i) simulation.step();
    on_client([&] { running.stop(); });
    if (!until([&] { return running.has_ended(); })) return false;
    // With the result go the objects of the task, and with them the connection.
    on_client([&] { static_cast<void>(running.take()); });
    simulation.run_until([] { return false; }, 10_ms);
    return simulation.run_until([&] { return registry.stats().connected == 0; }, 1_s);
  }
};

TEST(StoppedClients, are_soon_known_to_be_gone) {
  for (int steps = 0; steps < 150; ++steps) {
    EXPECT_TRUE(World().is_known_to_be_gone_when_stopped_after(steps)) << "after " << steps << " steps";
  }
}

TEST(MovingSessions, end_when_they_are_kicked_at_any_moment) {
  for (int steps = 0; steps < 60; ++steps) {
    World world;
    EXPECT_TRUE(world.ends_when_kicked_after(steps)) << steps << " steps";
  }
}

TEST_F(Workers, let_a_client_begin_again_whose_session_ends_before_it_is_handed_over) {
  ASSERT_TRUE(until([&] { return (*client)->is_connected(); }));
  const std::uint64_t number = (*client)->number();
  on_client([&] { ASSERT_TRUE((*client)->send(testing::Slow{1})); });
  ASSERT_TRUE(until([&] { return session().stats().received == 1; }));
  cut();
  simulation.run_until([] { return false; }, 10_ms);  // The client waits at the other worker.
  EXPECT_FALSE((*client)->is_connected());

  on_client([&] { ASSERT_TRUE(registry.kick(number, Error(Code::PermissionDenied, "out"))); });

  ASSERT_TRUE(simulation.run_until([&] { return (*client)->is_connected(); }, 1_s));
  EXPECT_NE((*client)->number(), number);
  EXPECT_EQ(events, (std::vector<std::string>{"connected", "ended: out", "connected"}));
}

TEST_F(Workers, are_reached_from_anywhere) {
  ASSERT_TRUE(until([&] { return (*client)->is_connected(); }));
  const std::uint64_t number = (*client)->number();
  on_client([&] {  // Which is none of them.
    registry.broadcast(Text{"all"});
    ASSERT_TRUE(registry.send(number, Text{"one"}));
  });
  ASSERT_TRUE(until([&] { return client_heard.size() == 2; }));
  EXPECT_EQ(client_heard, (std::vector<std::string>{"all", "one"}));

  on_client([&] { ASSERT_TRUE(registry.kick(number, Error(Code::PermissionDenied, "out"))); });
  ASSERT_TRUE(until([&] { return running.has_ended(); }));

  EXPECT_TRUE(registry.list().empty());
}

TEST_F(Workers, are_listed_and_counted) {
  ASSERT_TRUE(until([&] { return (*client)->is_connected(); }));
  say("x");
  ASSERT_TRUE(until([&] { return heard.size() == 1 && registry.list().at(0).received == 1; }));

  const SessionInfo info = registry.list().at(0);
  EXPECT_EQ(info.name, "kitchen");
  EXPECT_EQ(info.number, (*client)->number());
  EXPECT_TRUE(info.is_connected);
  EXPECT_TRUE(info.address.starts_with("127.0.0.1:")) << info.address;
  EXPECT_EQ(info.worker, home().loop.index());
  EXPECT_TRUE(registry.list(0).empty());
  double begun = 0;
  metrics::Reading reading;
  metrics.read(reading, [&](std::span<const metrics::Family> families) {
    for (const metrics::Family& family : families) begun += family.name == "sessions_begun_total" ? 1 : 0;
  });
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(registry.stats().begun, 1u);
}

TEST_F(Workers, reject_more_sessions_than_they_may_have) {
  ASSERT_TRUE(until([&] { return (*client)->is_connected(); }));
  std::vector<std::unique_ptr<Client>> others;
  std::vector<std::unique_ptr<Start<void>>> runs;
  on_client([&] {
    for (int i = 0; i < 2; ++i) {
      ClientOptions options;
      options.servers = {workers[0]->listener->address()};
      options.name = std::to_string(i);
      others.push_back(std::make_unique<Client>(client_handlers, options));
      runs.push_back(std::make_unique<Start<void>>());
      runs.back()->begin(others.back()->run(), [](StartCore&) noexcept {});
    }
  });
  ASSERT_TRUE(until([&] { return registry.stats().rejected >= 1; }));
  EXPECT_EQ(registry.stats().sessions, 2u);
  EXPECT_FALSE(runs[0]->has_ended() || runs[1]->has_ended()) << "there may be room later";

  on_client([&] { (*client)->end(Error(Code::Cancelled, "room for another")); });
  EXPECT_TRUE(until([&] { return (*others[0])->is_connected() && (*others[1])->is_connected(); }));
  on_client([&] {
    for (auto& run : runs) run->stop();
  });
  EXPECT_TRUE(until([&] { return runs[0]->has_ended() && runs[1]->has_ended(); }));
  on_client([&] {
    for (auto& run : runs) static_cast<void>(run->take());
    others.clear();
  });
}

}  // namespace
}  // namespace keel::sessions::registry_test
