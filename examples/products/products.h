// Implements the operations of api.yaml, and stores their data in a database.

#pragma once

#include "api/api.h"
#include "keel/app/app.h"

class Products final : public api::ProductsHandler {
 public:
  explicit Products(keel::db::Session& database) : database_(database) {}

  keel::Task<api::ListProductsResponse> list_products(keel::http::Request& http,
                                                      const api::ListProductsRequest& request) override;
  keel::Task<api::CreateProductResponse> create_product(keel::http::Request& http,
                                                        const api::CreateProductRequest& request) override;
  keel::Task<api::GetProductResponse> get_product(keel::http::Request& http,
                                                  const api::GetProductRequest& request) override;
  keel::Task<api::ReplaceProductResponse> replace_product(keel::http::Request& http,
                                                          const api::ReplaceProductRequest& request) override;
  keel::Task<api::ChangeProductResponse> change_product(keel::http::Request& http,
                                                        const api::ChangeProductRequest& request) override;
  keel::Task<api::DeleteProductResponse> delete_product(keel::http::Request& http,
                                                        const api::DeleteProductRequest& request) override;

 private:
  keel::db::Session& database_;
};

struct Service {
  Products products;
  keel::http::Router router;
  explicit Service(keel::app::App& app) : products(app.database()) {
    api::mount(router, products);
    app.serve(router);
  }
};
