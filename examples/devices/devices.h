// Devices report temperatures and receive alarms; this service has a session for each device, and stores the last
// reading of each device in a database.

#pragma once

#include "keel/app/app.h"
#include "keel/http.h"
#include "keel/net/sessions/handlers.h"
#include "keel/net/sessions/registry.h"
#include "keel/net/sessions/server.h"

namespace devices {

using namespace keel;

struct Reading {  // Sent by a device.
  static constexpr std::uint16_t message_type = 1;
  double celsius = 0;
};
struct Alarm {  // Sent to all devices.
  static constexpr std::uint16_t message_type = 2;
  std::string device;
  double celsius = 0;
};

struct DevicesSettings {
  config::Secret key;  // The key that devices must present.
  double alarm_celsius = 60;
  void rules(Check& check) const {
    check(key).satisfies([](auto& secret) { return !secret.empty(); }, "is needed: set KEEL_DEVICES__KEY");
  }
};
struct Settings : app::Settings {
  DevicesSettings devices;
  void fields(config::Schema& v) {
    app::Settings::fields(v);
    config::field(v, "devices", devices, "what devices show, and when they are too warm");
  }
};

class Devices {
 public:
  explicit Devices(app::App& app);
  Task<http::Response> last(http::Request& request);

 private:
  Task<std::string> who_is_it(const sessions::Greeting& device) const;
  Task<> keep(sessions::Session& device, Reading reading);

  const DevicesSettings& settings_;
  db::Database& database_;
  sessions::Handlers handlers_;
  sessions::Registry& sessions_;
  http::Router router_;
};

}  // namespace devices
