#include "orders.h"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "keel/base/host.h"
#include "keel/data/json.h"
#include "keel/http/server/body_reader.h"
#include "keel/http/server/body_writer.h"
#include "keel/http/server/problem.h"
#include "keel/io/file.h"

using namespace keel;

namespace {

constexpr std::size_t receipt_bytes_max = 64 << 20;
constexpr std::int64_t page = 200;  // Rows that are read at once.

struct Order {
  std::int64_t id = 0;
  std::string item;
  std::int64_t cents = 0;
  std::string state = "open";

  // Of `select id, item, cents, state`.
  static Order from_row(const db::Row& row) {
    return {row.integer(0), std::string(row.text(1)), row.integer(2), std::string(row.text(3))};
  }
};
void write_json(json::Writer& out, const Order& order) {
  out.begin_object().key("id").integer(order.id).key("item").string(order.item);
  out.key("cents").integer(order.cents).key("state").string(order.state).end_object();
}

struct Charge {
  std::int64_t order = 0;
  std::int64_t cents = 0;
};
void write_json(json::Writer& out, const Charge& charge) {
  out.begin_object().key("order").integer(charge.order).key("cents").integer(charge.cents).end_object();
}

struct Stock {
  std::string_view item;
  std::int64_t count = 0;
};
void write_json(json::Writer& out, const Stock& stock) {
  out.begin_object().key("item").string(stock.item).key("count").integer(stock.count).end_object();
}

// The order of the body, or the problem with it.
std::optional<http::Response> read_order(http::Request& request, Order& order) {
  json::Reader in(request.body(), request.arena());
  in.begin_object();
  while (auto key = in.next_key()) {
    if (*key == "item") {
      order.item = in.string();
    } else if (*key == "cents") {
      order.cents = in.int64();
    } else {
      in.skip();
    }
  }
  if (!in.finish()) return http::problem(in);
  http::Invalid invalid;
  if (order.item.empty() || order.item.size() > 100) invalid.field("/item", "must have 1 to 100 bytes");
  if (order.cents < 1) invalid.field("/cents", "must be at least 1");
  if (invalid.empty()) return std::nullopt;
  return std::move(invalid).response();
}

// The body of a count in stock: {"count":50}.
std::optional<http::Response> read_count(http::Request& request, std::int64_t& count) {
  json::Reader in(request.body(), request.arena());
  in.begin_object();
  while (auto key = in.next_key()) {
    if (*key == "count") {
      count = in.int64();
    } else {
      in.skip();
    }
  }
  if (!in.finish()) return http::problem(in);
  if (count >= 0) return std::nullopt;
  http::Invalid invalid;
  invalid.field("/count", "must be at least 0");
  return std::move(invalid).response();
}

std::string in_quotes(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) made += c == '"' ? "\"\"" : std::string(1, c);
  return made + '"';
}

}  // namespace

Orders::Orders(app::App& app)
    : database_(app.database()),
      payments_(app.client({.name = "payments", .base_url = "http://payments.example:8080", .timeout = 5_s})),
      folder_(std::filesystem::path(app.settings().database.path).parent_path()) {
  router_.post("/orders", *this, &Orders::create)
      .get("/orders/{id}", *this, &Orders::find)
      .get("/orders.csv", *this, &Orders::list)
      .put("/stock/{item}", *this, &Orders::put_stock)
      .get("/stock/{item}", *this, &Orders::get_stock)
      .put("/orders/{id}/receipt", *this, &Orders::put_receipt,
           {.body_bytes_max = receipt_bytes_max, .streams_body = true})
      .get("/orders/{id}/receipt", *this, &Orders::get_receipt);
  app.every(10_s, "charge", [this] { return charge_all(); });
  app.serve(router_);
}

Task<http::Response> Orders::create(http::Request& request) {
  Order order;
  if (auto problem = read_order(request, order)) co_return *std::move(problem);
  db::Transaction transaction = co_await database_.begin();
  const auto left =
      co_await transaction.query_optional<std::int64_t>("select count from stock where item = $1", order.item);
  if (left == 0) co_return http::refuse(http::Status::Conflict, "this item is sold out");
  if (left) co_await transaction.execute("update stock set count = count - 1 where item = $1", order.item);
  const db::Written written =
      co_await transaction.execute("insert into orders (item, cents) values ($1, $2)", order.item, order.cents);
  co_await transaction.commit();
  order.id = written.last_insert_id;
  co_return http::Response::json(http::Status::Created, order)
      .header("Location", "/orders/" + std::to_string(order.id));
}

