// The users of examples/fullstack, on routes that are written by hand. A handler reads and writes views, so that no
// request allocates on the heap.
//
//   GET    /api/users?limit=20&after=0   a page in order of id: {"items":[…],"next":20}; next is null on the last page
//   POST   /api/users                    201 with the new row and its Location; 409 when the address is taken
//   GET    /api/users/{id}               200, or 404
//   PUT    /api/users/{id}               200 with the row as it is now, or 404
//   DELETE /api/users/{id}               204, or 404

#pragma once

#include "keel/db/session.h"
#include "keel/db/sqlite/database.h"
#include "keel/http/server/router.h"

class Users {
 public:
  // The session outlives this, and this outlives the router.
  explicit Users(keel::db::Session& session) : session_(session) {}
  void mount(keel::http::Router& router);

 private:
  keel::Task<keel::http::Response> list(keel::http::Request& request);
  keel::Task<keel::http::Response> create(keel::http::Request& request);
  keel::Task<keel::http::Response> find(keel::http::Request& request);
  keel::Task<keel::http::Response> replace(keel::http::Request& request);
  keel::Task<keel::http::Response> remove(keel::http::Request& request);

  keel::db::Session& session_;
};
