// What somebody who writes a service gets wrong in C++, chosen by CASE: the compiler's first error is one sentence that
// says what to write (CMakeLists.txt has the table). CASE 0 compiles.

#include <string>
#include <utility>
#include <vector>

#include "keel/db/session.h"
#include "keel/http.h"
#include "keel/task/group.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

using namespace keel;
using http::Request;
using http::Response;

Result<int> parse();
Result<> check();
Task<int> load();
Task<> work();
int plain();
std::string text();

struct User {
  static User from_row(const db::Row& row) { return {row.integer(0)}; }
  std::int64_t id;
};
void write_json(json::Writer& out, const User& user) { out.integer(user.id); }
struct Point {
  int x;
};
class Circle {
 public:
  explicit Circle(int radius) : radius_(radius) {}

 private:
  int radius_;
};
class Closed {
 public:
  explicit Closed(int value) : value_(value) {}

 private:
  int value_;
};
struct Points {
  Response find(const Request& request) const;
  Task<Response> load(const Request& request);
};
Response hello(const Request& request);
Task<Response> later(const Request& request);

#if CASE == 0
Task<int> tasks(Scope& scope) {
  auto named = load();
  const int first = co_await std::move(named);
  auto again = load();
  const Result<int> second = co_await attempt(std::move(again));
  auto third = load();
  auto result = parse();
  scope.spawn(with_timeout(1_s, work()));
  auto limited = with_timeout(1_s, std::move(third));
  if (!second) co_return fail(Code::NotFound, "none");
  co_return first + *second + co_await limited + co_await std::move(result);
}
Task<> fails() { co_await fail(Code::NotFound, "none"); }
Task<int> limited() { return with_timeout(1_s, load()); }
Task<std::int64_t> rows(db::Session& session, std::string name) {
  std::int64_t sum = 0;
  co_await session.query("select id from users", [&](const db::Row& row) { sum += row.integer(0); });
  auto add = [&sum, name](const db::Row& row) { sum += row.text(0) == name ? 1 : 0; };
  co_await session.query("select name from users where id > $1", add, 1);
  const User user = co_await session.query_one<User>("select id from users where name = $1", name);
  co_return sum + user.id;
}
void routes(http::Router& router, Points& points, const Points& constant) {
  router.get("/a", hello).get("/b", later).get("/c", points, &Points::find).get("/d", points, &Points::load);
  router.get("/e", constant, &Points::find, {.request_timeout = 1_s});
}
#elif CASE == 1
Task<> ends() {
  co_await work();
  co_return fail(Code::NotFound, "none");
}
#elif CASE == 2
Task<int> tries() {
  KEEL_TRY(int value, parse());
  co_return value;
}
#elif CASE == 3
Task<> tries() {
  KEEL_TRY_VOID(check());
  co_await work();
}
#elif CASE == 4
Task<int> returns(bool good) {
  if (!good) return fail(Code::NotFound, "none");
  co_return 1;
}
#elif CASE == 5
Task<int> keeps() {
  auto task = load();
  co_return co_await task;
}
#elif CASE == 6
Task<> keeps() {
  auto task = load();
  const auto result = co_await attempt(task);
}
#elif CASE == 7
Task<int> keeps() {
  auto task = load();
  co_return co_await with_timeout(1_s, task);
}
#elif CASE == 8
Task<> keeps() {
  auto one = load();
  auto other = load();
  co_await all(one, other);
}
#elif CASE == 9
Task<> keeps(Scope& scope) {
  auto task = load();
  scope.spawn(task);
  co_await scope.join();
}
#elif CASE == 10
Task<> keeps() {
  std::vector<Task<int> > tasks;
  tasks.push_back(load());
  co_await work();
}
#elif CASE == 11
Task<> awaits() { co_await plain(); }
#elif CASE == 12
Task<> awaits() { co_await with_timeout(1_s, plain()); }
#elif CASE == 13
Task<int> awaits() {
  auto result = parse();
  co_return co_await result;
}
#elif CASE == 14
Task<> awaits() { auto result = co_await attempt(parse()); }
#elif CASE == 15
Result<int> awaits() { co_return co_await load(); }
#elif CASE == 16
Response awaits(Request&) {
  co_await work();
  co_return Response(http::Status::Ok);
}
#elif CASE == 17
Task<> forgets() {
  work();
  co_return;
}
#elif CASE == 18
void forgets() { check(); }
#elif CASE == 19
Result<int> fails() { return fail(Code::NotFound, "no " + text()); }
#elif CASE == 20
Task<> counts(db::Session& session) { co_await session.execute("delete from users where id = $1 and name = $2", 1); }
#elif CASE == 21
Task<> counts(db::Session& session) { co_await session.execute("delete from users where id = $2", 1); }
#elif CASE == 22
Task<> makes(db::Session& session) { co_await session.execute("delete from users where name = '" + text() + "'"); }
#elif CASE == 23
Task<> reads(db::Session& session, std::string name) {
  co_await session.query("select name from users", [name](const db::Row&) {});
}
#elif CASE == 24
Task<> reads(db::Session& session) {
  co_await session.query("select name from users", [](const db::Row&) -> Task<> { co_await work(); });
}
#elif CASE == 25
Task<> reads(db::Session& session) { const auto circle = co_await session.query_one<Circle>("select r from circles"); }
#elif CASE == 26
Task<> reads(db::Session& session) {
  const auto name = co_await session.query_one<std::string_view>("select name from users");
}
#elif CASE == 27
Task<> binds(db::Session& session) { co_await session.execute("insert into points (x) values ($1)", Point{1}); }
#elif CASE == 28
Response answers(Request&) { return Response::json(Closed(1)); }
#elif CASE == 29
Task<Response> asks(Request& request) {
  const auto point = co_await request.path_param<Point>("id");
  co_return Response(http::Status::Ok);
}
#elif CASE == 30
Task<User&> yields(User& user);
Task<> awaits(User& user) { co_await yields(user); }
#endif
