// Rows of PostgreSQL through HTTP: users as JSON, one, a page of 20, added, replaced and removed; POST /visits; POST
// /single, which has a commit and a connection of its own; and /plaintext to hold them against. Every other write is
// committed before the response with what else is written then.

#include <cstdint>
#include <string_view>
#include <utility>

#include "keel/app/app.h"
#include "keel/data/json_write.h"
#include "keel/http/server/input.h"

using namespace keel;

namespace {

http::Response plaintext(http::Request&) {
  return http::Response::text(http::Status::Ok, "Hello, World!", "text/plain");
}

// Views into the row.
struct User {
  std::int64_t id;
  std::string_view name;
  std::string_view email;
};

// What a client sends.
struct Draft {
  std::string_view name;
  std::string_view email;
};

struct Visit {
  std::string_view page;
  std::int64_t at;
};

class Users {
 public:
  explicit Users(db::Session& session) : session_(session) {}
  void mount(http::Router& router) {
    router.get("/users/{id}", *this, &Users::find)
        .get("/users", *this, &Users::list)
        .post("/users", *this, &Users::create)
        .put("/users/{id}", *this, &Users::replace)
        .del("/users/{id}", *this, &Users::remove)
        .post("/visits", *this, &Users::visit)
        .post("/single", *this, &Users::visit_alone);
  }

 private:
  Task<http::Response> find(http::Request& request) {
    const auto id = co_await request.path_param<std::int64_t>("id");
    http::Response response(http::Status::NotFound);
    auto write = [&](const db::Row& row) {
      response = http::Response::json(http::Status::Ok, User{row.integer(0), row.text(1), row.text(2)});
    };
    const std::size_t found = co_await session_.query("select id, name, email from users where id = $1", write, id);
    if (found == 0) co_return fail(Code::NotFound, "no such user");
    co_return std::move(response);
  }
  Task<http::Response> list(http::Request&) {
    Buffer body;
    json::Writer out(body);
    out.begin_array();
    auto add = [&](const db::Row& row) { json::write(out, User{row.integer(0), row.text(1), row.text(2)}); };
    co_await session_.query("select id, name, email from users where id > $1 order by id limit 20", add, 0);
    out.end_array();
    co_return http::Response::body(http::Status::Ok, std::move(body), "application/json");
  }
  Task<http::Response> create(http::Request& request) {
    const auto draft = co_await request.json<Draft>();
    const db::Written written = co_await session_.execute(
        "insert into users (name, email) values ($name, $email) returning id -- group", draft);
    co_return http::Response::json(http::Status::Created, User{written.last_insert_id, draft.name, draft.email});
  }
  Task<http::Response> replace(http::Request& request) {
    const auto id = co_await request.path_param<std::int64_t>("id");
    const auto draft = co_await request.json<Draft>();
    const db::Written written = co_await session_.execute(
        "update users set name = $1, email = $2 where id = $3 -- group", draft.name, draft.email, id);
    if (written.changes == 0) co_return fail(Code::NotFound, "no such user");
    co_return http::Response::json(http::Status::Ok, User{id, draft.name, draft.email});
  }
  Task<http::Response> remove(http::Request& request) {
    const auto id = co_await request.path_param<std::int64_t>("id");
    const db::Written written = co_await session_.execute("delete from users where id = $1 -- group", id);
    if (written.changes == 0) co_return fail(Code::NotFound, "no such user");
    co_return http::Response(http::Status::NoContent);
  }
  Task<http::Response> visit(http::Request& request) {
    const auto visit = co_await request.json<Visit>();
    co_await session_.execute("insert into visits (page, at) values ($page, $at) -- group", visit);
    co_return http::Response(http::Status::Created);
  }
  Task<http::Response> visit_alone(http::Request& request) {
    const auto visit = co_await request.json<Visit>();
    co_await session_.execute("insert into visits (page, at) values ($page, $at)", visit);
    co_return http::Response(http::Status::Created);
  }
  db::Session& session_;
};

struct Settings : app::Settings {
  Settings() {
    database.type = app::DatabaseType::Postgres;
    database.migrations = "";
  }
};

}  // namespace

int main(int argc, char** argv) {
  auto config = app::load_or_exit<Settings>("bench_postgres_service", argc, argv);
  app::App app("bench_postgres_service", config);
  Users users(app.database());
  http::Router router;
  router.get("/plaintext", plaintext);
  users.mount(router);
  app.serve(router);
  return app.run();
}
