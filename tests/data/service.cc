// The service whose database suites.py takes away: an App on SQLite or PostgreSQL, with each kind of statement.
//
//   GET  /rows/{id}     the id, read from the table; 404 without it
//   POST /rows/{id}     one insert
//   POST /grouped/{id}  one that may share its commit with others
//   POST /pairs/{id}    a transaction: the id, and the id + 1,000,000,000
//   POST /slow/{ms}     a statement that takes this long, with a connection of its own (PostgreSQL)
//
// Nothing keeps a row from being there twice: whoever counts the rows sees a statement that was run twice.

#include <cstdint>
#include <string>

#include "keel/app/app.h"

using namespace keel;

namespace {

class Rows {
 public:
  explicit Rows(db::Session& session) : session_(session) {}
  void mount(http::Router& router) {
    router.get("/rows/{id}", *this, &Rows::find)
        .post("/rows/{id}", *this, &Rows::add)
        .post("/grouped/{id}", *this, &Rows::add_grouped)
        .post("/pairs/{id}", *this, &Rows::add_pair)
        .post("/slow/{ms}", *this, &Rows::wait);
  }

 private:
  static http::Response created() { return http::Response::text(http::Status::Created, "created", "text/plain"); }

  Task<http::Response> find(http::Request& request) {
    const auto id = co_await request.path_param<std::int64_t>("id");
    const auto found = co_await session_.query_optional<std::int64_t>("select id from rows where id = $1", id);
    if (!found) co_return fail(Code::NotFound, "no such row");
    co_return http::Response::text(http::Status::Ok, std::to_string(*found), "text/plain");
  }
  Task<http::Response> add(http::Request& request) {
    const auto id = co_await request.path_param<std::int64_t>("id");
    co_await session_.execute("insert into rows (id, kind) values ($1, $2)", id, "single");
    co_return created();
  }
  Task<http::Response> add_grouped(http::Request& request) {
    const auto id = co_await request.path_param<std::int64_t>("id");
    co_await session_.execute("insert into rows (id, kind) values ($1, $2) -- group\n", id, "grouped");
    co_return created();
  }
  Task<http::Response> add_pair(http::Request& request) {
    const auto id = co_await request.path_param<std::int64_t>("id");
    db::Transaction transaction = co_await session_.begin();
    co_await transaction.execute("insert into rows (id, kind) values ($1, $2)", id, "pair");
    co_await transaction.execute("insert into rows (id, kind) values ($1, $2)", id + 1'000'000'000, "pair");
    co_await transaction.commit();
    co_return created();
  }
  Task<http::Response> wait(http::Request& request) {
    const auto ms = co_await request.path_param<std::int64_t>("ms");
    co_await session_.execute("select pg_sleep($1::float8 / 1000) -- volatile\n", ms);
    co_return created();
  }

  db::Session& session_;
};

struct Settings : app::Settings {
  Settings() { database.migrations = KEEL_DATA_MIGRATIONS; }
};

}  // namespace

int main(int argc, char** argv) {
  auto config = app::load_or_exit<Settings>("data_service", argc, argv);
  app::App app("data_service", config);
  Rows rows(app.database());
  http::Router router;
  rows.mount(router);
  app.serve(router);
  return app.run();
}
