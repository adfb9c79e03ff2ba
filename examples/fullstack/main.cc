// A whole service: contract of users.h and data.h, SQLite, logs, metrics, health, drain.

#include "data.h"
#include "keel/app/app.h"
#include "users.h"

using namespace keel;

namespace {

http::Response health(http::Request&) {
  return http::Response::text(http::Status::Ok, R"({"status":"ok"})", "application/json");
}

}  // namespace

int main(int argc, char** argv) {
  auto config = app::load_or_exit("fullstack", argc, argv);
  app::App app("fullstack", config);
  Users users(app.database());
  Data data(app.database());
  http::Router router;
  router.get("/health", health);
  users.mount(router);
  data.mount(router);
  app.serve(router);
  return app.run();
}
