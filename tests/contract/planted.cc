// The service of examples/products with one bug put in, for suites.py, which has schemathesis find it: a status that
// the contract does not have, a value of another type, a failure at the edge of what is allowed.

#include <cstdlib>
#include <string_view>

#include "api/api.h"
#include "keel/app/app.h"
#include "products.h"

using namespace keel;

namespace {

// Not KEEL_…: that would be a setting.
const char* const planted = std::getenv("PLANTED_BUG");
const std::string_view bug = planted == nullptr ? "" : planted;

Task<http::Response> change(http::Request& request, http::Next next) {
  http::Response response = co_await next(request);
  if (bug == "status" && response.status() == http::Status::NoContent) co_return http::Response(http::Status::Accepted);
  if (bug == "type" && request.path() == "/products" && response.status() == http::Status::Ok) {
    co_return http::Response::text(http::Status::Ok, R"({"products":[],"next":"0"})", "application/json");
  }
  if (bug == "edge" && request.query().find("limit=100") != std::string_view::npos) {
    co_return Error(Code::Internal, "planted");
  }
  co_return response;
}

struct Planted {
  Products products;
  http::Router router;
  explicit Planted(app::App& app) : products(app.database()) {
    router.use(&change);
    api::mount(router, products);
    app.serve(router);
  }
};

}  // namespace

int main(int argc, char** argv) { return keel::app::run<Planted>("products", argc, argv); }
