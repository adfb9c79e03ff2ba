#include "users.h"

#include <charconv>
#include <ctime>
#include <optional>

#include "keel/base/host.h"
#include "keel/data/json_write.h"
#include "keel/http/server/input.h"
#include "keel/http/server/problem.h"
#include "keel/task/on_error.h"

using namespace keel;

namespace {

bool looks_like_email(std::string_view text) {
  const std::size_t at = text.find('@');
  return at != std::string_view::npos && at > 0 && at + 1 < text.size() && text.find('@', at + 1) == text.npos &&
         text.find_first_of(" \t\r\n") == text.npos && text.size() <= 254;  // RFC 5321 §4.5.3.1.3, less the brackets.
}

// What a client sends. Views into the request.
struct Draft {
  std::string_view name;
  std::string_view email;
  std::optional<std::int64_t> age;

  void rules(Check& check) const {
    check(name).length(1, 200);
    check(email).satisfies(looks_like_email, "must be an e-mail address");
    check(age).range(0, 150);
  }
};

struct Wanted {
  std::int64_t limit = 20;
  std::int64_t after = 0;

  static constexpr bool optional_fields = true;
  void rules(Check& check) const { check(limit).range(1, 100); }
};

// A user as the client sees it. Views into a row, or into a request.
struct User {
  std::int64_t id;
  std::string_view name;
  std::string_view email;
  std::optional<std::int64_t> age;
  std::string_view created_at;
};

// RFC 3339, in seconds.
class Timestamp {
 public:
  Timestamp() {
    const std::time_t seconds = Host::current().wall_ns() / 1'000'000'000;
    std::tm parts{};
    size_ = std::strftime(text_, sizeof text_, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
  }
  std::string_view view() const { return {text_, size_}; }

 private:
  char text_[32];
  std::size_t size_;
};

// The only unique thing about a user is the address.
std::unexpected<Error> taken() { return fail(Code::Conflict, "email: another user has this address"); }

http::Response no_such_user() { return http::refuse(http::Status::NotFound, "no user has this id"); }

}  // namespace

void Users::mount(http::Router& router) {
  router.get("/api/users", *this, &Users::list)
      .post("/api/users", *this, &Users::create)
      .get("/api/users/{id}", *this, &Users::find)
      .put("/api/users/{id}", *this, &Users::replace)
      .del("/api/users/{id}", *this, &Users::remove);
}

Task<http::Response> Users::list(http::Request& request) {
  const auto wanted = co_await request.query<Wanted>();
  Buffer body;
  json::Writer out(body);
  std::int64_t rows = 0;
  std::int64_t last = 0;
  out.begin_object();
  out.key("items").begin_array();
  auto add = [&](const db::Row& row) {
    if (++rows > wanted.limit) return;  // One more was asked for, to know whether there is a next page.
    const auto user = row.as<User>();
    last = user.id;
    json::write(out, user);
  };
  co_await session_.query("select id, name, email, age, created_at from users where id > $1 order by id limit $2", add,
                          wanted.after, wanted.limit + 1);
  out.end_array();
  out.key("next");
  rows > wanted.limit ? out.integer(last) : out.null();
  out.end_object();
  co_return http::Response::body(http::Status::Ok, std::move(body), "application/json");
}

Task<http::Response> Users::create(http::Request& request) {
  const auto draft = co_await request.json<Draft>();
  const Timestamp now;
  User user{0, draft.name, draft.email, draft.age, now.view()};
  const db::Written written = co_await on_error(
      Code::AlreadyExists, taken(),
      session_.execute("insert into users (name, email, age, created_at) values ($name, $email, $age, $created_at)",
                       user));
  user.id = written.last_insert_id;
  char location[48] = "/api/users/";
  char* const end = std::to_chars(location + 11, location + sizeof location, user.id).ptr;
  co_return http::Response::json(http::Status::Created, user)
      .header("Location", {location, static_cast<std::size_t>(end - location)});
}

Task<http::Response> Users::find(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");
  http::Response response(http::Status::NotFound);
  auto answer = [&](const db::Row& row) { response = http::Response::json(row.as<User>()); };
  const std::size_t found =
      co_await session_.query("select id, name, email, age, created_at from users where id = $1", answer, id);
  if (found == 0) co_return no_such_user();
  co_return std::move(response);
}

Task<http::Response> Users::replace(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");
  const auto draft = co_await request.json<Draft>();
  http::Response response(http::Status::Ok);
  auto answer = [&](const db::Row& row) { response = http::Response::json(row.as<User>()); };
  const std::size_t written = co_await on_error(
      Code::AlreadyExists, taken(),
      session_.query(
          "update users set name = $1, email = $2, age = $3 where id = $4 returning id, name, email, age, created_at",
          answer, draft.name, draft.email, draft.age, id));
  if (written == 0) co_return no_such_user();
  co_return std::move(response);
}

Task<http::Response> Users::remove(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");
  const db::Written written = co_await session_.execute("delete from users where id = $1", id);
  if (written.changes == 0) co_return no_such_user();
  co_return http::Response(http::Status::NoContent);
}
