// What somebody gets wrong who asks a service by the clients of its contract, that of examples/products. The first case
// compiles.

#include "api/products_client.h"

namespace {

using namespace keel;

[[maybe_unused]] Task<> ask(api::ProductsClient& products) {
  const api::GetProductResult found = co_await products.get_product({.id = 7});
  static_cast<void>(found);
#if CASE == 1
  // A request with texts is made where it is awaited.
  static_cast<void>(co_await products.create_product({.body = {}}));
#elif CASE == 2
  // The contract does not have this response.
  static_cast<void>(found.conflict());
#elif CASE == 3
  // The body of another response.
  const api::Product* const product = found.not_found();
  static_cast<void>(product);
#elif CASE == 4
  // The contract does not have this parameter.
  static_cast<void>(co_await products.get_product({.sku = 7}));
#elif CASE == 5
  // An operation that was not selected.
  static_cast<void>(co_await products.delete_product({.id = 7}));
#endif
}

}  // namespace
