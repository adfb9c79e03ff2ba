#include "products.h"

#include "keel/task/on_error.h"

using namespace keel;

namespace {

constexpr std::string_view no_such_product = "there is no product with this id";

std::unexpected<Error> taken() { return fail(Code::Conflict, "another product has this SKU"); }

}  // namespace

Task<api::ListProductsResponse> Products::list_products(http::Request&, const api::ListProductsRequest& request) {
  api::ProductPage page;
  page.products = co_await database_.query_many<api::Product>(
      "select * from products where id > $after and ($category is null or category = $category)"
      " and ($search is null or instr(lower(name), lower($search)) > 0)"
      " and ($max_price_cents is null or price_cents <= $max_price_cents) order by id limit $limit",
      request);
  if (std::ssize(page.products) == request.limit) page.next = page.products.back().id;
  co_return page;
}

Task<api::CreateProductResponse> Products::create_product(http::Request&, const api::CreateProductRequest& request) {
  const auto product = co_await on_error(
      Code::AlreadyExists, taken(),
      database_.query_one<api::Product>("insert into products (sku, name, price_cents, category, stock, note)"
                                        " values ($sku, $name, $price_cents, $category, $stock, $note) returning *",
                                        request.body));
  co_return api::CreateProductResponse::created(product, {.location = "/products/" + std::to_string(product.id)});
}

Task<api::GetProductResponse> Products::get_product(http::Request&, const api::GetProductRequest& request) {
  const auto product =
      co_await database_.query_optional<api::Product>("select * from products where id = $id", request);
  if (!product) co_return api::GetProductResponse::not_found(no_such_product);
  co_return *product;
}

Task<api::ReplaceProductResponse> Products::replace_product(http::Request&, const api::ReplaceProductRequest& request) {
  const api::NewProduct& body = request.body;
  const auto product =
      co_await on_error(Code::AlreadyExists, taken(),
                        database_.query_optional<api::Product>(
                            "update products set sku = $2, name = $3, price_cents = $4, category = $5,"
                            " stock = $6, note = $7 where id = $1 returning *",
                            request.id, body.sku, body.name, body.price_cents, body.category, body.stock, body.note));
  if (!product) co_return api::ReplaceProductResponse::not_found(no_such_product);
  co_return *product;
}

Task<api::ChangeProductResponse> Products::change_product(http::Request&, const api::ChangeProductRequest& request) {
  const api::ProductChange& body = request.body;
  const auto product = co_await database_.query_optional<api::Product>(
      "update products set name = coalesce($2, name), price_cents = coalesce($3, price_cents),"
      " stock = coalesce($4, stock), note = iif($5, $6, note) where id = $1 returning *",
      request.id, body.name, body.price_cents, body.stock, !body.note.is_absent(), body.note);
  if (!product) co_return api::ChangeProductResponse::not_found(no_such_product);
  co_return *product;
}

Task<api::DeleteProductResponse> Products::delete_product(http::Request&, const api::DeleteProductRequest& request) {
  const auto written = co_await database_.execute("delete from products where id = $id", request);
  if (written.changes == 0) co_return api::DeleteProductResponse::not_found(no_such_product);
  co_return api::DeleteProductResponse::no_content();
}
