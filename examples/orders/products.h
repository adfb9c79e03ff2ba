// Products and their pictures: shown to everybody, written by the administrator.

#pragma once

#include "keel/app/app.h"
#include "keel/http.h"
#include "settings.h"

struct Product {
  std::string sku;
  std::string name;
  std::int64_t price_cents = 0;
  std::int64_t stock = 0;

  void rules(keel::Check& check) const {
    check(sku).length(1, 40).matches("[A-Za-z0-9-]+");  // It is a part of URLs and file names.
    check(name).length(1, 200);
    check(price_cents).range(1, 100'000'000);
    check(stock).range(0, 1'000'000);
  }
};

class Products {
 public:
  explicit Products(keel::app::App& app);
  void mount(keel::http::Router& router, keel::http::Group& admin);

 private:
  keel::Task<keel::http::Response> list(keel::http::Request& request);
  keel::Task<keel::http::Response> find(keel::http::Request& request);
  keel::Task<keel::http::Response> put(keel::http::Request& request);
  keel::Task<keel::http::Response> put_picture(keel::http::Request& request);
  keel::Task<> receive(keel::http::Request& request, std::string part);
  keel::Task<Product> read(std::string_view sku);

  keel::db::Session& database_;
  const ShopSettings& settings_;
  keel::http::StaticFiles pictures_;
};
