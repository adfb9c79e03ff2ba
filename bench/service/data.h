// Takes any JSON object and keeps it: POST /api/data gives 201 and {"id":…}.

#pragma once

#include "keel/db/session.h"
#include "keel/db/sqlite/database.h"
#include "keel/http/server/router.h"

class Data {
 public:
  // The session outlives this, and this outlives the router.
  explicit Data(keel::db::Session& session) : session_(session) {}
  void mount(keel::http::Router& router) { router.post("/api/data", *this, &Data::create); }

 private:
  keel::Task<keel::http::Response> create(keel::http::Request& request);
  keel::db::Session& session_;
};
