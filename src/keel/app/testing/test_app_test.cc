#include "keel/app/testing/test_app.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "keel/data/json.h"
#include "keel/exec/thread_pool.h"
#include "keel/http/server/input.h"
#include "keel/http/server/problem.h"
#include "keel/task/resume_on.h"
#include "keel/task/timing.h"

namespace keel::app::test_app_test {
namespace {

// Notes are kept in a database, and hashed on a pool.
class Notes {
 public:
  explicit Notes(App& app) : database_(app.database()), pool_(app.pool("hashes")) {
    app.module({.name = "table", .needs = {"database"}, .start = [] { return Result<>(); }});
    router_.post("/notes", *this, &Notes::add)
        .get("/notes/{id}", *this, &Notes::find)
        .get("/slow", *this, &Notes::slow)
        .post("/hash", *this, &Notes::hash);
    app.serve(router_);
  }

 private:
  Task<http::Response> add(http::Request& request) {
    const db::Written written = co_await database_.execute("insert into notes (text) values ($1)", request.body());
    co_return http::Response::text(http::Status::Created, std::to_string(written.last_insert_id));
  }
  Task<http::Response> find(http::Request& request) {
    const auto id = co_await request.path_param<std::int64_t>("id");
    std::string text;
    auto read = [&](const db::Row& row) { text = row.text(0); };
    const std::size_t found = co_await database_.query("select text from notes where id = $1", read, id);
    if (found == 0) co_return http::refuse(http::Status::NotFound, "no such note");
    co_return http::Response::text(http::Status::Ok, text);
  }
  Task<http::Response> slow(http::Request&) {
    co_await sleep_for(20_s);
    co_return http::Response::text(http::Status::Ok, "at last");
  }
  Task<http::Response> hash(http::Request& request) {
    const std::string text(request.body());
    Executor* const home = Executor::current();
    co_await resume_on(pool_, Priority::High);
    const std::string hashed = std::to_string(text.size());
    co_await resume_on(*home);
    co_return http::Response::text(http::Status::Ok, hashed);
  }

  db::Session& database_;
  ThreadPool& pool_;
  http::Router router_;
};

TestAppOptions with_notes(TestAppOptions options = {}) {
  options.settings.push_back("database.migrations=" KEEL_SOURCE_DIR "/src/keel/app/testing/testdata");
  return options;
}

TEST(TestApp, runs_a_service_with_its_database_in_a_simulation) {
  TestApp<Notes> app(with_notes());

  EXPECT_EQ(app.post("/notes", "milk").body(), "1");
  EXPECT_EQ(app.get("/notes/1").body(), "milk");
  EXPECT_EQ(app.get("/notes/2").status(), 404);
}

struct Counted {
  std::string text;
  int bytes = 0;
};

TEST(TestApp, sends_structs_and_reads_them) {
  class Counting {
   public:
    explicit Counting(App& app) {
      const auto count = [](http::Request& request) -> Result<http::Response> {
        KEEL_TRY(Counted counted, request.json<Counted>());
        counted.bytes = static_cast<int>(counted.text.size());
        return http::Response::json(counted);
      };
      const auto empty = [](http::Request& request) {
        return http::Response::text(http::Status::Ok, std::string(request.header("Content-Type").value_or("no body")));
      };
      router_.post("/count", count).put("/count", count).patch("/count", count).post("/empty", empty);
      app.serve(router_);
    }

   private:
    http::Router router_;
  };
  TestApp<Counting> app;
  http::TestClient client(app);

  EXPECT_EQ(app.post("/count", Counted{"tea"}).json<Counted>()->bytes, 3);
  EXPECT_EQ(app.put("/count", Counted{"milk"}).json<Counted>()->bytes, 4);
  EXPECT_EQ(client.patch("/count", Counted{"water"}).json<Counted>()->bytes, 5);
  EXPECT_EQ(app.post("/count", std::vector<int>{1}).status(), 422);
  EXPECT_EQ(app.post("/empty").body(), "no body");
}

TEST(TestApp, runs_the_same_service_in_real_time_on_a_temporary_file) {
  TestApp<Notes> app(with_notes({.real_time = true}));

  EXPECT_EQ(app.post("/notes", "milk").body(), "1");
  EXPECT_EQ(app.post("/hash", "four").error(), "") << app.log();
  EXPECT_EQ(app.post("/hash", "four").body(), "4");
  app.restart();
  EXPECT_EQ(app.get("/notes/1").body(), "milk");
}

TEST(TestApp, keeps_after_a_power_loss_what_was_acknowledged) {
  TestApp<Notes> app(with_notes());
  EXPECT_EQ(app.post("/notes", "milk").status(), 201);

  app.crash();

  EXPECT_EQ(app.get("/notes/1").body(), "milk");
  EXPECT_EQ(app.post("/notes", "eggs").body(), "2");
}

TEST(TestApp, takes_no_time_for_what_waits) {
  TestApp<Notes> app(with_notes());

  http::TestCall call = app.begin({http::Method::Get, "/slow"});
  app.advance(19_s);
  EXPECT_FALSE(call.has_ended());
  EXPECT_EQ(call.response().body(), "at last");
}

TEST(TestApp, runs_jobs_of_pools_in_the_simulation) {
  TestApp<Notes> app(with_notes({.pool_delay_max = 5_s}));

  EXPECT_EQ(app.post("/hash", "seven77").body(), "7");
}

TEST(TestApp, gives_the_same_run_for_the_same_seed) {
  std::set<std::uint64_t> hashes;
  for (int i = 0; i < 2; ++i) {
    TestApp<Notes> app(with_notes(TestAppOptions::faulty(11)));
    app.crash_within(40);
    for (int note = 0; note < 20; ++note) app.post("/notes", "note");
    app.restart();
    app.get("/notes/1");
    hashes.insert(app.simulation().trace_hash());
  }
  EXPECT_EQ(hashes.size(), 1u);
}

TEST(TestApp, answers_nothing_while_the_power_is_off) {
  TestApp<Notes> app(with_notes());
  EXPECT_EQ(app.post("/notes", "milk").status(), 201);

  app.crash_within(1);
  EXPECT_NE(app.post("/notes", "eggs").status(), 201);
  EXPECT_FALSE(app.has_power());
  EXPECT_EQ(app.get("/notes/1").status(), 0);

  app.restart();
  EXPECT_EQ(app.get("/notes/1").body(), "milk");
}

TEST(TestApp, has_the_admin_pages_and_the_log) {
  TestApp<Notes> app(with_notes());
  app.get("/notes/1");

  http::TestClient admin(app.admin());
  EXPECT_NE(admin.get("/metrics").body().find("http_requests_total"), std::string_view::npos);
  EXPECT_NE(app.log().find("/notes/1"), std::string::npos) << app.log();
}

// Has health checks of its own: a function, and a task on each worker.
class Checked {
 public:
  explicit Checked(App& app) {
    app.database();
    checks_.push_back(app.health().add({.name = "stock"}, [this]() -> Result<> {
      ++stock_checks;
      if (is_sold_out) return fail(Code::Unavailable, "sold out");
      return {};
    }));
    for (const int i : {0, 1}) {
      checks_.push_back(app.health().add({.name = "turns " + std::to_string(i), .needs = {"stock"}, .timeout = 1_s},
                                         app.runtime().loop(i), [this] { return waits(); }));
    }
    app.serve(router_);
  }

