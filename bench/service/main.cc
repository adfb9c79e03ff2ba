// The server under measurement: /plaintext and /json as the peers have them, /bytes/{size}, /busy, which takes 60 us,
// users and data on the full-stack example's tables, and /job, which a thread pool does. Section `bench` of its
// settings fills the table of users before it listens, and makes the disk slower.

#include <optional>
#include <string>
#include <string_view>

#include "data.h"
#include "jobs.h"
#include "keel/app/app.h"
#include "keel/db/sqlite/connection.h"
#include "keel/db/testing/slow_vfs.h"
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

// Costs its worker 60 us, where a refusal costs less than an answer.
http::Response busy(http::Request&) {
  const Instant until = Host::current().precise_now() + 60_us;
  while (Host::current().precise_now() < until) {
  }
  return http::Response::text(http::Status::Ok, "done", "text/plain");
}

constexpr unsigned body_bytes_max = 1024 * 1024;
Result<http::Response> bytes(http::Request& request) {
  static const std::string text(body_bytes_max, 'x');
  KEEL_TRY(const unsigned size, request.path_param<unsigned>("size"));
  if (size > body_bytes_max) return fail(Code::OutOfRange, "a body has at most 1 MiB here");
  return http::Response::text(http::Status::Ok, std::string_view(text).substr(0, size), "text/plain");
}

struct ExtraSettings {
  unsigned users = 0;
  bool jobs = false;
  unsigned sync_delay_us = 0;
  void fields(config::Schema& v) {
    config::field(v, "users", users, "rows of users inserted before it listens", {0, 10'000'000});
    config::field(v, "sync_delay_us", sync_delay_us, "how much longer each sync of the database takes", {0, 1'000'000});
    config::field(v, "jobs", jobs, "whether there is /job, with a thread pool for it");
  }
};

struct BenchSettings : app::Settings {
  BenchSettings() { database.migrations = KEEL_MIGRATIONS; }
  ExtraSettings bench;
  void fields(config::Schema& v) {
    Settings::fields(v);
    config::field(v, "bench", bench, "what the lab's experiments need");
  }
};

// Users 21 to 20 + count, behind the sample users of the migrations, in one transaction.
Result<> insert_users(const std::string& path, unsigned count) {
  KEEL_TRY(auto connection, db::sqlite::Connection::open({.path = path}));
  return connection->run(
      "with recursive filled (id) as (select 21 union all select id + 1 from filled where id < 20 + $1)"
      " insert into users (id, name, email) select id, 'Bench ' || id, 'filled' || id || '@example.com' from filled",
      static_cast<std::int64_t>(count));
}

}  // namespace

int main(int argc, char** argv) {
  auto config = app::load_or_exit<BenchSettings>("bench_service", argc, argv);
  std::optional<db::sqlite::SlowVfs> slow_disk;
  if (config->bench.sync_delay_us != 0) slow_disk.emplace(Duration::microseconds(config->bench.sync_delay_us));
  app::App app("bench_service", config);
  Users users(app.database());
  Data data(app.database());
  if (config->bench.users != 0) {
    if (auto filled = insert_users(config->database.path, config->bench.users); !filled) app.fail_start(filled.error());
  }
  std::optional<Jobs> jobs;
  if (config->bench.jobs) jobs.emplace(app);
  http::Router router;
  router.get("/plaintext", plaintext)
      .get("/json", message)
      .get("/busy", busy)
      .get("/bytes/{size}", bytes)
      .post("/bytes/{size}", bytes);
  users.mount(router);
  data.mount(router);
  if (jobs) jobs->mount(router);
  app.serve(router);
  return app.run();
}
