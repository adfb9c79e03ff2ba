#include "products.h"

#include <filesystem>

#include "keel/base/error_code.h"
#include "keel/base/host.h"
#include "keel/io/file.h"

using namespace keel;

Products::Products(app::App& app)
    : database_(app.database()),
      settings_(app.settings<Settings>().shop),
      pictures_({.folder = settings_.pictures, .cache_control = "public, max-age=60"}) {
  std::error_code code;
  std::filesystem::create_directories(settings_.pictures, code);
  if (code) app.fail_start(error_of("mkdir", code).because("making the folder '" + settings_.pictures + "'"));
}

void Products::mount(http::Router& router, http::Group& admin) {
  router.get("/products", *this, &Products::list).get("/products/{sku}", *this, &Products::find);
  pictures_.mount(router, "/pictures");
  admin.put("/products", *this, &Products::put)
      .put("/products/{sku}/picture", *this, &Products::put_picture,
           {.body_bytes_max = settings_.picture_max.bytes, .streams_body = true, .consumes = {"image/png"}});
}

Task<http::Response> Products::list(http::Request&) {
  const auto products = co_await database_.query_many<Product>(
      "select sku, name, price_cents, stock from products order by sku limit 1000");
  co_return http::Response::json(products);
}

Task<http::Response> Products::find(http::Request& request) {
  const auto sku = co_await request.path_param<std::string_view>("sku");
  const auto product = co_await read(sku);
  co_return http::Response::json(product);
}

Task<http::Response> Products::put(http::Request& request) {
  const auto product = co_await request.json<Product>();
  co_await database_.execute(
      "insert into products (sku, name, price_cents, stock) values ($sku, $name, $price_cents, $stock)"
      " on conflict (sku) do update set name = $name, price_cents = $price_cents, stock = $stock",
      product);
  co_return http::Response::json(product);
}

// Received into a file of its own, which takes its name when all of it is on the disk: nobody sees half of a picture.
Task<http::Response> Products::put_picture(http::Request& request) {
  const auto sku = co_await request.path_param<std::string_view>("sku");
  const auto product = co_await read(sku);
  const std::string part = settings_.pictures + "/." + std::to_string(Host::current().random());
  Result<> received = co_await attempt(receive(request, part));
  if (!received) (void)co_await attempt(remove_file(part));
  co_await std::move(received);
  co_await rename_file(part, settings_.pictures + "/" + product.sku + ".png");
  co_await sync_folder(settings_.pictures);
  co_return http::Response(http::Status::NoContent);
}

Task<> Products::receive(http::Request& request, std::string part) {
  File file = co_await File::open(part, File::Mode::CreateNew);
  std::uint64_t bytes = 0;
  while (true) {
    const Chunk chunk = co_await request.read_body();
    if (chunk.empty()) break;
    co_await file.write(bytes, chunk);
    bytes += chunk.size();
  }
  co_await file.sync();
}

Task<Product> Products::read(std::string_view sku) {
  return database_.query_one<Product>("select sku, name, price_cents, stock from products where sku = $1", sku);
}
