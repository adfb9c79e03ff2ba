// Notes that are stored:
//
//   POST   /notes        201 with the note: {"id":1,"text":"buy tea"}
//   GET    /notes        200 with a page of them; ?after=ID and ?limit=N, at most 100
//   GET    /notes/{id}   200, or 404
//   DELETE /notes/{id}   204, or 404

#pragma once

#include <keel/db/session.h>
#include <keel/http/server/router.h>

class Notes {
 public:
  explicit Notes(keel::db::Session& database) : database_(database) {}
  void mount(keel::http::Router& router);

 private:
  keel::Task<keel::http::Response> create(keel::http::Request& request);
  keel::Task<keel::http::Response> list(keel::http::Request& request);
  keel::Task<keel::http::Response> find(keel::http::Request& request);
  keel::Task<keel::http::Response> remove(keel::http::Request& request);

  keel::db::Session& database_;
};
