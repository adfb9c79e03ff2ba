// Messages, sessions and pools of an application in a simulation.

#include <gtest/gtest.h>

#include "keel/app/testing/test_app.h"
#include "keel/http/server/router.h"
#include "keel/net/messages/client.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/server.h"
#include "keel/net/messages/shared_pool.h"
#include "keel/net/sessions/client.h"
#include "keel/net/sessions/handlers.h"
#include "keel/net/sessions/registry.h"
#include "keel/net/sessions/server.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::app::app_messages_test {
namespace {

struct Add {
  static constexpr std::uint16_t message_type = 1;
  int a = 0, b = 0;
};
struct Sum {
  int value = 0;
};
struct Reading {
  static constexpr std::uint16_t message_type = 2;
  double celsius = 0;
};

class Rooms {
 public:
  explicit Rooms(App& app) : rooms_(app.message_pool("rooms")), sessions_(app.sessions(of_sessions_)) {
    handlers_.on<Add>([](messages::Peer&, Add add) { return Sum{add.a + add.b}; });
    of_sessions_.on<Reading>([this](sessions::Session&, Reading) { ++readings; });
    app.messages(handlers_);
    router_.get("/sum", *this, &Rooms::sum);
    app.serve(router_);
  }
  Task<http::Response> sum(http::Request&) {
    const Sum sum = co_await rooms_.request<Sum>(Add{2, 3}, messages::Pool::Repeat::Idempotent);
    co_return http::Response::json(sum);
  }
  int readings = 0;

 private:
  messages::Handlers handlers_;
  sessions::Handlers of_sessions_;
  messages::SharedPool& rooms_;
  sessions::Registry& sessions_;
  http::Router router_;
};

class SimulatedRooms : public testing::Test {
 protected:
  TestApp<Rooms> app{
      {.settings = {"network.pools.rooms.endpoints=[10.0.0.1:7000]", "network.pools.rooms.connections=2"}}};
};

TEST_F(SimulatedRooms, are_asked_through_their_pool_before_and_after_a_restart) {
  EXPECT_EQ(app.get("/sum").body(), R"({"value":5})") << app.log();
  app.restart();
  EXPECT_EQ(app.get("/sum").body(), R"({"value":5})") << app.log();
  http::TestClient admin(app.admin());
  const std::string page(admin.get("/admin/message_pools").body());
  EXPECT_NE(page.find("\"name\":\"rooms\",\"endpoints\":[\"10.0.0.1:7000\"],\"tls\":false"), std::string::npos) << page;
  EXPECT_NE(std::string(admin.get("/admin/messages?format=text").body()).find("messages at 10.0.0.1:7000\nworker 0: "),
            std::string::npos);
}

Task<> send_readings(Address server, bool& is_over) {
  sessions::Handlers none;
  sessions::ClientOptions options{.servers = {server}, .name = "kitchen"};
  sessions::Client client(none, std::move(options));
  Scope running;
  running.spawn(client.run(), OnError::Ignore);
  co_await client->send(Reading{20});
  co_await client->acknowledged();
  is_over = true;
  client->end(Error(Code::Cancelled, "switched off"));
  co_await running.join();
}

TEST_F(SimulatedRooms, have_sessions_of_the_same_connections) {
  bool is_over = false;
  const Address server = app.app().messages_address();
  EXPECT_EQ(server.to_string(), "10.0.0.1:7000");
  ASSERT_TRUE(app.run(send_readings(server, is_over)));
  EXPECT_TRUE(is_over);
  EXPECT_EQ(app.service().readings, 1);
}

}  // namespace
}  // namespace keel::app::app_messages_test
