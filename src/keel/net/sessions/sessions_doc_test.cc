// docs/sessions.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "keel/events/bus.h"
#include "keel/net/internal/net_test.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/server.h"
#include "keel/net/run.h"
#include "keel/net/sessions/bus.h"
#include "keel/net/sessions/client.h"
#include "keel/net/sessions/handlers.h"
#include "keel/net/sessions/registry.h"
#include "keel/net/sessions/server.h"
#include "keel/task/scope.h"

namespace keel::sessions_doc_test {
namespace {

// --- The page.

struct Reading {
  static constexpr std::uint16_t message_type = 1;
  std::string room;
  double celsius = 0;
};
struct Alarm {
  static constexpr std::uint16_t message_type = 2;
  std::string room;
};

struct Store {
  std::map<std::string, double> last;
  Task<> add(Reading reading) {
    last[reading.room] = reading.celsius;
    co_return;
  }
};

void add_handlers(sessions::Handlers& handlers, Store& store) {
  handlers.on<Reading>([&](sessions::Session&, Reading reading) -> Task<> { co_await store.add(std::move(reading)); });
}

Task<std::string> who_is_it(const sessions::Greeting& client) {
  if (client.credentials != "key") co_await fail(Code::Unauthenticated, "the key is wrong");
  co_return std::string(client.name);  // the name of the session
}

Task<> serve(Worker& worker, sessions::Registry& registry, const sessions::Handlers& handlers) {
  sessions::Server sessions(registry, handlers, {.session = {}, .expiry = 10_min, .authenticate = &who_is_it});
  const messages::Handlers requests;  // beside the sessions; here none
  messages::ServerOptions options;
  options.on_open = [&](messages::Peer& peer) { sessions.open(peer); };
  messages::Server server(requests, std::move(options));
  Listener listener = co_await worker.listen(*Address::parse("127.0.0.1:0"));
  co_await server.serve(listener, worker.stopping());
  co_await sessions.stop();
}

Task<> device(Address server, const sessions::Handlers& handlers) {
  sessions::ClientOptions options{.servers = {server}, .name = "kitchen", .credentials = "key"};
  sessions::Client client(handlers, std::move(options));
  Scope running;
  running.spawn(client.run(), OnError::Ignore);  // connects, and does so again
  const Reading reading{"kitchen", 21.5};
  co_await client->send(reading);   // before it is connected as well
  co_await client->acknowledged();  // the server's handler has ended
  client->end(Error(Code::Cancelled, "switched off"));
  co_await running.join();
}

void watch(sessions::Handlers& handlers, std::vector<std::string>& lines) {
  handlers.on_event([&](sessions::Session&, const sessions::SessionEvent& event) {
    using Kind = sessions::SessionEvent::Kind;
    switch (event.kind) {
      case Kind::Connected:
      case Kind::Resumed:
        return lines.push_back("connected");
      case Kind::Lost:
        return lines.push_back(std::to_string(event.lost) + " lost, " + std::to_string(event.unconfirmed) + " unsure");
      case Kind::Ended:
        return lines.push_back("ended: " + std::string(event.reason->message()));
    }
  });
}

void tell_all(sessions::Registry& registry) {
  registry.broadcast(Alarm{"kitchen"}, {.when_full = sessions::WhenFull::DropOldest});
}

// --- What the page does not show.

using SessionsDoc = keel::internal::NetTest;
INSTANTIATE_TEST_SUITE_P(, SessionsDoc, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(SessionsDoc, does_what_it_says) {
  sessions::Registry registry;
  sessions::Handlers on_server, on_device;
  Store store;
  add_handlers(on_server, store);
  [[maybe_unused]] const auto in_a_program = &serve;
  std::vector<std::string> lines;
  watch(on_device, lines);
  std::optional<sessions::Server> sessions;
  sessions.emplace(registry, on_server, sessions::ServerOptions{.session = {}, .authenticate = &who_is_it});
  const messages::Handlers requests;
  messages::ServerOptions options;
  options.on_open = [&](messages::Peer& peer) { sessions->open(peer); };
  std::optional<messages::Server> server;
  server.emplace(requests, std::move(options));
  Listener listener = listen();
  Event stopping;
  Start<void> serving;
  serving.begin(server->serve(listener, stopping), [](StartCore&) noexcept {});
  tell_all(registry);

  EXPECT_TRUE(run(device(listener.address(), on_device)));

  EXPECT_EQ(store.last["kitchen"], 21.5);
  EXPECT_EQ(lines, (std::vector<std::string>{"connected", "ended: switched off"}));
  stopping.set();
  ASSERT_TRUE(until([&] { return serving.has_ended(); }));
  EXPECT_TRUE(serving.take());
  server.reset();
  EXPECT_TRUE(run(sessions->stop()));
  sessions.reset();
}

TEST(SessionsPage, has_events_of_a_bus) {
  sessions::Registry registry;
  sessions::Handlers handlers;
  events::Bus bus;
  events::Subscription alarms =
      sessions::broadcast_events<Alarm>(bus, registry, {.when_full = sessions::WhenFull::DropOldest});
  sessions::publish_messages<Reading>(handlers, bus);
  bus.publish(Alarm{"kitchen"});
  EXPECT_EQ(bus.stats<Alarm>().delivered, 1u);
}

}  // namespace
}  // namespace keel::sessions_doc_test
