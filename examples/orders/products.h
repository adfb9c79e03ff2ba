// Products and their pictures: everybody can see them, but only the administrator can change them.

#pragma once

#include "api/products.h"
#include "keel/app/app.h"
#include "settings.h"

class Products final : public api::ProductsHandler {
 public:
  explicit Products(keel::app::App& app);

  keel::Task<api::ListProductsResponse> list_products(keel::http::Request& http,
                                                      const api::ListProductsRequest& request) override;
  keel::Task<api::GetProductResponse> get_product(keel::http::Request& http,
                                                  const api::GetProductRequest& request) override;
  keel::Task<api::PutProductResponse> put_product(keel::http::Request& http,
                                                  const api::PutProductRequest& request) override;
  keel::Task<api::PutPictureResponse> put_picture(keel::http::Request& http,
                                                  const api::PutPictureRequest& request) override;

 private:
  keel::Task<> receive(keel::http::Request& http, std::string part);

  keel::db::Session& database_;
  const std::string& pictures_;
};