  int stock_checks = 0;
  bool is_sold_out = false;
  Duration check_time = 1_ms;

 private:
  Task<> waits() { co_await sleep_for(check_time); }

  http::Router router_;
  std::vector<Health::Check> checks_;
};

TEST(TestApp, shows_the_tasks_of_its_workers) {
  TestApp<Notes> app(with_notes());
  http::TestCall call = app.begin({http::Method::Get, "/slow"});
  app.advance(5_s);

  const std::string text(http::TestClient(app.admin()).get("/admin/tasks?format=text").body());

  EXPECT_TRUE(text.starts_with("worker 0: ")) << text;
  EXPECT_NE(text.find("worker 1: "), std::string::npos) << text;
  EXPECT_NE(text.find("Notes::slow"), std::string::npos) << text;
  call.stop();
}

TEST(TestApp, is_ready_when_its_health_checks_have_passed) {
  TestApp<Checked> app(with_notes());
  http::TestClient admin(app.admin());

  const http::TestResponse ready = admin.get("/readyz");

  EXPECT_EQ(ready.status(), 200) << ready.body();
  for (const char* check : {"\"database\"", "\"stock\"", "\"turns 1\""}) {
    EXPECT_NE(ready.body().find(check), ready.body().npos) << check << " in " << ready.body();
  }
  EXPECT_EQ(admin.get("/healthz").status(), 200);
  EXPECT_EQ(admin.get("/startupz").status(), 200);
}

TEST(TestApp, runs_health_checks_in_virtual_time) {
  TestApp<Checked> app(with_notes({.settings = {"monitoring.health.check_interval_sec=10"}}));
  http::TestClient admin(app.admin());
  EXPECT_EQ(app.service().stock_checks, 1);
  app.advance(35_s);
  EXPECT_EQ(app.service().stock_checks, 4);

  app.service().is_sold_out = true;
  EXPECT_EQ(admin.get("/readyz").status(), 200) << "pages show the last results";
  app.advance(10_s);
  EXPECT_EQ(admin.get("/readyz").status(), 503);
  EXPECT_NE(admin.get("/readyz").body().find("not checked: stock failed"), std::string_view::npos);
  EXPECT_NE(app.log().find("a health check failed"), std::string::npos) << app.log();

  app.service().is_sold_out = false;
  app.advance(10_s);
  EXPECT_EQ(admin.get("/readyz").status(), 200);

  app.service().check_time = 1_h;
  app.advance(12_s);
  EXPECT_EQ(admin.get("/readyz").status(), 503) << "it has passed its time-out";
  app.restart();
  EXPECT_EQ(admin.get("/readyz").status(), 200) << "the service is made anew";
}

TEST(TestApp, ends_while_a_health_check_runs) {
  TestApp<Checked> app(with_notes());
  app.service().check_time = 500_ms;
  app.advance(10_s + 5_ms);
}

TEST(TestApp, is_ready_again_after_a_power_loss_that_came_while_health_checks_ran) {
  TestApp<Checked> app(with_notes());
  for (int i = 0; i < 3; ++i) {
    app.advance(10_s);
    app.crash();
    EXPECT_EQ(http::TestClient(app.admin()).get("/readyz").status(), 200);
  }
}

// --- A test that is wrong is told what to do.

template <class E, class F>
std::string thrown_by(F f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing";
}

struct Silent {
  explicit Silent(App&) {}
};

// Does what the App does not take any more while it runs.
class Late {
 public:
  explicit Late(App& app) : app_(app) {
    router_.get("/database", [this](http::Request&) {
      return http::Response::text(http::Status::Ok, app_.database().is_idle() ? "idle" : "busy");
    });
    router_.get("/serve", [this](http::Request&) {
      app_.serve(router_);
      return http::Response(http::Status::NoContent);
    });
    app.serve(router_);
  }

