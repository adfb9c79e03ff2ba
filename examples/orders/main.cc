// A shop. Products have pictures. An order takes products out of stock. Later, the order is paid through another
// server, is canceled, or expires. api.yaml defines requests and responses; orders.cc and products.cc implement them.
//
//   export KEEL_SHOP__ADMIN_TOKEN=secret
//   build/release/examples/orders/orders --config examples/orders/service.yaml
//   open http://localhost:8080/docs
//
// By default, the database is a file. To use a PostgreSQL server instead, set these two variables:
//
//   export KEEL_DATABASE__TYPE=postgres KEEL_DATABASE__URL=postgres://me@localhost/shop
//
// For everybody:
//
//   curl -i localhost:8080/products
//   curl -i localhost:8080/products/tea
//   curl -i localhost:8080/pictures/tea.png
//   curl -i localhost:8080/orders --json '{"customer":"ada","lines":[{"sku":"tea","quantity":2}]}'
//        201 with the order and its Location; 409 when a product has less in stock than is ordered
//   curl -i 'localhost:8080/orders?customer=ada&state=open&after=0&limit=20'
//        {"orders":[…],"next":17}: the next page is that with after=17; null on the last one
//   curl -i localhost:8080/orders/1
//   curl -i -X POST localhost:8080/orders/1/payment
//        the order, with 200 when it is paid, 202 when the payment continues without this request, else 409
//   curl -i -X POST localhost:8080/orders/1/cancel
//        the order, with 200 when it is cancelled by this, else 409
//
// The administrator's request, with the token (without the token, the response is 401):
//
//   alias admin="curl -i -H 'Authorization: Bearer secret'"
//   admin -X PUT localhost:8080/admin/products --json '{"sku":"tea","name":"Green tea","price_cents":500,"stock":50}'
//        adds the product, or replaces the one with this SKU
//   admin -T tea.png -H 'Content-Type: image/png' localhost:8080/admin/products/tea/picture
//   admin localhost:8080/admin/orders.ndjson
//        all orders, one a line
//
// The response lists all violations of a request together (application/problem+json).

#include "settings.h"
#include "shop.h"

int main(int argc, char** argv) { return keel::app::run<Shop, Settings>({"orders", VERSION}, argc, argv); }
