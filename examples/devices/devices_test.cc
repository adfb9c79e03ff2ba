// 1,000 devices and their service as production runs it, in virtual time, on a network that cuts their connections.

#include "devices.h"

#include <gtest/gtest.h>
#include "keel/app/testing/test_app.h"
#include "keel/net/sessions/client.h"
#include "keel/task/scope.h"

namespace devices::devices_test {
struct Heard {
  std::uint64_t alarms = 0, resumed = 0;
};

// Says 1, 2, 3, 4 and one more. When it ends the service has stored all of them.
Task<> run_device(sessions::ClientOptions options, double last, Heard& heard) {
  sessions::Handlers handlers;
  handlers.on<Alarm>([&](sessions::Session&, const Alarm&) { ++heard.alarms; });
  sessions::Client client(handlers, std::move(options));
  Scope running;
  running.spawn(client.run(), OnError::Ignore);
  for (int i = 1; i <= 5; ++i) {
    co_await client->send(Reading{i == 5 ? last : i});
    co_await sleep_for(200_ms);
  }
  co_await client->acknowledged();
  co_await sleep_for(2_s);  // For alarms that are on their way.
  heard.resumed += client->stats().resumed;
  client->end(Error(Code::Cancelled, "switched off"));
  co_await running.join();
}
Task<> run_devices(Address server, Heard& heard) {
  Scope devices;
  for (int i = 0; i < 1000; ++i) {
    sessions::ClientOptions options{.servers = {server}, .name = "d" + std::to_string(i), .credentials = "key"};
    devices.spawn(run_device(std::move(options), i == 7 ? 70 : 20, heard));
  }
  co_await devices.join();
}

class DevicesService : public ::testing::Test {
 protected:
  DevicesService() { app.advance(1_s); }
  Address address() { return app.app().messages_address(); }
  app::TestApp<Devices, Settings> app{
      {.settings = {"database.migrations=" KEEL_SOURCE_DIR "/examples/devices/db/migrations", "devices.key=key",
                    "network.messages.sessions.expiry_sec=600"},
       .simulation = {.reset = 0.5}}};
  Heard heard;
};

TEST_F(DevicesService, stores_each_reading_of_1000_devices_whose_connections_break_and_tells_all_of_an_alarm) {
  const Result<> ran = app.run(Task<>(with_timeout(600_s, run_devices(address(), heard))));
  ASSERT_TRUE(ran) << ran.error().describe() << app.replay();
  for (int i = 0; i < 1000; ++i) {
    const std::string body(app.get("/devices/d" + std::to_string(i)).body());
    ASSERT_EQ(body, i == 7 ? R"({"celsius":70,"readings":5})" : R"({"celsius":20,"readings":5})") << i;
  }
  EXPECT_EQ(heard.alarms, 1000u);
  EXPECT_GT(heard.resumed, 100u);
  EXPECT_EQ(app.get("/devices/d1000").status(), 404);
}

TEST_F(DevicesService, rejects_a_device_with_another_key) {
  sessions::ClientOptions options{.servers = {address()}, .name = "d1", .credentials = "guess"};
  EXPECT_EQ(app.run(run_device(std::move(options), 1, heard)).error().message(),
            "the session has ended: the key is wrong");
}
}  // namespace devices::devices_test
