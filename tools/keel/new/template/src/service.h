// The service: creates its parts with the objects that they need, and adds the routes of all parts.

#pragma once

#include <keel/app/app.h>

#include "notes.h"

class ServiceName {
 public:
  explicit ServiceName(keel::app::App& app) : notes_(app.database()) {
    notes_.mount(router_);
    app.serve(router_);
  }

 private:
  Notes notes_;
  keel::http::Router router_;
};
