// What somebody gets wrong who configures, wires, starts or writes a service: each message names the place and the
// cure.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "keel/app/app.h"
#include "keel/app/container.h"
#include "keel/app/testing/test_app.h"
#include "keel/base/bug.h"
#include "keel/base/host.h"
#include "keel/config/config.h"
#include "keel/data/token.h"
#include "keel/db/sqlite/connection.h"
#include "keel/db/sqlite/migrations.h"
#include "keel/db/testing/folder.h"
#include "keel/exec/submitted.h"
#include "keel/exec/thread_pool.h"
#include "keel/http/server/body_writer.h"
#include "keel/http/server/cookie.h"
#include "keel/http/server/router.h"
#include "keel/io/file.h"
#include "keel/io/readiness.h"
#include "keel/net/listener.h"
#include "keel/task/group.h"
#include "keel/task/resume_on.h"

namespace mistakes::run_time_test {
namespace {

using namespace keel;
using db::testing::Folder;
using File = std::pair<std::string_view, std::string_view>;

// What `mistake` writes to standard error in a process of its own, which it may end.
std::string said_by(FunctionRef<void()> mistake) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    try {
      mistake();
    } catch (const Bug& bug) {  // As a log has it.
      const std::string line = std::string(bug.place().file_name()) + ":" + std::to_string(bug.place().line()) + ": ";
      const std::string said = line + bug.what();
      static_cast<void>(!::write(STDERR_FILENO, said.data(), said.size()));
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t size; (size = ::read(ends[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(size));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return text;
}

std::string configure(std::string_view yaml, std::vector<const char*> flags = {}, const char* variable = nullptr) {
  const Folder folder;
  folder.write("service.yaml", yaml);
  const std::string path = folder / "service.yaml";
  const char* const environment[] = {variable, nullptr};
  const auto loaded = config::load<app::Settings>({.file = path, .args = flags, .environment = environment});
  std::string text = loaded ? "" : loaded.error().describe();
  if (const std::size_t at = text.find(folder.path() + "/"); at != text.npos) text.erase(at, folder.path().size() + 1);
  return text;
}

std::string migrate(std::vector<File> files) {
  const Folder folder;
  for (const auto& [name, text] : files) folder.write(name, text);
  auto connection = db::sqlite::Connection::open({.path = ":memory:"}).value();
  const auto migrated = db::sqlite::migrate(*connection, folder.path());
  return migrated ? "" : migrated.error().describe();
}

std::string start(FunctionRef<void(app::Settings&)> choose, FunctionRef<void(app::App&)> act) {
  return said_by([&] {
    app::Settings settings;
    settings.network.runtime.workers = 1;
    settings.logging.enabled = false;
    choose(settings);
    config::Reloadable<app::Settings> config(settings);
    app::App app("shop", config);
    act(app);
  });
}
constexpr auto as_it_is = [](app::Settings&) {};

std::string wire(FunctionRef<void(app::Container&)> add) {
  app::Container container;
  add(container);
  auto services = container.build();
  return services ? "" : services.error().describe();
}

http::Response hello(http::Request&) { return http::Response(http::Status::Ok); }
std::string route(FunctionRef<void(http::Router&)> add) {
  return said_by([&] {
    http::Router router;
    add(router);
  });
}

struct Clock {
  int now = 1;
};
struct Users {
  explicit Users(Clock&) {}
};
struct Api {
  explicit Api(Users&) {}
};
struct Hen;
struct Egg {
  explicit Egg(Hen&) {}
};
struct Hen {
  explicit Hen(Egg&) {}
};

struct Row {
  const char* mistake;
  std::string said;
  const char* place;
  const char* cure;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    EXPECT_NE(row.said.find(row.place), std::string::npos) << row.mistake << ": no place in: " << row.said;
    EXPECT_NE(row.said.find(row.cure), std::string::npos) << row.mistake << ": no cure in: " << row.said;
    EXPECT_LE(std::ranges::count(row.said, '\n'), 2) << row.mistake << ": " << row.said;
  }
}

TEST(Mistakes, in_a_configuration_name_the_place_and_the_cure) {
  check({
      {"a misspelt key", configure("network:\n  http:\n    prot: 80\n"),
       "service.yaml:3: network.http.prot: ", "did you mean network.http.port?"},
      {"a word for a number", configure("thread:\n  pool_size: many\n"),
       "service.yaml:2: thread.pool_size: ", "expected an integer from 0 to 1024"},
      {"a number that is too large", configure("network: {http: {port: 70000}}\n"),
       "service.yaml:1: network.http.port: ", "expected an integer from 0 to 65535"},
      {"a size without a unit", configure("network:\n  http:\n    max_body: 100\n"),
       "service.yaml:3: network.http.max_body: ", "expected a size with its unit, such as 64KiB or 1MiB"},
      {"a number in quotes", configure("network: {http: {port: \"80\"}}\n"),
       "service.yaml:1: network.http.port: ", "is in quotes: expected an integer"},
      {"a key given twice", configure("thread:\n  pool_size: 1\n  pool_size: 2\n"),
       "service.yaml:3: thread.pool_size: ", "is given twice: first in line 2"},
      {"text that is no map", configure("80\n"), "service.yaml:1: ", "expected a map of keys such as \"network:\""},
      {"a value for a section", configure("network:\n  http: 80\n"),
       "service.yaml:2: network.http: ", "expected a section of keys"},
      {"a flag without its value", configure("thread: {pool_size: 1}\n", {"--thread.pool_size"}),
       "--thread.pool_size: ", "needs a value: --thread.pool_size=VALUE"},
      {"a misspelt flag", configure("thread: {pool_size: 1}\n", {"--thread.pool_sise=1"}),
       "--thread.pool_sise: ", "did you mean --thread.pool_size?"},
      {"a misspelt variable", configure("thread: {pool_size: 1}\n", {}, "KEEL_NETWORK__HTTP__PROT=1"),
       "KEEL_NETWORK__HTTP__PROT: ", "did you mean KEEL_NETWORK__HTTP__PORT?"},
  });
}

TEST(Mistakes, at_the_start_name_the_place_and_the_cure) {
  const Folder folder;
  const auto serve = [](app::App& app) {
    static http::Router router;
    app.serve(router);
  };
  const auto open = [](app::App& app) { app.database(); };
  check({
      {"a host name to listen on", start([](app::Settings& s) { s.network.http.address = "shop.example"; }, serve),
       "shop: network.http.address: ", "'shop.example' is not an IPv4 or IPv6 address"},
      {"a database below a file", start([](app::Settings& s) { s.database.path = "/dev/null/app.db"; }, open),
       "shop: database.path: ", "creating the folder '/dev/null'"},
      {"migrations that are not there",
       start(
           [&](app::Settings& s) {
             s.database.path = folder / "app.db";
             s.database.migrations = "no/such/folder";
           },
           open),
       "no/such/folder", "No such file or directory"},
      {"a module that never starts",
       start([](app::Settings& s) { s.common.stop_timeout = 20_ms; },
             [](app::App& app) {
               app.module({.name = "mail",
                           .start = []() -> Result<> {
                             Host::system().sleep(60_s);
                             return {};
                           },
                           .start_timeout = 30_ms});
               app.run();
             }),
       "shop: module \"mail\"", "did not start within 30 ms"},
      {"modules in a circle",
       start(as_it_is,
             [](app::App& app) {
               app.module({.name = "a", .needs = {"b"}, .start = [] { return Result<>(); }});
               app.module({.name = "b", .needs = {"a"}, .start = [] { return Result<>(); }});
               app.run();
             }),
       "shop: modules depend on each other in a cycle: ", "\"a\" needs \"b\" needs \"a\""},
  });
}

TEST(Mistakes, in_migrations_name_the_place_and_the_cure) {
  check({
      {"a file of another name", migrate({{"users.sql", "select 1;"}}), "users.sql: ",
       "files must be named "
       "NNNN_name.sql"},
      {"a number left out", migrate({{"0001_a.sql", "select 1;"}, {"0003_c.sql", "select 1;"}}),
       "0003_c.sql follows number 0001", "files must be numbered without gaps"},
      {"a number used twice", migrate({{"0001_a.sql", "select 1;"}, {"0001_b.sql", "select 1;"}}),
       "0001_a.sql and 0001_b.sql have the same number", "give the later one the next free number"},
      {"wrong SQL", migrate({{"0001_a.sql", "-- a\ncreate tabel a (b);\n"}}), "0001_a.sql:2: ", "near \"tabel\""},
      {"a transaction of one's own", migrate({{"0001_a.sql", "begin;\nselect 1;\ncommit;\n"}}),
       "0001_a.sql:1: ", "this SQL text must not contain a statement that changes transactions, settings or files"},
  });
}

TEST(Mistakes, in_the_wiring_name_the_place_and_the_cure) {
  const Clock constant;
  check({
      {"a service that is not there", wire([](app::Container& c) { c.singleton<Api>().singleton<Users>(); }),
       "run_time_test.cc:", "Clock>() or value() to the container"},
      {"a constant that is changed", wire([&](app::Container& c) { c.value(constant).singleton<Users>(); }),
       "run_time_test.cc:", "Clock is provided as const only: take a const reference"},
      {"services in a circle", wire([](app::Container& c) { c.singleton<Egg>().singleton<Hen>(); }),
       "run_time_test.cc:", "move the code that they share into a separate service"},
      {"a service that outlives what it needs",
       wire([](app::Container& c) { c.singleton<Clock>().scoped<Users>().singleton<Api>(); }),
       "run_time_test.cc:", "Api would outlive the service that it needs, so it must be scoped too"},
      {"a service that is there twice", wire([](app::Container& c) { c.singleton<Clock>().singleton<Clock>(); }),
       "is provided twice, first at run_time_test.cc:", "remove one"},
  });
}

TEST(Mistakes, in_routes_name_the_place_and_the_cure) {
  check({
      {"a pattern without a slash", route([](http::Router& r) { r.get("users", hello); }),
       "run_time_test.cc:", "a pattern must begin with '/'"},
      {"two handlers for one", route([](http::Router& r) { r.get("/a/{id}", hello).get("/a/{id}", hello); }),
       "run_time_test.cc:", "one handler for each method; its GET was added at "},
      {"two names of one parameter", route([](http::Router& r) { r.get("/a/{id}", hello).post("/a/{name}", hello); }),
       "run_time_test.cc:", "{name} stands where \"/a/{id}\" has {id}"},
      {"a type that is none", route([](http::Router& r) { r.post("/a", hello, {.consumes = {"json"}}); }),
       "run_time_test.cc:", "\"json\": a route must consume"},
      {"a host with its port", route([](http::Router& r) { r.host("a.example:80").get("/", hello); }),
       "run_time_test.cc:", "a host must be a name without a port"},
      {"a route after the start", route([](http::Router& r) {
         r.seal();
         r.get("/late", hello);
       }),
       "run_time_test.cc:", "a route cannot be added after a server was started"},
  });
}

// --- While it serves: the line of the log, for each mistake that costs a request.

Task<> holds_and_writes(db::Session& database) {
  const db::Transaction transaction = co_await database.begin();
  co_await database.execute("insert into people (name) values ('eve')");
}
Task<> writes_after_the_end(db::Session& database) {
  db::Transaction transaction = co_await database.begin();
  co_await transaction.commit();
  co_await transaction.execute("insert into people (name) values ('eve')");
}
Task<> reads_beyond(db::Session& database) {
  auto read = [](const db::Row& row) { (void)row.integer(2); };
  co_await database.query("select id, name from people", read);
}

Task<> accepts(Listener& listener) { co_await listener.accept(); }
Task<> announces(http::BodyWriter& out) { co_await out.write("six bytes"); }

class Mistaken {
 public:
  explicit Mistaken(app::App& app) : app_(app), database_(app.database()), pool_(app.pool("mistakes")) {
    wires_.lazy<Clock>([] { return Clock{}; }).given<Users>();
    services_.emplace(wires_.build().value());
    router_.get("/wire/{mistake}", *this, &Mistaken::wire).get("/pool/{mistake}", *this, &Mistaken::on_pool);
    router_.get("/accept", *this, &Mistaken::accept).get("/cookie", *this, &Mistaken::cookie);
    router_.get("/long", *this, &Mistaken::too_long).get("/settings", *this, &Mistaken::settings);
    router_.get("/route", *this, &Mistaken::route).get("/metric", *this, &Mistaken::metric);
    router_.get("/token", *this, &Mistaken::token);
    router_.get("/sql/{mistake}", *this, &Mistaken::ask).post("/twice", *this, &Mistaken::read_twice, streamed);
    router_.get("/parameter/{id}", *this, &Mistaken::parameter)
        .get("/pool", *this, &Mistaken::pool)
        .get("/job", *this, &Mistaken::job);
    router_.get("/length", *this, &Mistaken::length).get("/serve", *this, &Mistaken::serve);
    app.serve(router_);
  }

 private:
  static constexpr http::RouteOptions streamed{.streams_body = true};

  Task<http::Response> ask(http::Request& request) {
    const auto mistake = co_await request.path_param<std::string_view>("mistake");
    if (mistake == "table") co_await database_.query_many<std::string>("select name from poeple");
    if (mistake == "column") co_await database_.query_many<std::string>("select nmae from people");
    if (mistake == "syntax") co_await database_.execute("insert in people (name) values ('eve')");
    if (mistake == "two") co_await database_.execute("delete from people; select 1");
    if (mistake == "type") co_await database_.execute("insert into people (name, age) values ('eve', 'old')");
    if (mistake == "null") co_await database_.execute("insert into people (age) values (3)");
    if (mistake == "unique") co_await database_.execute("insert into people (name) values ('ada')");
    if (mistake == "read-null") co_await database_.query_one<std::int64_t>("select age from people");
    if (mistake == "read-text") co_await database_.query_one<std::int64_t>("select name from people");
    if (mistake == "read-large") co_await database_.query_one<std::int8_t>("select 300 as level");
    if (mistake == "beyond") co_await reads_beyond(database_);
    if (mistake == "begin") co_await database_.execute("begin immediate");
    if (mistake == "savepoint") co_await database_.execute("savepoint one");
    if (mistake == "pragma") co_await database_.execute("pragma synchronous=off");
    if (mistake == "itself") co_await holds_and_writes(database_);
    if (mistake == "over") co_await writes_after_the_end(database_);
    co_return http::Response(http::Status::Ok);
  }
  static Task<> read(http::Request& request) {
    while (true) {
      const Chunk chunk = co_await request.read_body();
      if (chunk.empty()) co_return;
    }
  }
  Task<http::Response> read_twice(http::Request& request) {
    co_await all(read(request), read(request));
    co_return http::Response(http::Status::Ok);
  }
  Result<http::Response> parameter(http::Request& request) {
    KEEL_TRY(const int id, request.path_param<int>("idd"));
    return http::Response::text(http::Status::Ok, std::to_string(id));
  }
  http::Response pool(http::Request&) {
    (void)app_.pool("imagse");
    return http::Response(http::Status::Ok);
  }
  http::Response job(http::Request&) {
    auto slow = submit(pool_, [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
    (void)slow.get();
    return http::Response(http::Status::Ok);
  }
  http::Response length(http::Request&) { return http::Response::text(http::Status::Ok, "tea").length(3); }
  http::Response serve(http::Request&) {
    app_.serve(router_);
    return http::Response(http::Status::Ok);
  }

  http::Response wire(http::Request& request) {
    if (request.path().ends_with("lazy")) (void)services_->get<Clock>();
    app::Services::Scope scope = services_->scope(request.arena());
    Clock clock;
    scope.give(clock);
    return http::Response(http::Status::Ok);
  }
  Task<http::Response> on_pool(http::Request& request) {
    const bool waits = request.path().ends_with("wait");
    Executor& home = *(co_await this_task()).executor;
    const Result<> result = co_await attempt(leave(pool_, waits));
    co_await resume_on(home);
    co_await result.clone();
    co_return http::Response(http::Status::Ok);
  }
  Task<http::Response> accept(http::Request&) {
    Listener listener = co_await Listener::bind(Address::parse("127.0.0.1:0").value());
    co_await all(accepts(listener), accepts(listener));
    co_return http::Response(http::Status::Ok);
  }
  Result<http::Response> cookie(http::Request&) {
    http::Response response(http::Status::Ok);
    KEEL_TRY_VOID(http::set_cookie(response, {.name = "basket", .value = "tea, milk"}));
    return response;
  }
  http::Response too_long(http::Request&) {
    return http::Response::stream(http::Status::Ok, "text/plain", &announces).length(3);
  }
  http::Response settings(http::Request&) {
    struct Other : app::Settings {};
    (void)app_.settings<Other>();
    return http::Response(http::Status::Ok);
  }
  http::Response route(http::Request&) {
    router_.get("/late", hello);
    return http::Response(http::Status::Ok);
  }
  http::Response metric(http::Request&) {
    app_.metrics().counter("visits", "Visits");
    return http::Response(http::Status::Ok);
  }
  http::Response token(http::Request&) { return http::Response::text(http::Status::Ok, random_token(8)); }
  static Task<> leave(ThreadPool& pool, bool waits) {
    co_await resume_on(pool);
    if (waits) co_await readable(0);
    co_await keel::File::open("basket.txt", keel::File::Mode::Read);
  }

  app::App& app_;
  db::Session& database_;
  ThreadPool& pool_;
  http::Router router_;
  app::Container wires_;
  std::optional<app::Services> services_;
};

class Served {
 public:
  Served() {
    folder_.write("0001_people.sql",
                  "create table people (id integer primary key, name text not null unique, age integer) strict;"
                  "insert into people (name) values ('ada');");
  }
  // The line of the request's failure, which is a fault of the server.
  std::string get(const std::string& path) { return line_of(app_.get(path)); }
  std::string post(const std::string& path, std::string_view body) { return line_of(app_.post(path, body)); }

 private:
  std::string line_of(const http::TestResponse& response) {
    EXPECT_EQ(response.status(), 500) << response.body();
    const std::string said = app_.log().substr(seen_);
    seen_ = app_.log().size();
    const std::size_t at = said.find("request failed");
    const std::size_t begin = said.rfind('\n', at) + 1;
    return at == said.npos ? said : said.substr(begin, said.find('\n', at) - begin);
  }
  Folder folder_;
  app::TestApp<Mistaken> app_{{.settings = {"database.migrations=" + folder_.path()}}};
  std::size_t seen_ = 0;
};

TEST(Mistakes, in_sql_that_runs_name_the_place_and_the_cure) {
  Served served;
  check({
      {"a table that is not there", served.get("/sql/table"), "run_time_test.cc:", "no such table: poeple"},
      {"a column that is not there", served.get("/sql/column"), "run_time_test.cc:", "no such column: nmae"},
      {"bad syntax", served.get("/sql/syntax"), "run_time_test.cc:", "syntax error"},
      {"two statements in one text", served.get("/sql/two"),
       "run_time_test.cc:", "SQL text must contain only one statement"},
      {"a text in a column of integers", served.get("/sql/type"),
       "run_time_test.cc:", "cannot store TEXT value in INTEGER column people.age"},
      {"a row without what it needs", served.get("/sql/null"),
       "run_time_test.cc:", "NOT NULL constraint failed: people.name"},
      {"a row that is there already", served.get("/sql/unique"),
       "run_time_test.cc:", "UNIQUE constraint failed: people.name"},
      {"NULL read as a number", served.get("/sql/read-null"),
       "run_time_test.cc:", "column 'age' is NULL, but is read as an integer: read it as a std::optional"},
      {"a text read as a number", served.get("/sql/read-text"),
       "run_time_test.cc:", "column 'name' is text, but is read as an integer"},
      {"a number that its type cannot hold", served.get("/sql/read-large"),
       "run_time_test.cc:", "column 'level': 300 does not fit"},
      {"a column beyond the last", served.get("/sql/beyond"),
       "run_time_test.cc:", "column 2 is read from a row with 2 columns (id, name); columns are counted from 0"},
      {"a transaction by statement", served.get("/sql/begin"),
       "run_time_test.cc:", "begin a transaction with begin() of the database"},
      {"a savepoint by statement", served.get("/sql/savepoint"),
       "run_time_test.cc:", "make a savepoint with savepoint() of the transaction"},
      {"a setting of the database", served.get("/sql/pragma"),
       "run_time_test.cc:", "set the settings and files of the database in its options"},
      {"a write beside one's own transaction", served.get("/sql/itself"),
       "run_time_test.cc:", "run it on the transaction instead of the database"},
      {"a statement after the commit", served.get("/sql/over"), "run_time_test.cc:", "the transaction has ended"},
  });
}

// Files and descriptors belong to a worker's loop.
TEST(Mistakes, on_a_pool_name_the_place_and_the_cure) {
  Served served;
  check({
      {"a descriptor", served.get("/pool/wait"),
       "run_time_test.cc:", "first co_await resume_on() with the loop of a worker"},
      {"a file", served.get("/pool/file"), "run_time_test.cc:", "first co_await resume_on() with the loop of a worker"},
  });
}

TEST(Mistakes, in_handlers_name_the_place_and_the_cure) {
  Served served;
  check({
      {"a parameter of another name", served.get("/parameter/7"), "run_time_test.cc:", "has no parameter of this name"},
      {"two tasks that read one body", served.post("/twice", std::string(500'000, 'b')),
       "run_time_test.cc:", "only one task may read at a time"},
      {"the length of a body that is there", served.get("/length"),
       "run_time_test.cc:", "the length of any other body is known"},
      {"a lazy service that was not made", served.get("/wire/lazy"),
       "run_time_test.cc:", "Clock; resolve() makes a lazy service"},
      {"an object that a scope does not expect", served.get("/wire/give"),
       "run_time_test.cc:", "declared with Container::given()"},
      {"two tasks that accept", served.get("/accept"), "run_time_test.cc:", "only one task may accept at a time"},
      {"a cookie with a comma", served.get("/cookie"), "run_time_test.cc:", "encode the value"},
      {"more bytes than were announced", served.get("/long"),
       "run_time_test.cc:", "more bytes than the announced length"},
      {"settings of another type", served.get("/settings"),
       "run_time_test.cc:", "the type into which the configuration was loaded"},
      {"a route that is added in a handler", served.get("/route"), "run_time_test.cc:", "add all routes before"},
      {"a counter without its ending", served.get("/metric"), "visits", "must end in _total"},
      {"a token that can be guessed", served.get("/token"), "random_token()", "called for 16 to 64 bytes"},
      {"a pool that is not there", served.get("/pool"), "pool imagse",
       "request it in the constructor of the service, and keep the reference"},
      {"a wait for a job", served.get("/job"), "run_time_test.cc:", "in a task, await completion(handle)"},
      {"serve() in a handler", served.get("/serve"), "App::serve()",
       "call it before run(), in the code that sets up "
       "the service"},
  });
}

}  // namespace
}  // namespace mistakes::run_time_test
