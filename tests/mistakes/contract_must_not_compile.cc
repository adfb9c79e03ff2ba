// What somebody gets wrong in a service that is made from a contract, or has forgotten after a change of it, chosen by
// CASE: the compiler's first error names the operation, the field or the type (CMakeLists.txt has the table). CASE 0
// compiles. The contract is that of examples/products.

#include <memory>

#include "api/products.h"

using namespace keel;

class Handler : public api::ProductsHandler {
 public:
  Task<api::ListProductsResponse> list_products(http::Request&, const api::ListProductsRequest&) override;
  Task<api::CreateProductResponse> create_product(http::Request&, const api::CreateProductRequest&) override;
  Task<api::GetProductResponse> get_product(http::Request&, const api::GetProductRequest&) override;
  Task<api::ReplaceProductResponse> replace_product(http::Request&, const api::ReplaceProductRequest&) override;
  Task<api::ChangeProductResponse> change_product(http::Request&, const api::ChangeProductRequest&) override;
};

#if CASE == 0
class Whole final : public Handler {
  Task<api::DeleteProductResponse> delete_product(http::Request&, const api::DeleteProductRequest&) override;
};
auto whole() { return std::make_unique<Whole>(); }
api::GetProductResponse answered(const api::Product& product) {
  if (product.id == 0) return api::GetProductResponse::not_found("there is none");
  return product;
}
#elif CASE == 1
// It does not have an operation of the contract.
class Missing : public Handler {};
Missing missing;
#elif CASE == 2
// The contract does not have its operation any more.
class Removed : public Handler {
  Task<api::GetProductResponse> find_product(http::Request&, const api::GetProductRequest&) override;
};
#elif CASE == 3
// The operation has no such response.
api::GetProductResponse undeclared() { return api::GetProductResponse::conflict("it is sold"); }
#elif CASE == 4
// The body is another type.
api::GetProductResponse wrong_body(const api::NewProduct& product) { return product; }
#elif CASE == 5
// The schema does not have the field any more.
std::string removed_field(const api::Product& product) { return product.colour; }
#elif CASE == 6
// The parameter has another type.
std::string wrong_type(const api::GetProductRequest& request) { return request.id; }
#elif CASE == 7
// A header that the contract requires is not given.
api::CreateProductResponse without_header(const api::Product& product) {
  return api::CreateProductResponse::created(product);
}
#endif
