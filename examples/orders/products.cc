#include "products.h"

#include <filesystem>

#include "keel/base/error_code.h"
#include "keel/base/host.h"
#include "keel/io/file.h"
#include "queries/products.h"

using namespace keel;

Products::Products(app::App& app) : database_(app.database()), pictures_(app.settings<Settings>().shop.pictures) {
  std::error_code code;
  std::filesystem::create_directories(pictures_, code);
  if (code) app.fail_start(error_of("mkdir", code).because("shop.pictures: making the folder '" + pictures_ + "'"));
}

Task<api::ListProductsResponse> Products::list_products(http::Request&, const api::ListProductsRequest&) {
  const auto products = co_await queries::list_products(database_);
  co_return products;
}

Task<api::GetProductResponse> Products::get_product(http::Request&, const api::GetProductRequest& request) {
  const auto product = co_await queries::find_product(database_, request.sku);
  co_return product;
}

Task<api::PutProductResponse> Products::put_product(http::Request&, const api::PutProductRequest& request) {
  const auto product = co_await queries::put_product(database_, request.body);
  co_return product;
}

// The picture is received into a separate file, which is renamed after the whole picture is on the disk: no client sees
// an incomplete picture.
Task<api::PutPictureResponse> Products::put_picture(http::Request& http, const api::PutPictureRequest& request) {
  const auto product = co_await queries::find_product(database_, request.sku);
  const std::string part = pictures_ + "/." + std::to_string(Host::current().random());
  Result<> received = co_await attempt(receive(http, part));
  if (!received) (void)co_await attempt(remove_file(part));
  co_await std::move(received);
  co_await rename_file(part, pictures_ + "/" + product.sku + ".png");
  co_await sync_folder(pictures_);
  co_return api::PutPictureResponse::no_content();
}

Task<> Products::receive(http::Request& http, std::string part) {
  File file = co_await File::open(part, File::Mode::CreateNew);
  std::uint64_t bytes = 0;
  while (true) {
    const Chunk chunk = co_await http.read_body();
    if (chunk.empty()) break;
    co_await file.write(bytes, chunk);
    bytes += chunk.size();
  }
  co_await file.sync();
}
