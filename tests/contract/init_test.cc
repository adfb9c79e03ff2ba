// A service without a contract, its tests, and the document that `keel api init` writes of what they asked. Compiled
// with KEEL_RECORD_CONTRACT.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/init.h"
#include "keel/app/testing/test_app.h"
#include "keel/data/tag.h"
#include "keel/data/timestamp.h"
#include "keel/http.h"
#include "openapi/testing.h"

namespace shop {

enum class State : std::uint8_t { Draft, Listed };

struct Size {
  int width = 0;
  static constexpr bool strict_fields = true;
};
struct Card {
  std::string number;
  static constexpr keel::Tag tag = {"type", "card"};
};
struct Invoice {
  std::optional<std::string> reference;
  static constexpr keel::Tag tag = {"type", "invoice"};
};
struct NewProduct {
  std::string name;
  double price = 0;
  State state = State::Draft;
  std::vector<std::string> labels;
  std::map<std::string, int> stock;
  std::optional<Size> size;
  std::variant<Card, Invoice> paid_by;

  static constexpr std::string_view optional_fields[] = {"state", "labels", "stock"};
  void rules(keel::Check& check) const {
    check(name).length(1, 80);
    check(price).at_least(0);
    check.each(labels).matches("[a-z]+");
  }
};
struct Product {
  std::int64_t id = 0;
  std::string name;
  State state = State::Draft;
};
struct Filter {
  std::optional<State> state;
  std::vector<std::string> label;
  int limit = 20;
  static constexpr std::string_view optional_fields[] = {"limit"};
  void rules(keel::Check& check) const { check(limit).range(1, 100); }
};
struct Page {
  std::vector<Product> products;
  std::optional<std::int64_t> next;
};
struct Picture {
  std::string title;
  keel::http::FormPart file;
};

class Products {
 public:
  explicit Products(keel::app::App& app) {
    router_.group("/api/v1")
        .get("/products", *this, &Products::list)
        .post("/products", *this, &Products::create)
        .get("/products/{id:uint}", *this, &Products::find)
        .del("/products/{id:uint}", *this, &Products::remove)
        .post("/products/{id:uint}/picture", *this, &Products::picture)
        .get("/export", *this, &Products::dump)
        .put("/products/{id:uint}", *this, &Products::create)
        .get("/files/{path...}", *this, &Products::dump);
    app.serve(router_);
  }

 private:
  keel::Task<keel::http::Response> list(keel::http::Request& request) {
    const Filter filter = co_await request.query<Filter>();
    co_return keel::http::Response::json(Page{.products = {{.id = filter.limit, .name = {}}}, .next = {}});
  }
  keel::Task<keel::http::Response> create(keel::http::Request& request) {
    const NewProduct product = co_await request.json<NewProduct>();
    co_return keel::http::Response::json(keel::http::Status::Created, Product{.id = 1, .name = product.name})
        .header("Location", "/api/v1/products/1");
  }
  keel::http::Response find(keel::http::Request& request) {
    const auto id = request.path_param<std::int64_t>("id");
    if (*id != 1) return keel::http::problem(request, keel::Error(keel::Code::NotFound, "there is no such product"));
    return keel::http::Response::json(Product{.id = *id, .name = "tea"});
  }
  keel::http::Response remove(keel::http::Request&) { return keel::http::Response(keel::http::Status::NoContent); }
  keel::Task<keel::http::Response> picture(keel::http::Request& request) {
    const Picture picture = co_await request.form<Picture>();
    co_return keel::http::Response::text(keel::http::Status::Ok, picture.title);
  }
  keel::http::Response dump(keel::http::Request& request) {
    const auto since = request.query_param<keel::Timestamp>("since");
    return keel::http::Response::text(keel::http::Status::Ok, "a,b\n", "text/csv");
  }

  keel::http::Router router_;
};

}  // namespace shop

namespace keel::contract_init_test {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What the tests of the service ask; gives what they record.
std::string record() {
  const std::string folder = std::filesystem::temp_directory_path() / ("keel_contract_" + std::to_string(getpid()));
  setenv("KEEL_RECORD_CONTRACT", folder.c_str(), 1);
  {
    constexpr std::string_view product = R"({"name":"tea","price":1,"paid_by":{"type":"card","number":"1"}})";
    app::TestApp<shop::Products> app;
    EXPECT_EQ(app.get("/api/v1/products?limit=5").status(), 200);
    EXPECT_EQ(app.get("/api/v1/products?limit=500").status(), 400);
    EXPECT_EQ(app.post("/api/v1/products", product).status(), 201);
    EXPECT_EQ(app.post("/api/v1/products", shop::Size{}).status(), 422);
    EXPECT_EQ(app.get("/api/v1/products/1").status(), 200);
    EXPECT_EQ(app.get("/api/v1/products/2").status(), 404);
    EXPECT_EQ(app.get("/api/v1/export?since=2026-01-01T00:00:00Z").status(), 200);
    EXPECT_EQ(app.get("/elsewhere").status(), 404);
    EXPECT_EQ(app.del("/api/v1/products/1").status(), 204);
    EXPECT_EQ(app.post("/api/v1/products/1/picture", "title=tea").status(), 415);
  }
  std::string text = read(folder + '/' + std::to_string(getpid()) + ".json");
  std::filesystem::remove_all(folder);
  return text;
}

TEST(Contract, of_a_service_is_what_its_tests_have_asked) {
  const auto document = api::write_contract({{.file = "record", .text = record()}}, "Shop");

  ASSERT_TRUE(document.has_value()) << document.error().describe();
  EXPECT_EQ(*document, read(std::string(KEEL_CONTRACT_INIT) + "/shop.yaml"));
  EXPECT_EQ(openapi::testing::lint_of(*document), openapi::testing::Lines());
}

}  // namespace
}  // namespace keel::contract_init_test
