// A whole service: the contracts of users.h and data.h, and GET /health.

#pragma once

#include "data.h"
#include "keel/app/app.h"
#include "users.h"

class Fullstack {
 public:
  explicit Fullstack(keel::app::App& app) : users_(app.database()), data_(app.database()) {
    router_.get("/health", &Fullstack::health);
    users_.mount(router_);
    data_.mount(router_);
    app.serve(router_);
  }

 private:
  static keel::http::Response health(keel::http::Request&) {
    return keel::http::Response::text(keel::http::Status::Ok, R"({"status":"ok"})", "application/json");
  }

  Users users_;
  Data data_;
  keel::http::Router router_;
};
