#include "notes.h"

#include <keel/data/json_write.h>
#include <keel/http/server/input.h>
#include <keel/http/server/problem.h>

#include <cstdint>
#include <string>

using namespace keel;

namespace {

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

}  // namespace

void Notes::mount(http::Router& router) {
  router.post("/notes", *this, &Notes::create)
      .get("/notes", *this, &Notes::list)
      .get("/notes/{id}", *this, &Notes::find)
      .del("/notes/{id}", *this, &Notes::remove);
}

Task<http::Response> Notes::create(http::Request& request) {
  const auto draft = co_await request.json<NewNote>();  // An invalid body gets 422 with all violations.
  const db::Written written = co_await database_.execute("insert into notes (text) values ($text)", draft);
  co_return http::Response::json(http::Status::Created, Note{written.last_insert_id, draft.text})
      .header("Location", "/notes/" + std::to_string(written.last_insert_id));
}

Task<http::Response> Notes::list(http::Request& request) {
  const auto page = co_await request.query<Page>();
  const auto notes = co_await database_.query_many<Note>(
      "select id, text from notes where id > $after order by id limit $limit", page);
  co_return http::Response::json(notes);
}

Task<http::Response> Notes::find(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");  // An `id` that is not a number gets 400.
  const auto note = co_await database_.query_optional<Note>("select id, text from notes where id = $1", id);
  if (!note) co_return http::refuse(http::Status::NotFound, "no note has this number");
  co_return http::Response::json(*note);
}

Task<http::Response> Notes::remove(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");
  const db::Written written = co_await database_.execute("delete from notes where id = $1", id);
  if (written.changes == 0) co_return http::refuse(http::Status::NotFound, "no note has this number");
  co_return http::Response(http::Status::NoContent);
}
