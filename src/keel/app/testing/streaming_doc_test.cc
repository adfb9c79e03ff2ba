// docs/streaming.md, compiled and run: in the notes of a service that `keel new shop` writes

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "keel/app/app.h"
#include "keel/app/testing/test_app.h"
#include "keel/data/json_write.h"
#include "keel/http.h"
#include "keel/task/timing.h"

#define NOTES_MIGRATIONS KEEL_SOURCE_DIR "/tools/keel/new/template/db/migrations"

namespace keel::app::streaming_doc_test {
namespace {

struct NewNote {
  std::string text;
};

struct Note {
  std::int64_t id = 0;
  std::string text;
};

class Notes {
 public:
  explicit Notes(db::Session& database) : database_(database) {}
  void mount(http::Router& router) {
    router.post("/notes", *this, &Notes::create);
    router.get("/notes.ndjson", *this, &Notes::dump);
    router.get("/notes/with/{word}", *this, &Notes::search);
    router.get("/broken", *this, &Notes::broken);
    router.get("/broken/early", [](http::Request&) {
      return http::Response::stream(http::Status::Ok, "text/plain", &Notes::fail_early);
    });
  }

 private:
  Task<http::Response> create(http::Request& request) {
    const auto draft = co_await request.json<NewNote>();
    co_await database_.execute("insert into notes (text) values ($text)", draft);
    co_return http::Response(http::Status::Created);
  }
  keel::http::Response dump(keel::http::Request& request);
  keel::Task<> write_all(keel::http::BodyWriter& out);
  Task<http::Response> search(http::Request& request);
  Task<> write_found(http::BodyWriter& out, std::string word);
  http::Response broken(http::Request& request);
  Task<> fail_half_way(http::BodyWriter& out);
  static Task<> fail_early(http::BodyWriter& out) {
    co_await out.write("the first half\n");
    co_await fail(Code::Unavailable, "there is no second half");
  }

  db::Session& database_;
};

http::Response Notes::dump(http::Request&) {
  return http::Response::stream(http::Status::Ok, "application/x-ndjson", *this, &Notes::write_all);
}

Task<> Notes::write_all(http::BodyWriter& out) {
  std::int64_t after = 0;
  while (true) {
    const auto page =
        co_await database_.query_many<Note>("select id, text from notes where id > $1 order by id limit 200", after);
    if (page.empty()) co_return;
    std::string lines;
    for (const Note& note : page) lines += json::write(note) + '\n';
    co_await out.write(lines);
    after = page.back().id;
  }
}

Task<http::Response> Notes::search(http::Request& request) {
  const auto word = co_await request.path_param<std::string_view>("word");
  co_return http::Response::stream(http::Status::Ok, "application/x-ndjson", *this, &Notes::write_found,
                                   std::string(word));
}

Task<> Notes::write_found(http::BodyWriter& out, std::string word) {
  const auto found = co_await database_.query_many<Note>(
      "select id, text from notes where instr(text, $1) > 0 order by id limit 200", word);
  std::string lines;
  for (const Note& note : found) lines += json::write(note) + '\n';
  co_await out.write(lines);
}

http::Response Notes::broken(http::Request&) {
  return http::Response::stream(http::Status::Ok, "text/plain", *this, &Notes::fail_half_way);
}

Task<> Notes::fail_half_way(http::BodyWriter& out) {
  co_await out.write("the first half\n");
  co_await sleep_for(1_s);
  co_await fail(Code::Unavailable, "there is no second half");
}

class Shop {
 public:
  explicit Shop(app::App& app) : notes_(app.database()) {
    notes_.mount(router_);
    app.serve(router_);
  }

 private:
  Notes notes_;
  http::Router router_;
};

using TestApp = app::TestApp<Shop>;

app::TestAppOptions shop() { return {.settings = {"database.migrations=" NOTES_MIGRATIONS}}; }

TEST(NotesExport, has_every_note_once) {
  TestApp app(shop());
  for (int i = 0; i < 1000; ++i) app.post("/notes", R"({"text":"buy tea"})");

  const http::TestResponse dump = app.get("/notes.ndjson");

  EXPECT_EQ(dump.status(), 200);
  EXPECT_EQ(std::ranges::count(dump.body(), '\n'), 1000);
}

TEST(StreamingDoc, gives_the_task_what_it_needs) {
  TestApp app(shop());
  for (const char* text : {"buy tea", "sleep", "drink tea"}) app.post("/notes", NewNote{text});
  EXPECT_EQ(app.get("/notes/with/tea").body(), "{\"id\":1,\"text\":\"buy tea\"}\n{\"id\":3,\"text\":\"drink tea\"}\n");
}

TEST(StreamingDoc, has_an_error_of_the_beginning_as_a_response_and_a_later_one_as_none) {
  TestApp app(shop());
  EXPECT_EQ(app.get("/broken/early").status(), 503);
  EXPECT_EQ(app.get("/broken").status(), 0) << "the connection has ended before the body";
  const std::string log = app.log();
  EXPECT_NE(log.find("the body of a response failed; its connection was reset"), std::string::npos) << log;
  EXPECT_NE(log.find("request cut"), std::string::npos) << log;
}

}  // namespace
}  // namespace keel::app::streaming_doc_test
