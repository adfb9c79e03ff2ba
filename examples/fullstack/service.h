// A whole service, which serves all operations of api.yaml.

#pragma once

#include "api/api.h"
#include "data.h"
#include "health.h"
#include "keel/app/app.h"
#include "users.h"

class Fullstack {
 public:
  explicit Fullstack(keel::app::App& app) : data_(app.database()), users_(app.database()) {
    api::mount(router_, data_, health_, users_);
    app.serve(router_);
  }

 private:
  Data data_;
  Health health_;
  Users users_;
  keel::http::Router router_;
};
