// The server under measurement: /plaintext and /json as the peers have them, and the full-stack example's users.

#include "data.h"
#include "keel/app/app.h"
#include "users.h"

using namespace keel;

namespace {

struct Message {};
void write_json(json::Writer& out, const Message&) {
  out.begin_object();
  out.key("message").string("Hello, World!");
  out.end_object();
}

http::Response plaintext(http::Request&) {
  return http::Response::text(http::Status::Ok, "Hello, World!", "text/plain");
}
http::Response message(http::Request&) { return http::Response::json(http::Status::Ok, Message{}); }

struct BenchSettings : app::Settings {
  BenchSettings() { database.migrations = KEEL_MIGRATIONS; }
};

}  // namespace

int main(int argc, char** argv) {
  auto config = app::load_or_exit<BenchSettings>("bench_service", argc, argv);
  app::App app("bench_service", config);
  Users users(app.database());
  Data data(app.database());
  http::Router router;
  router.get("/plaintext", plaintext).get("/json", message);
  users.mount(router);
  data.mount(router);
  app.serve(router);
  return app.run();
}
