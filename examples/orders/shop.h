// The service: its parts, and how they are put together.

#pragma once

#include "orders.h"
#include "products.h"
#include "settings.h"

class Shop {
 public:
  explicit Shop(keel::app::App& app) : products_(app), payments_(app), orders_(app, payments_) {
    const std::string token(app.settings<Settings>().shop.admin_token.reveal());
    router_.use(keel::http::SecurityHeaders());
    keel::http::Group admin = router_.group("/admin");
    admin.use(keel::http::bearer(keel::http::one_of({{"admin", token}}), {.realm = "shop"}));
    products_.mount(router_, admin);
    orders_.mount(router_, admin);
    app.serve(router_);
  }

 private:
  Products products_;
  Payments payments_;
  Orders orders_;
  keel::http::Router router_;
};
