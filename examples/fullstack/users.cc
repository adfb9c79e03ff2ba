#include "users.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <optional>

#include "keel/base/host.h"
#include "keel/data/json.h"
#include "keel/http/server/problem.h"
#include "keel/observe/span.h"
#include "keel/task/on_error.h"

using namespace keel;

namespace {

constexpr std::int64_t page_max = 100;
constexpr std::size_t name_bytes_max = 200;
constexpr std::size_t email_bytes_max = 254;  // RFC 5321 §4.5.3.1.3, less the angle brackets.

// What a client sends. Views into the request.
struct Draft {
  std::string_view name;
  std::string_view email;
  std::optional<std::int64_t> age;
};

// A user as the client sees it. Views into a row, or into a request.
struct User {
  std::int64_t id;
  std::string_view name;
  std::string_view email;
  std::optional<std::int64_t> age;
  std::string_view created_at;
};

void write_json(json::Writer& out, const User& user) {
  out.begin_object();
  out.key("id").integer(user.id);
  out.key("name").string(user.name);
  out.key("email").string(user.email);
  out.key("age");
  user.age ? out.integer(*user.age) : out.null();
  out.key("created_at").string(user.created_at);
  out.end_object();
}

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

bool looks_like_email(std::string_view text) {
  const std::size_t at = text.find('@');
  return at != std::string_view::npos && at > 0 && at + 1 < text.size() && text.find('@', at + 1) == text.npos &&
         text.find_first_of(" \t\r\n") == text.npos;
}

// The draft, or the problem that says what is wrong with the body.
std::optional<http::Response> read_draft(http::Request& request, Draft& draft) {
  const StageTimer timer(http::stage::validate);
  enum : unsigned { Name = 1, Email = 2, Age = 4 };
  unsigned seen = 0;
  json::Reader in(request.body(), request.arena());
  const auto once = [&](unsigned member) {
    if (seen & member) in.fail("is given twice");
    seen |= member;
  };
  in.begin_object();
  while (auto key = in.next_key()) {
    if (*key == "name") {
      draft.name = in.string();
      once(Name);
    } else if (*key == "email") {
      draft.email = in.string();
      once(Email);
    } else if (*key == "age") {
      if (!in.try_null()) draft.age = in.int64();
      once(Age);
    } else {
      in.skip();
    }
  }
  if (!in.finish()) return http::problem(in);

  http::Invalid invalid;
  if (!(seen & Name)) {
    invalid.field("/name", "is required");
  } else if (draft.name.empty() || draft.name.size() > name_bytes_max) {
    invalid.field("/name", "must have 1 to 200 bytes");
  }
  if (!(seen & Email)) {
    invalid.field("/email", "is required");
  } else if (draft.email.size() > email_bytes_max || !looks_like_email(draft.email)) {
    invalid.field("/email", "must be an e-mail address");
  }
  if (draft.age && (*draft.age < 0 || *draft.age > 150)) invalid.field("/age", "must be between 0 and 150");
  if (invalid.empty()) return std::nullopt;
  return std::move(invalid).response();
}

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
  const auto wanted = co_await request.query_param<std::int64_t>("limit");
  const auto after = co_await request.query_param<std::int64_t>("after");
  const std::int64_t limit = wanted.value_or(20);
  if (limit < 1 || limit > page_max) co_return http::refuse(http::Status::BadRequest, "limit: expected 1 to 100");

  Buffer body;
  json::Writer out(body);
  std::int64_t rows = 0;
  std::int64_t last = 0;
  out.begin_object();
  out.key("items").begin_array();
  auto add = [&](const db::Row& row) {
    if (++rows > limit) return;  // One more was asked for, to know whether there is a next page.
    const auto user = row.as<User>();
    last = user.id;
    write_json(out, user);
  };
  co_await session_.query("select id, name, email, age, created_at from users where id > $1 order by id limit $2", add,
                          after.value_or(0), limit + 1);
  out.end_array();
  out.key("next");
  rows > limit ? out.integer(last) : out.null();
  out.end_object();
  co_return http::Response::body(http::Status::Ok, std::move(body), "application/json");
}

Task<http::Response> Users::create(http::Request& request) {
  Draft draft;
  if (auto problem = read_draft(request, draft)) co_return *std::move(problem);
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
  auto answer = [&](const db::Row& row) { response = http::Response::json(http::Status::Ok, row.as<User>()); };
  const std::size_t found =
      co_await session_.query("select id, name, email, age, created_at from users where id = $1", answer, id);
  if (found == 0) co_return no_such_user();
  co_return std::move(response);
}

Task<http::Response> Users::replace(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");
  Draft draft;
  if (auto problem = read_draft(request, draft)) co_return *std::move(problem);
  http::Response response(http::Status::Ok);
  auto answer = [&](const db::Row& row) { response = http::Response::json(http::Status::Ok, row.as<User>()); };
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
