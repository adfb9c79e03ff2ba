#include "products.h"

#include "keel/task/on_error.h"
#include "queries/products.h"

using namespace keel;

namespace {

constexpr std::string_view no_such_product = "there is no product with this id";

std::unexpected<Error> taken() { return fail(Code::Conflict, "another product has this SKU"); }

}  // namespace

Task<api::ListProductsResponse> Products::list_products(http::Request&, const api::ListProductsRequest& request) {
  api::ProductPage page;
  page.products = co_await queries::list_products(database_, request);
  // The query reads one more product than fits on a page, to know whether there is a next page.
  if (std::ssize(page.products) > request.limit) {
    page.products.pop_back();
    page.next = page.products.back().id;
  }
  co_return page;
}

Task<api::CreateProductResponse> Products::create_product(http::Request&, const api::CreateProductRequest& request) {
  const auto product =
      co_await on_error(Code::AlreadyExists, taken(), queries::create_product(database_, request.body));
  co_return api::CreateProductResponse::created(product, {.location = "/products/" + std::to_string(product.id)});
}

Task<api::GetProductResponse> Products::get_product(http::Request&, const api::GetProductRequest& request) {
  const auto product = co_await queries::find_product(database_, request.id);
  if (!product) co_return api::GetProductResponse::not_found(no_such_product);
  co_return *product;
}

Task<api::ReplaceProductResponse> Products::replace_product(http::Request&, const api::ReplaceProductRequest& request) {
  const api::NewProduct& body = request.body;
  queries::ReplaceProductParams wanted{.sku = body.sku,
                                       .name = body.name,
                                       .price_cents = body.price_cents,
                                       .category = body.category,
                                       .stock = body.stock,
                                       .id = request.id};
  body.note.apply_to(wanted.note);
  const auto product = co_await on_error(Code::AlreadyExists, taken(), queries::replace_product(database_, wanted));
  if (!product) co_return api::ReplaceProductResponse::not_found(no_such_product);
  co_return *product;
}

Task<api::ChangeProductResponse> Products::change_product(http::Request&, const api::ChangeProductRequest& request) {
  const api::ProductChange& body = request.body;
  queries::ChangeProductParams change{.name = body.name,
                                      .price_cents = body.price_cents,
                                      .stock = body.stock,
                                      .has_note = !body.note.is_absent(),
                                      .id = request.id};
  body.note.apply_to(change.note);
  const auto product = co_await queries::change_product(database_, change);
  if (!product) co_return api::ChangeProductResponse::not_found(no_such_product);
  co_return *product;
}

Task<api::DeleteProductResponse> Products::delete_product(http::Request&, const api::DeleteProductRequest& request) {
  const auto written = co_await queries::remove_product(database_, request.id);
  if (written.changes == 0) co_return api::DeleteProductResponse::not_found(no_such_product);
  co_return api::DeleteProductResponse::no_content();
}