Task<http::Response> Orders::find(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");
  const auto order =
      co_await database_.query_optional<Order>("select id, item, cents, state from orders where id = $1", id);
  if (!order) co_return http::refuse(http::Status::NotFound, "no order has this number");
  co_return http::Response::json(http::Status::Ok, *order);
}

http::Response Orders::list(http::Request&) {
  return http::Response::stream(http::Status::Ok, "text/csv", *this, &Orders::write_csv);
}

Task<> Orders::write_csv(http::BodyWriter& out) {
  co_await out.write("id,item,cents,state\r\n");
  std::int64_t after = 0;
  while (true) {
    const auto orders = co_await database_.query_many<Order>(
        "select id, item, cents, state from orders where id > $1 order by id limit $2", after, page);
    if (orders.empty()) co_return;
    std::string lines;
    for (const Order& order : orders) {
      lines += std::to_string(order.id) + ',' + in_quotes(order.item) + ',' + std::to_string(order.cents) + ',' +
               order.state + "\r\n";
    }
    co_await out.write(lines);
    after = orders.back().id;
  }
}

// --- Stock.

Task<http::Response> Orders::put_stock(http::Request& request) {
  const auto item = co_await request.path_param<std::string_view>("item");
  std::int64_t count = -1;
  if (auto problem = read_count(request, count)) co_return *std::move(problem);
  co_await database_.execute(
      "insert into stock (item, count) values ($1, $2) on conflict (item) do update set count = excluded.count", item,
      count);
  co_return http::Response(http::Status::NoContent);
}

Task<http::Response> Orders::get_stock(http::Request& request) {
  const auto item = co_await request.path_param<std::string_view>("item");
  const auto count = co_await database_.query_optional<std::int64_t>("select count from stock where item = $1", item);
  if (!count) co_return http::refuse(http::Status::NotFound, "this item is not kept in stock");
  co_return http::Response::json(http::Status::Ok, Stock{item, *count});
}

// --- Receipts.

std::string Orders::receipt_of(std::int64_t id) const { return folder_ + "/receipt-" + std::to_string(id); }

// Written under a name of its own, and renamed when all of it is on the disk: nobody sees half of a receipt.
Task<http::Response> Orders::put_receipt(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");
  const auto known = co_await database_.query_optional<std::int64_t>("select id from orders where id = $1", id);
  if (!known) co_return http::refuse(http::Status::NotFound, "no order has this number");
  const std::string part = receipt_of(id) + "." + std::to_string(Host::current().random());
  File file = co_await File::open(part, File::Mode::CreateNew);
  std::uint64_t bytes = 0;
  while (true) {
    const Chunk chunk = co_await request.read_body();
    if (chunk.empty()) break;
    co_await file.write(bytes, chunk);
    bytes += chunk.size();
  }
  co_await file.sync();
  co_await rename_file(part, receipt_of(id));
  co_await sync_folder(folder_);
  co_return http::Response(http::Status::NoContent);
}

Task<http::Response> Orders::get_receipt(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");
  const Result<std::string> receipt = co_await attempt(read_whole(receipt_of(id), receipt_bytes_max));
  if (receipt) co_return http::Response::text(http::Status::Ok, *receipt, "application/octet-stream");
  if (receipt.error().code() != Code::NotFound) co_return receipt.error().clone();
  co_return http::refuse(http::Status::NotFound, "this order has no receipt");
}

// --- Payment.

Task<> Orders::charge_all() {
  const auto open = co_await database_.query_many<Order>(
      "select id, item, cents, state from orders where state = 'open' order by id limit $1", page);
  for (const Order& order : open) co_await charge(order.id, order.cents);
}

// An answer that is lost is asked for again: by the client, and in ten seconds.
Task<> Orders::charge(std::int64_t id, std::int64_t cents) {
  http::ClientRequest request(http::Method::Post, "/charges");
  request.json(Charge{id, cents}).idempotency_key("order-" + std::to_string(id)).timeout(2_s);
  const http::ClientResponse answer = co_await payments_.send(std::move(request));
  if (answer.status() == http::Status::Created) {
    co_await database_.execute("update orders set state = 'paid' where id = $1 and state = 'open'", id);
  } else if (answer.status() == http::Status::PaymentRequired) {
    co_await database_.execute("update orders set state = 'declined' where id = $1 and state = 'open'", id);
  } else {
    co_await fail(Code::Upstream, "the payments server answered neither 201 nor 402");
  }
}
