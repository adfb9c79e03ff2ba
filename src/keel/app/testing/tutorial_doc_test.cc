// docs/tutorial.md, compiled and run: the service of `keel new journal`, as it is at the end of the page.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "keel/app/app.h"
#include "keel/app/testing/test_app.h"
#include "keel/data/json_write.h"
#include "keel/data/timestamp.h"
#include "keel/db/session.h"
#include "keel/http/server/input.h"
#include "keel/http/server/problem.h"
#include "keel/http/server/router.h"

#define JOURNAL_MIGRATIONS KEEL_SOURCE_DIR "/src/keel/app/testing/journal_migrations"

namespace keel::app::tutorial_doc_test {
namespace {

// --- src/notes.h

class Notes {
 public:
  explicit Notes(keel::app::App& app);
  void mount(keel::http::Router& router);

 private:
  keel::Task<keel::http::Response> create(keel::http::Request& request);
  keel::Task<keel::http::Response> list(keel::http::Request& request);
  keel::Task<keel::http::Response> find(keel::http::Request& request);
  keel::Task<keel::http::Response> finish(keel::http::Request& request);
  keel::Task<keel::http::Response> remove(keel::http::Request& request);
  keel::Task<> forget_finished();

  keel::db::Session& database_;
  const keel::metrics::Counter finished_;
  const keel::log::Logger log_;
};

// --- src/notes.cc

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
  std::int64_t limit = 20;

  static constexpr bool optional_fields = true;
  void rules(Check& check) const { check(limit).range(1, 100); }
};

Notes::Notes(app::App& app)
    : database_(app.database()),
      finished_(app.metrics().counter("notes_finished_total", "Notes that were finished")),
      log_("notes") {
  app.every(1_min, "forget", [this] { return forget_finished(); });
}

void Notes::mount(http::Router& router) {
  router.post("/notes", *this, &Notes::create)
      .get("/notes", *this, &Notes::list)
      .get("/notes/{id}", *this, &Notes::find)
      .post("/notes/{id}/finish", *this, &Notes::finish)
      .del("/notes/{id}", *this, &Notes::remove);
}

Task<http::Response> Notes::create(http::Request& request) {
  const auto draft = co_await request.json<NewNote>();  // 422 that says all that is wrong
  const db::Written written = co_await database_.execute("insert into notes (text) values ($text)", draft);
  co_return http::Response::json(http::Status::Created, Note{written.last_insert_id, draft.text})
      .header("Location", "/notes/" + std::to_string(written.last_insert_id));
}

Task<http::Response> Notes::list(http::Request& request) {
  const auto page = co_await request.query<Page>();
  const auto notes = co_await database_.query_many<Note>(
      "select id, text from notes where id > $after and finished_at is null order by id limit $limit", page);
  co_return http::Response::json(notes);
}

Task<http::Response> Notes::find(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");  // 400 when it is not a number
  const auto note = co_await database_.query_optional<Note>("select id, text from notes where id = $1", id);
  if (!note) co_return http::refuse(http::Status::NotFound, "no note has this number");
  co_return http::Response::json(*note);
}

Task<http::Response> Notes::finish(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");
  const db::Written written = co_await database_.execute(
      "update notes set finished_at = $2 where id = $1 and finished_at is null", id, Timestamp::now());
  if (written.changes == 0) co_return http::refuse(http::Status::NotFound, "no open note has this number");
  finished_.add();
  log_.info("note finished", log::field("note", id));
  co_return http::Response(http::Status::NoContent);
}

Task<> Notes::forget_finished() {
  const db::Written gone =
      co_await database_.execute("delete from notes where finished_at < $1", Timestamp::now() - 24_h);
  if (gone.changes != 0) log_.info("notes forgotten", log::field("notes", gone.changes));
}

Task<http::Response> Notes::remove(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");
  const db::Written written = co_await database_.execute("delete from notes where id = $1", id);
  if (written.changes == 0) co_return http::refuse(http::Status::NotFound, "no note has this number");
  co_return http::Response(http::Status::NoContent);
}

// --- src/service.h

class Journal {
 public:
  explicit Journal(keel::app::App& app) : notes_(app) {
    notes_.mount(router_);
    app.serve(router_);
  }

 private:
  Notes notes_;
  keel::http::Router router_;
};

// --- tests/notes_test.cc

using TestApp = app::TestApp<Journal>;

app::TestAppOptions journal(app::TestAppOptions options = {}) {
  options.settings.push_back("database.migrations=" JOURNAL_MIGRATIONS);
  return options;
}

TEST(Notes, that_are_finished_are_listed_no_more_and_forgotten_a_day_later) {
  TestApp app(journal());
  app.post("/notes", R"({"text":"buy tea"})");

  EXPECT_EQ(app.post("/notes/1/finish").status(), 204);
  EXPECT_EQ(app.post("/notes/1/finish").status(), 404);
  EXPECT_EQ(app.get("/notes").body(), "[]");
  EXPECT_EQ(app.get("/notes/1").status(), 200);

  app.advance(25_h);
  EXPECT_EQ(app.get("/notes/1").status(), 404);
}

TEST(Notes, are_counted_when_they_are_finished) {
  TestApp app(journal());
  app.post("/notes", R"({"text":"buy tea"})");
  app.post("/notes/1/finish");

  http::TestClient admin(app.admin());
  EXPECT_NE(admin.get("/metrics").body().find("notes_finished_total 1"), std::string_view::npos);
}

TEST(TutorialDoc, has_what_was_there_before) {
  TestApp app(journal());
  EXPECT_EQ(app.post("/notes", R"({"text":"buy tea"})").status(), 201);
  app.crash();
  EXPECT_EQ(app.get("/notes?limit=2").body(), R"([{"id":1,"text":"buy tea"}])");
  EXPECT_EQ(app.del("/notes/1").status(), 204);
  EXPECT_EQ(app.get("/notes?limit=101").status(), 400);
}

}  // namespace
}  // namespace keel::app::tutorial_doc_test
