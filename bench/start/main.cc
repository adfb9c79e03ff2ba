// What the experiment start-up measures: a service like the full-stack example, with as many of its systems as it is
// told.

#include <optional>

#include "data.h"
#include "keel/app/app.h"
#include "users.h"

using namespace keel;

namespace {

struct StartSettings : app::Settings {
  StartSettings() { database.migrations = KEEL_MIGRATIONS; }
  unsigned systems = 7;
  void fields(config::Schema& v) {
    Settings::fields(v);
    config::field(
        v, "systems", systems,
        "1: loops and a thread pool; 2: logs, 3: database, 4: HTTP server, 5: metrics and the admin listener, "
        "6: health checks, 7: a module of the application's own",
        {1, 7});
  }
};

http::Response hello(http::Request&) { return http::Response::text(http::Status::Ok, "hello"); }

}  // namespace

int main(int argc, char** argv) {
  auto config = app::load_or_exit<StartSettings>("bench_start", argc, argv);
  const unsigned systems = config->systems;
  app::App app("bench_start", config);
  app.pool("background");
  http::Router router;
  std::optional<Users> users;
  std::optional<Data> data;
  if (systems >= 3) {
    users.emplace(app.database()).mount(router);
    data.emplace(app.database()).mount(router);
  }
  router.get("/hello", hello);
  if (systems >= 4) app.serve(router);
  app::Health::Check check;
  if (systems >= 6) {
    check = app.health().add({.name = "example"}, [] { return Result<>(); });
  }
  if (systems >= 7) {
    app.module({.name = "example", .needs = {"connections"}, .start = [] { return Result<>(); }, .stop = [] {}});
  }
  return app.run();
}
