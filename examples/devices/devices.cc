#include "devices.h"

#include "keel/base/constant_time.h"
#include "keel/db/database.h"

namespace devices {
struct Stored {
  double celsius = 0;
  std::int64_t readings = 0;
};

// Devices connect to the address in network.messages.
Devices::Devices(app::App& app)
    : settings_(app.settings<Settings>().devices),
      database_(app.database()),
      sessions_(app.sessions(handlers_, {.authenticate = [this](auto& device) { return who_is_it(device); }})) {
  handlers_.on<Reading>([this](sessions::Session& device, Reading reading) { return keep(device, reading); });
  router_.get("/devices/{name}", *this, &Devices::last);
  app.serve(router_);
}

Task<std::string> Devices::who_is_it(const sessions::Greeting& device) const {
  if (constant_time_equal(device.credentials, settings_.key.reveal())) co_return std::string(device.name);
  co_return fail(Code::Unauthenticated, "the key is wrong");
}

// A reading is acknowledged only after it is stored, so an acknowledged reading is never lost. The device's next
// reading waits until this reading is stored.
Task<> Devices::keep(sessions::Session& device, Reading reading) {
  const std::string name(device.name());
  co_await database_.execute(
      "insert into devices (name, celsius) values ($1, $2) on conflict (name) do update set celsius = "
      "excluded.celsius, readings = readings + 1",
      name, reading.celsius);
  if (reading.celsius > settings_.alarm_celsius)
    sessions_.broadcast(Alarm{name, reading.celsius}, {.when_full = sessions::WhenFull::DropOldest});
}

Task<http::Response> Devices::last(http::Request& request) {
  const std::string name(co_await request.path_param<std::string_view>("name"));
  const auto stored =
      co_await database_.query_optional<Stored>("select celsius, readings from devices where name = $1", name);
  if (!stored) co_await fail(Code::NotFound, "no device of this name has said anything");
  co_return http::Response::json(*stored);
}

}  // namespace devices
