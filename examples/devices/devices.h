// Devices that say how warm it is where they are, and hear of alarms: their sessions, and the last values in a
// database.

#pragma once

#include "keel/app/app.h"
#include "keel/http.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/sessions/handlers.h"
#include "keel/net/sessions/registry.h"
#include "keel/net/sessions/server.h"

namespace devices {

using namespace keel;

struct Reading {  // From a device.
  static constexpr std::uint16_t message_type = 1;
  double celsius = 0;
};
struct Alarm {  // To all of them.
  static constexpr std::uint16_t message_type = 2;
  std::string device;
  double celsius = 0;
};

struct DevicesSettings {
  std::string listen = "127.0.0.1:7000";
  config::Secret key;  // What devices show.
  double alarm_celsius = 60;
  void rules(Check& check) const {
    check(key).satisfies([](auto& secret) { return !secret.empty(); }, "is needed: set KEEL_DEVICES__KEY");
  }
};
struct Settings : app::Settings {
  DevicesSettings devices;
  void fields(config::Schema& v) {
    app::Settings::fields(v);
    config::field(v, "devices", devices, "where devices connect, and when they are too warm");
  }
};

class Devices {
 public:
  explicit Devices(app::App& app);
  Task<http::Response> last(http::Request& request);
  Address address() const { return address_; }  // Where devices connect, once the service runs.

 private:
  Task<> serve();
  Task<std::string> who_is_it(const sessions::Greeting& device) const;
  Task<> keep(sessions::Session& device, Reading reading);

  const DevicesSettings& settings_;
  db::Database& database_;
  sessions::Registry registry_;
  sessions::Handlers handlers_;
  messages::Handlers requests_;  // None.
  http::Router router_;
  Address address_;
};

}  // namespace devices
