// A service generated from its contract: api.yaml defines requests and responses, and products.cc implements the
// operations.
//
//   build/release/examples/products/products --config examples/products/service.yaml
//
//   curl -i localhost:8080/products --json '{"sku":"TE-1","name":"Green tea","price_cents":500,"category":"kitchen"}'
//   curl -i 'localhost:8080/products?category=kitchen&limit=10'
//   curl -i -X PATCH localhost:8080/products/1 --json '{"stock":20,"note":null}'
//   open http://localhost:8080/docs

#include "products.h"

int main(int argc, char** argv) { return keel::app::run<Service>("products", argc, argv); }
