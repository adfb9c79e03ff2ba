// The configuration: what every Keel service has (keel/app/settings.h), and the section `shop`.

#pragma once

#include "keel/app/settings.h"

struct ShopSettings {
  keel::config::Secret admin_token;                                     // What a request to /admin has to show.
  keel::Duration unpaid_max = keel::Duration::minutes(30);              // Then an open order expires.
  std::string pictures = "data/pictures";                               // Their folder, which is made.
  keel::config::ByteSize picture_max = keel::config::ByteSize::mib(8);  // Above it 413.

  void rules(keel::Check& check) const {
    check(admin_token).satisfies([](auto& token) { return !token.empty(); }, "is needed: set KEEL_SHOP__ADMIN_TOKEN");
  }
};

struct Settings : keel::app::Settings {
  ShopSettings shop;

  void fields(keel::config::Schema& v) {
    keel::app::Settings::fields(v);
    keel::config::field(v, "shop", shop, "products, orders and their administration");
  }
};
