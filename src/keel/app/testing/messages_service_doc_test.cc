// docs/messages_service.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "keel/app/testing/test_app.h"
#include "keel/net/messages/client.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/server.h"
#include "keel/net/messages/shared_pool.h"
#include "keel/net/sessions/client.h"
#include "keel/net/sessions/handlers.h"
#include "keel/net/sessions/registry.h"
#include "keel/net/sessions/server.h"
#include "keel/task/scope.h"

namespace keel::messages_service_doc_test {
namespace {

struct Reading {
  static constexpr std::uint16_t message_type = 1;
  double celsius = 0;
};
struct Average {
  static constexpr std::uint16_t message_type = 2;
  std::string room;
};
struct Celsius {
  double value = 0;
};
struct Alarm {
  static constexpr std::uint16_t message_type = 3;
  std::string room;
};

class Temperatures {
 public:
  void keep(std::string_view room, double celsius) {
    const std::lock_guard lock(mutex_);
    all_[std::string(room)] = celsius;
  }
  double of(const std::string& room) {
    const std::lock_guard lock(mutex_);
    return all_[room];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, double> all_;
};

class Rooms {
 public:
  explicit Rooms(app::App& app)
      : sessions_(app.sessions(of_sessions_, {.authenticate = &who_is_it})), halls_(app.message_pool("halls")) {
    of_sessions_.on<Reading>([this](sessions::Session& device, Reading reading) { hear(device.name(), reading); });
    requests_.on<Average>([this](messages::Peer&, Average of) -> Task<Celsius> { return average(std::move(of)); });
    app.messages(requests_);
  }

 private:
  // Who may have a session, and its name. Over TLS with certificates: client.peer.identity().
  static Task<std::string> who_is_it(const sessions::Greeting& client) {
    if (client.credentials != "key") co_await fail(Code::Unauthenticated, "the key is wrong");
    co_return std::string(client.name);
  }

  Task<Celsius> average(Average of) {
    if (of.room == "hall") co_return co_await halls_.request<Celsius>(of, messages::Pool::Repeat::Idempotent);
    co_return Celsius{last_.of(of.room)};
  }

  void hear(std::string_view room, Reading reading) {
    last_.keep(room, reading.celsius);
    if (reading.celsius > 60) sessions_.broadcast(Alarm{std::string(room)});
  }

  Temperatures last_;
  messages::Handlers requests_;
  sessions::Handlers of_sessions_;
  sessions::Registry& sessions_;
  messages::SharedPool& halls_;
};

Task<double> ask(Address server, std::string room) {
  messages::Client client = co_await messages::Client::connect(server);
  const Average of{room};
  const Celsius celsius = co_await client->request<Celsius>(of);
  co_await client.close();
  co_return celsius.value;
}

Task<> tell(Address server, double celsius, std::string key, std::string& alarm) {
  sessions::Handlers handlers;
  handlers.on<Alarm>([&](sessions::Session&, const Alarm& heard) { alarm = heard.room; });
  sessions::ClientOptions options{.servers = {server}, .name = "kitchen", .credentials = std::move(key)};
  sessions::Client client(handlers, std::move(options));
  Scope running;
  running.spawn(client.run(), OnError::Ignore);
  static_cast<void>(client->send(Reading{celsius}));
  co_await client->acknowledged();
  co_await sleep_for(1_s);
  client->end(Error(Code::Cancelled, "done"));
  co_await running.join();
}

// Nobody serves the halls.
class RoomsService : public testing::Test {
 protected:
  app::TestApp<Rooms> app{
      {.settings = {"network.pools.halls.endpoints=[10.0.0.9:7000]", "network.pools.halls.max_attempts=1",
                    "network.messages.sessions.expiry_sec=600"}}};
  std::string alarm;
};

TEST_F(RoomsService, keeps_what_devices_say_and_answers_requests) {
  const Address server = app.app().messages_address();
  ASSERT_TRUE(app.run(tell(server, 21.5, "key", alarm))) << app.log();
  EXPECT_EQ(app.run(ask(server, "kitchen")).value(), 21.5);
  EXPECT_EQ(alarm, "");
  ASSERT_TRUE(app.run(tell(server, 70, "key", alarm)));
  EXPECT_EQ(alarm, "kitchen");
}

TEST_F(RoomsService, rejects_what_it_may_not_or_cannot_serve) {
  const Address server = app.app().messages_address();
  EXPECT_EQ(app.run(tell(server, 21.5, "guess", alarm)).error().message(), "the session has ended: the key is wrong");
  EXPECT_EQ(app.run(ask(server, "hall")).error().code(), Code::Unavailable);
}

}  // namespace
}  // namespace keel::messages_service_doc_test
