#include "notes.h"

#include <keel/data/json_parse.h>
#include <keel/data/json_write.h>
#include <keel/http/server/problem.h>

#include <algorithm>
#include <cstdint>
#include <string>

using namespace keel;

namespace {

constexpr std::int64_t page_max = 100;

struct NewNote {
  std::string text;

  void rules(Check& check) const { check(text).length(1, 1000); }
};

struct Note {
  std::int64_t id = 0;
  std::string text;

  static Note from_row(const db::Row& row) { return {row.integer(0), std::string(row.text(1))}; }  // select id, text
};

template <class T>
http::Response json_response(http::Status status, const T& value) {
  return http::Response::text(status, json::write(value), "application/json");
}

}  // namespace

void Notes::mount(http::Router& router) {
  router.post("/notes", *this, &Notes::create)
      .get("/notes", *this, &Notes::list)
      .get("/notes/{id}", *this, &Notes::find)
      .del("/notes/{id}", *this, &Notes::remove);
}

Task<http::Response> Notes::create(http::Request& request) {
  const auto draft = co_await json::parse<NewNote>(request.body());  // 400 that says what is wrong
  const db::Written written = co_await database_.execute("insert into notes (text) values ($1)", draft.text);
  co_return json_response(http::Status::Created, Note{written.last_insert_id, draft.text})
      .header("Location", "/notes/" + std::to_string(written.last_insert_id));
}

Task<http::Response> Notes::list(http::Request& request) {
  const auto after = co_await request.query_param<std::int64_t>("after");
  const auto limit = co_await request.query_param<std::int64_t>("limit");
  const auto notes =
      co_await database_.query_many<Note>("select id, text from notes where id > $1 order by id limit $2",
                                          after.value_or(0), std::clamp<std::int64_t>(limit.value_or(20), 1, page_max));
  co_return json_response(http::Status::Ok, notes);
}

Task<http::Response> Notes::find(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");  // 400 when it is not a number
  const auto note = co_await database_.query_optional<Note>("select id, text from notes where id = $1", id);
  if (!note) co_return http::refuse(http::Status::NotFound, "no note has this number");
  co_return json_response(http::Status::Ok, *note);
}

Task<http::Response> Notes::remove(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");
  const db::Written written = co_await database_.execute("delete from notes where id = $1", id);
  if (written.changes == 0) co_return http::refuse(http::Status::NotFound, "no note has this number");
  co_return http::Response(http::Status::NoContent);
}
