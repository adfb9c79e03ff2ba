// Takes any JSON object and keeps it: POST /api/data gives 201 and {"id":…}.

#pragma once

#include "keel/db/sqlite/database.h"
#include "keel/http/server/router.h"

class Data {
 public:
  // The database outlives this, and this outlives the router.
  explicit Data(keel::db::Database& database) : database_(database) {}
  void mount(keel::http::Router& router) { router.post("/api/data", *this, &Data::create); }

 private:
  keel::Task<keel::http::Response> create(keel::http::Request& request);
  keel::db::Database& database_;
};
