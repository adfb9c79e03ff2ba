// The configuration: the settings of every Keel service (keel/app/settings.h), and the section `shop`.

#pragma once

#include "keel/app/settings.h"

struct ShopSettings {
  // The token that a request to /admin must present.
  keel::config::Secret admin_token;
  keel::Duration unpaid_max = keel::Duration::minutes(30);  // The time after which an unpaid order expires.
  // The folder of the pictures; the service creates it.
  std::string pictures = "data/pictures";
  // The size limit of a picture; a larger picture gets 413.
  keel::config::ByteSize picture_max = keel::config::ByteSize::mib(8);

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
