// docs/from_fastapi.md, docs/from_go.md, docs/from_axum.md, docs/from_spring.md, docs/from_drogon.md, compiled and run

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "keel/app/app.h"
#include "keel/app/testing/test_app.h"
#include "keel/data/timestamp.h"
#include "keel/http.h"
#include "keel/task/group.h"
#include "keel/task/on_error.h"
#include "keel/task/resume_on.h"

#define MIGRATIONS KEEL_SOURCE_DIR "/src/keel/app/testing/notes_migrations"

namespace keel::app::coming_from_doc_test {
namespace {

struct NotesConfig {
  Duration keep = 24_h;
  config::Secret token;

  void rules(Check& check) const { check.that(keep >= 1_min, "keep must not be below a minute"); }
};

struct NotesSettings : app::Settings {
  NotesConfig notes;

  void fields(config::Schema& v) {
    Settings::fields(v);
    config::field(v, "notes", notes, "how long notes are kept, and who may write them");
  }
};

struct NewNote {
  std::string text;

  void rules(Check& check) const { check(text).length(1, 1000); }
};

struct Note {
  std::int64_t id = 0;
  std::string text;
};

struct Page {
  std::int64_t after = 0;
  int limit = 20;

  static constexpr bool optional_fields = true;
  void rules(Check& check) const { check(limit).range(1, 100); }
};

struct Forecast {
  std::string text;
};

struct Today {
  std::int64_t notes = 0;
  std::string weather;
};

std::string slow_digest(const std::string& text) { return std::to_string(text.size()); }

class Notes {
 public:
  explicit Notes(app::App& app)
      : database_(app.database()),
        weather_(app.client({.name = "weather", .base_url = "http://weather.example", .timeout = 2_s})),
        digests_(app.pool("digests")),
        made_(app.metrics().counter("notes_made_total", "Notes that were made")),
        log_("notes") {
    const NotesConfig& config = app.settings<NotesSettings>().notes;
    const std::string token(config.token.reveal());
    router_.use(http::SecurityHeaders());
    router_.get("/notes", *this, &Notes::list).get("/notes/{id}", *this, &Notes::find);
    router_.get("/notes/{id}/digest", *this, &Notes::digest).get("/today", *this, &Notes::today);
    http::Group writers = router_.group("/notes", {.request_timeout = 2_s});
    writers.use(http::bearer(http::one_of({{"ada", token}}), {.realm = "notes"}));
    writers.post("", *this, &Notes::create);
    app.every(1_min, "tidy", [this, keep = config.keep] { return tidy(keep); });
    app.serve(router_);
  }

 private:
  Task<http::Response> create(http::Request& request);
  Task<http::Response> list(http::Request& request);
  Task<http::Response> find(http::Request& request);
  Task<http::Response> digest(http::Request& request);
  Task<http::Response> today(http::Request& request);
  Task<> tidy(Duration keep);
  Task<std::int64_t> count();
  Task<std::string> forecast();

