// Generated code under measurement: the operations of examples/products, those of api.yaml, which add up what they have
// read, and /plaintext. Section `bench` of its settings fills the table of products before it listens.

#include <string>

#include "keel/app/app.h"
#include "keel/db/sqlite/connection.h"
#include "measured/api.h"
#include "products.h"

using namespace keel;

namespace {

http::Response plaintext(http::Request&) {
  return http::Response::text(http::Status::Ok, "Hello, World!", "text/plain");
}

class Bodies final : public measured::BodiesHandler {
 public:
  Task<measured::AddOrderResponse> add_order(http::Request&, const measured::AddOrderRequest& request) override {
    std::int64_t sum = 0;
    for (const measured::Line& line : request.body.lines) sum += line.quantity * line.price_cents;
    co_return measured::AddOrderResponse::ok(std::to_string(sum));
  }
  Task<measured::AddReadingsResponse> add_readings(http::Request&,
                                                   const measured::AddReadingsRequest& request) override {
    double sum = 0;
    for (const auto& reading : request.body.readings) {
      const auto* const wind = std::get_if<measured::Wind>(&reading);
      sum += wind != nullptr ? wind->speed : std::get<measured::Temperature>(reading).celsius;
    }
    co_return measured::AddReadingsResponse::ok(std::to_string(static_cast<std::int64_t>(sum)));
  }
};

std::string sum_of(const std::string& shop, std::int64_t id) {
  return std::to_string(static_cast<std::int64_t>(shop.size()) + id);
}

class Routes final : public measured::RoutesHandler {
 public:
  Task<measured::GetCustomerResponse> get_customer(http::Request&,
                                                   const measured::GetCustomerRequest& request) override {
    co_return measured::GetCustomerResponse::ok(sum_of(request.shop, request.id));
  }
  Task<measured::GetCartResponse> get_cart(http::Request&, const measured::GetCartRequest& request) override {
    co_return measured::GetCartResponse::ok(sum_of(request.shop, request.id));
  }
  Task<measured::GetInvoiceResponse> get_invoice(http::Request&, const measured::GetInvoiceRequest& request) override {
    co_return measured::GetInvoiceResponse::ok(sum_of(request.shop, request.id));
  }
  Task<measured::GetItemResponse> get_item(http::Request&, const measured::GetItemRequest& request) override {
    co_return measured::GetItemResponse::ok(sum_of(request.shop, request.id));
  }
  Task<measured::GetParcelResponse> get_parcel(http::Request&, const measured::GetParcelRequest& request) override {
    co_return measured::GetParcelResponse::ok(sum_of(request.shop, request.id));
  }
  Task<measured::GetStoreResponse> get_store(http::Request&, const measured::GetStoreRequest& request) override {
    co_return measured::GetStoreResponse::ok(sum_of(request.shop, request.id));
  }
  Task<measured::GetTicketResponse> get_ticket(http::Request&, const measured::GetTicketRequest& request) override {
    co_return measured::GetTicketResponse::ok(sum_of(request.shop, request.id));
  }
  Task<measured::GetVoucherResponse> get_voucher(http::Request&, const measured::GetVoucherRequest& request) override {
    co_return measured::GetVoucherResponse::ok(sum_of(request.shop, request.id));
  }
};

struct ExtraSettings {
  unsigned products = 0;
  void fields(config::Schema& v) {
    config::field(v, "products", products, "rows of products inserted before it listens", {0, 1'000'000});
  }
};

struct BenchSettings : app::Settings {
  BenchSettings() { database.migrations = KEEL_MIGRATIONS; }
  ExtraSettings bench;
  void fields(config::Schema& v) {
    Settings::fields(v);
    config::field(v, "bench", bench, "what the lab's experiments need");
  }
};

// In one transaction.
Result<> insert_products(const std::string& path, unsigned count) {
  KEEL_TRY(auto connection, db::sqlite::Connection::open({.path = path}));
  return connection->run(
      "with recursive filled (n) as (select 1 union all select n + 1 from filled where n < $1)"
      " insert into products (sku, name, price_cents, category, stock)"
      " select 'FI-' || n, 'Filled ' || n, n % 1000 + 1, 'books', 1 from filled",
      static_cast<std::int64_t>(count));
}

}  // namespace

int main(int argc, char** argv) {
  auto config = app::load_or_exit<BenchSettings>("bench_contract", argc, argv);
  app::App app("bench_contract", config);
  Products products(app.database());
  if (config->bench.products != 0) {
    if (auto filled = insert_products(config->database.path, config->bench.products); !filled) {
      app.fail_start(filled.error());
    }
  }
  Bodies bodies;
  Routes routes;
  http::Router router;
  router.get("/plaintext", plaintext);
  api::mount(router, products);
  measured::mount(router, bodies, routes, {.documentation = {.document_path = "", .page_path = ""}});
  app.serve(router);
  return app.run();
}
