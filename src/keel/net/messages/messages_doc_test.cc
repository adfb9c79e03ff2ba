// docs/messages.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "keel/exec/inline_executor.h"
#include "keel/net/internal/net_test.h"
#include "keel/net/messages/client.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/message_stream.h"
#include "keel/net/messages/pool.h"
#include "keel/net/messages/server.h"
#include "keel/net/resolver.h"
#include "keel/net/run.h"

namespace keel::messages_doc_test {
namespace {

// --- The page.

struct Reading {
  static constexpr std::uint16_t message_type = 1;  // what the peer knows it by: stays what it is
  std::string room;
  double celsius = 0;
};
struct Average {
  static constexpr std::uint16_t message_type = 2;
  std::string room;
};
struct Celsius {  // a reply needs no number
  double value = 0;
};
struct Alarm {
  static constexpr std::uint16_t message_type = 3;
  std::string room;
};

struct Rooms {
  std::map<std::string, std::vector<double>> all;
  Task<Celsius> average(std::string room) {
    const std::vector<double>& values = all[room];
    if (values.empty()) co_return fail(Code::NotFound, "no readings of this room");
    co_return Celsius{std::reduce(values.begin(), values.end()) / static_cast<double>(values.size())};
  }
};

void add_handlers(messages::Handlers& handlers, Rooms& rooms) {
  handlers.on<Reading>([&](messages::Peer&, Reading reading) { rooms.all[reading.room].push_back(reading.celsius); })
      .on<Average>([&](messages::Peer&, Average of) { return rooms.average(std::move(of.room)); });
}

Task<> serve(Worker& worker, const messages::Handlers& handlers) {
  messages::Server server(handlers);
  Listener listener = co_await worker.listen(*Address::parse("127.0.0.1:0"));
  co_await server.serve(listener, worker.stopping());  // drains when the program is to end
}

Task<double> watch(Address address) {
  messages::Client client = co_await messages::Client::connect(address);
  for (const double celsius : {20.0, 22.0}) {
    const Reading reading{"kitchen", celsius};
    co_await client->send(reading);  // one way; waits while too much is queued
  }
  const Average kitchen{"kitchen"};
  const Celsius now = co_await with_timeout(1_s, client->request<Celsius>(kitchen));
  co_await client.close();  // after what is queued
  co_return now.value;
}

struct History {
  static constexpr std::uint16_t message_type = 4;
  std::string room;
};

void add_streams(messages::Handlers& handlers, Rooms& rooms) {
  handlers.on_stream<History>([&](messages::Peer&, History of, messages::MessageStream out) -> Task<> {
    const std::vector<double> values = rooms.all[of.room];
    for (const double value : values) co_await out.send(Celsius{value});  // waits until the reader has room
  });                                                                     // its end ends the stream
}

Task<double> warmest(messages::Peer& peer) {
  double most = 0;
  const History kitchen{"kitchen"};
  messages::MessageStream values = co_await peer.open(kitchen);
  while (auto celsius = co_await values.receive<Celsius>()) most = std::max(most, celsius->value);
  co_return most;
}

Task<double> ask_one_of(messages::Pool& rooms) {
  const Average kitchen{"kitchen"};
  const Celsius now = co_await rooms.request<Celsius>(kitchen, messages::Pool::Repeat::Idempotent);
  co_return now.value;
}

// --- And what it says.

Task<> serve_one(messages::Server& server, Listener listener, Event& stopping) {
  co_await server.serve(listener, stopping);
}
Task<double> warmest_at(Address address) {
  messages::Client client = co_await messages::Client::connect(address);
  const double most = co_await warmest(*client);
  co_await client.close();
  co_return most;
}

using MessagesDoc = internal::NetTest;
INSTANTIATE_TEST_SUITE_P(, MessagesDoc, internal::every_kind(), internal::name_of_engine);

TEST_P(MessagesDoc, does_what_it_says) {
  Rooms rooms;
  messages::Handlers handlers;
  add_handlers(handlers, rooms);
  add_streams(handlers, rooms);
  messages::Server server(handlers);
  Listener listener = listen();
  const Address address = listener.address();
  Event stopping;
  Start<void> serving;
  serving.begin(serve_one(server, std::move(listener), stopping), [](StartCore&) noexcept {});

  EXPECT_EQ(run(watch(address)).value(), 21.0);
  EXPECT_EQ(run(warmest_at(address)).value(), 22.0);
  {
    InlineExecutor lookups;
    Resolver resolver(lookups);
    messages::Pool pool(resolver, {.endpoints = {address.to_string()}});
    EXPECT_EQ(run(ask_one_of(pool)).value(), 21.0);
    settle();
  }
  stopping.set();
  ASSERT_TRUE(until([&] { return serving.has_ended(); }));
  EXPECT_TRUE(serving.take());
  EXPECT_EQ(messages::message_type_of<Alarm>, 3);
  static_cast<void>(&serve);
}

}  // namespace
}  // namespace keel::messages_doc_test