  db::Session& database_;
  http::SharedClient& weather_;
  ThreadPool& digests_;
  const metrics::Counter made_;
  const log::Logger log_;
  http::Router router_;
};

Task<http::Response> Notes::create(http::Request& request) {
  const auto draft = co_await request.json<NewNote>();
  const auto& writer = *request.get<http::KeyOwner>();
  const auto made = co_await on_error(Code::AlreadyExists, fail(Code::Conflict, "this note already exists"),
                                      database_.execute("insert into notes (text, owner, made_at) values ($1, $2, $3)",
                                                        draft.text, writer.name, Timestamp::now()));
  made_.add();
  log_.info("note made", log::field("note", made.last_insert_id));
  co_return http::Response::json(http::Status::Created, Note{made.last_insert_id, draft.text});
}

Task<http::Response> Notes::list(http::Request& request) {
  const auto page = co_await request.query<Page>();
  const auto notes = co_await database_.query_many<Note>(
      "select id, text from notes where id > $after order by id limit $limit", page);
  co_return http::Response::json(notes);
}

Task<http::Response> Notes::find(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");
  const auto note = co_await database_.query_optional<Note>("select id, text from notes where id = $1", id);
  if (!note) co_return fail(Code::NotFound, "no note has this number");
  co_return http::Response::json(*note);
}

Task<http::Response> Notes::digest(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");
  const auto note = co_await database_.query_one<Note>("select id, text from notes where id = $1", id);
  Executor& worker = *(co_await this_task()).executor;
  co_await resume_on(digests_);
  const std::string made = slow_digest(note.text);
  co_await resume_on(worker);
  co_return http::Response::text(http::Status::Ok, made);
}

Task<http::Response> Notes::today(http::Request&) {
  const auto both = co_await with_timeout(500_ms, all(count(), forecast()));
  const auto& [notes, weather] = both;
  co_return http::Response::json(Today{notes, weather});
}

Task<std::int64_t> Notes::count() { return database_.query_one<std::int64_t>("select count(*) from notes"); }

Task<std::string> Notes::forecast() {
  const auto today = co_await weather_.get("/today").json<Forecast>();
  co_return today.text;
}

Task<> Notes::tidy(Duration keep) {
  db::Transaction transaction = co_await database_.begin();
  const auto old = co_await transaction.execute("delete from notes where made_at < $1", Timestamp::now() - keep);
  co_await transaction.execute("insert into tidied (at, notes) values ($1, $2)", Timestamp::now(), old.changes);
  co_await transaction.commit();
}

namespace the_program {
int main(int argc, char** argv) { return app::run<Notes, NotesSettings>("notes", argc, argv); }
}  // namespace the_program

using TestNotes = app::TestApp<Notes, NotesSettings>;

TEST(NotesService, takes_notes_of_those_who_have_a_token) {
  TestNotes app({.settings = {"database.migrations=" MIGRATIONS, "notes.token=secret"}});
  http::TestClient ada(app);
  ada.header("Authorization", "Bearer secret");

  EXPECT_EQ(ada.post("/notes", R"({"text":"buy tea"})").status(), 201);
  EXPECT_EQ(ada.post("/notes", R"({"text":"buy tea"})").status(), 409);
  EXPECT_EQ(app.post("/notes", R"({"text":"buy tea"})").status(), 401);
  EXPECT_EQ(app.get("/notes/1").body(), R"({"id":1,"text":"buy tea"})");
}

TEST(ComingFrom, shows_what_a_service_does) {
  EXPECT_NE(&the_program::main, nullptr);
  http::Router weather;
  weather.get("/today", [](http::Request&) { return http::Response::json(Forecast{"rain"}); });
  TestNotes app({.settings = {"database.migrations=" MIGRATIONS, "notes.token=secret", "notes.keep=2min"}});
  app.peer("weather.example", weather);
  http::TestClient ada(app);
  ada.header("Authorization", "Bearer secret");

  EXPECT_EQ(ada.post("/notes", R"({"text":""})").status(), 422);
  EXPECT_EQ(ada.post("/notes", R"({"text":"buy tea"})").status(), 201);
  EXPECT_EQ(app.get("/notes?limit=2").body(), R"([{"id":1,"text":"buy tea"}])");
  EXPECT_EQ(app.get("/notes?limit=101").status(), 400);
  EXPECT_EQ(app.get("/notes/tea").status(), 400);
  EXPECT_EQ(app.get("/notes/2").status(), 404);
  EXPECT_EQ(app.get("/notes/1/digest").body(), "7");
  EXPECT_EQ(app.get("/today").body(), R"({"notes":1,"weather":"rain"})");
  EXPECT_TRUE(app.get("/today").header("X-Content-Type-Options"));
  app.advance(4_min);
  EXPECT_EQ(app.get("/notes/1").status(), 404) << "it was kept for longer than two minutes";
  EXPECT_GE(app.run(app.database().query_one<std::int64_t>("select sum(notes) from tidied")).value(), 1);
  http::TestClient admin(app.admin());
  EXPECT_NE(admin.get("/metrics").body().find("notes_made_total 1"), std::string::npos);
  EXPECT_NE(app.log().find("note made"), std::string::npos);
}

}  // namespace
}  // namespace keel::app::coming_from_doc_test

#undef MIGRATIONS  // Other pages are compiled after it.
