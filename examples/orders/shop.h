// The service: creates its parts and connects them.

#pragma once

#include "api/api.h"
#include "keel/http.h"
#include "orders.h"
#include "products.h"
#include "settings.h"

// Checks that a request is from the administrator, who presents the token.
class Access final : public api::Security {
 public:
  explicit Access(const ShopSettings& settings)
      : keys_(keel::http::one_of({{"admin", std::string(settings.admin_token.reveal())}})) {}

  keel::Task<> administrator(keel::http::Request&, std::string_view token, keel::contract::Scopes) override {
    if (!keys_(token)) co_await keel::fail(keel::Code::Unauthenticated, "it is not the administrator's");
  }

 private:
  const keel::http::KnownKeys keys_;
};

class Shop {
 public:
  explicit Shop(keel::app::App& app) : Shop(app, app.settings<Settings>().shop) {}

 private:
  Shop(keel::app::App& app, const ShopSettings& settings)
      : access_(settings),
        products_(app),
        payments_(app),
        orders_(app, payments_),
        pictures_({.folder = settings.pictures, .cache_control = "public, max-age=60"}) {
    router_.use(keel::http::SecurityHeaders());
    api::mount(router_, access_, orders_, products_, {.streamed_bytes_max = settings.picture_max.bytes});
    pictures_.mount(router_, "/pictures");
    app.serve(router_);
  }

  Access access_;
  Products products_;
  Payments payments_;
  Orders orders_;
  keel::http::StaticFiles pictures_;
  keel::http::Router router_;
};