 private:
  App& app_;
  http::Router router_;
};

TEST(TestApp, says_that_a_service_that_serves_nothing_cannot_be_asked) {
  TestApp<Silent> app;
  EXPECT_EQ(thrown_by<std::logic_error>([&] { app.get("/"); }),
            "TestApp: there is no server to call: the service does not call app.serve(router)");
}

TEST(TestApp, says_that_there_is_one_at_a_time) {
  TestApp<Silent> app;
  EXPECT_EQ(thrown_by<std::logic_error>([] { TestApp<Silent> second; }),
            "TestApp: another TestApp exists in this process: destroy it first; to test with several servers, add the "
            "others as peers");
}

TEST(TestApp, says_what_is_wrong_with_its_settings) {
  EXPECT_NE(thrown_by<std::runtime_error>([] {
              TestApp<Silent> app({.settings = {"network.http.prot=1"}});
            }).find("did you mean --network.http.port?"),
            std::string::npos);
}

TEST(TestApp, says_why_the_service_does_not_start) {
  TestApp<Notes> app({.settings = {"database.migrations=/nowhere"}});
  EXPECT_NE(thrown_by<std::runtime_error>([&] { app.get("/notes/1"); }).find("migrations: /nowhere"),
            std::string::npos);
}

TEST(TestApp, says_why_a_part_that_a_module_uses_in_its_start_does_not_start) {
  class Counts {
   public:
    explicit Counts(App& app) {
      app.module({.name = "counts", .start = [&app]() -> Result<> {
                    app.database();
                    return {};
                  }});
    }
  };
  for (const bool real_time : {false, true}) {
    TestApp<Counts> app({.settings = {"database.migrations=/nowhere"}, .real_time = real_time});
    EXPECT_NE(thrown_by<std::runtime_error>([&] { app.app(); }).find("migrations: /nowhere"), std::string::npos);
  }
}

TEST(TestApp, says_why_a_client_that_a_module_makes_in_its_start_is_refused) {
  class Pays {
   public:
    explicit Pays(App& app) {
      app.module({.name = "payments", .start = [&app]() -> Result<> {
                    app.client({.name = "bank", .base_url = "ftp://bank.example"});
                    return {};
                  }});
    }
  };
  TestApp<Pays> app;
  EXPECT_NE(thrown_by<std::runtime_error>([&] { app.app(); }).find("network.clients.bank.base_url"), std::string::npos);
}

TEST(TestApp, says_that_the_power_is_off) {
  TestApp<Notes> app(with_notes());
  app.get("/notes/1");
  app.crash_within(1);
  app.post("/notes", "milk");
  EXPECT_EQ(thrown_by<std::logic_error>([&] { app.service(); }),
            "TestApp: the power is off: restart() brings the service back");
}

TEST(TestApp, says_that_the_power_does_not_go_in_real_time) {
  TestApp<Silent> app({.real_time = true});
  EXPECT_EQ(thrown_by<std::logic_error>([&] { app.crash(); }),
            "TestApp: the disk and its power can fail only in the simulation, not in real time");
}

TEST(TestApp, survives_a_handler_that_asks_the_app_for_what_comes_before_run) {
  for (const bool real_time : {false, true}) {
    TestApp<Late> app({.real_time = real_time});
    EXPECT_EQ(app.get("/database").status(), 500);
    EXPECT_EQ(app.get("/serve").status(), 500);
  }
}

Task<std::string> wait_and_say(Duration time) {
  co_await sleep_for(time);
  co_return "done";
}

TEST(TestApp, runs_a_task_of_the_test_on_a_worker) {
  for (const bool real_time : {false, true}) {
    TestApp<Silent> app({.real_time = real_time});
    const Instant before = app.now();
    EXPECT_EQ(app.run(wait_and_say(20_ms)).value(), "done");
    EXPECT_GE(app.now() - before, 20_ms);
  }
}

TEST(TestApp, stops_the_service_and_starts_it_again) {
  TestApp<Notes> app(with_notes());
  app.post("/notes", "milk");

  app.restart();

  EXPECT_EQ(app.get("/notes/1").body(), "milk");
}

}  // namespace
}  // namespace keel::app::test_app_test
