#include "devices.h"

#include "keel/base/constant_time.h"
#include "keel/db/database.h"
#include "keel/net/messages/server.h"

namespace devices {
struct Stored {
  double celsius = 0;
  std::int64_t readings = 0;
};

Devices::Devices(app::App& app)
    : settings_(app.settings<Settings>().devices), database_(app.database()), registry_({.metrics = &app.metrics()}) {
  handlers_.on<Reading>([this](sessions::Session& device, Reading reading) { return keep(device, reading); });
  app.background("devices", [this] { return serve(); });
  app.admin_page({.path = "/admin/sessions",
                  .json = [this](Buffer& out) { sessions::write_sessions_json(out, registry_); },
                  .text = [this](Buffer& out) { sessions::write_sessions_text(out, registry_); }});
  router_.get("/devices/{name}", *this, &Devices::last);
  app.serve(router_);
}

Task<> Devices::serve() {
  sessions::ServerOptions options;
  options.expiry = 10_min;
  options.authenticate = [this](const sessions::Greeting& device) { return who_is_it(device); };
  sessions::Server sessions(registry_, handlers_, std::move(options));
  messages::ServerOptions of_messages;
  of_messages.on_open = [&](messages::Peer& peer) { sessions.open(peer); };
  messages::Server server(requests_, std::move(of_messages));
  Listener listener = co_await Listener::bind(co_await Address::parse(settings_.listen));
  address_ = listener.address();
  Event never;
  const Result<> served = co_await attempt(server.serve(listener, never));  // Until the service stops.
  co_await sessions.stop();
}

Task<std::string> Devices::who_is_it(const sessions::Greeting& device) const {
  if (constant_time_equal(device.credentials, settings_.key.reveal())) co_return std::string(device.name);
  co_return fail(Code::Unauthenticated, "the key is wrong");
}

// The device's next reading waits until this one is stored, and is acknowledged then: what is lost is never one of
// these.
Task<> Devices::keep(sessions::Session& device, Reading reading) {
  const std::string name(device.name());
  co_await database_.execute(
      "insert into devices (name, celsius) values ($1, $2) on conflict (name) do update set celsius = "
      "excluded.celsius, "
      "readings = readings + 1",
      name, reading.celsius);
  if (reading.celsius > settings_.alarm_celsius)
    registry_.broadcast(Alarm{name, reading.celsius}, {.when_full = sessions::WhenFull::DropOldest});
}

Task<http::Response> Devices::last(http::Request& request) {
  const std::string name(co_await request.path_param<std::string_view>("name"));
  const auto stored =
      co_await database_.query_optional<Stored>("select celsius, readings from devices where name = $1", name);
  if (!stored) co_await fail(Code::NotFound, "no device of this name has said anything");
  co_return http::Response::json(*stored);
}

}  // namespace devices
