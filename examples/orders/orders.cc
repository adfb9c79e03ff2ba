#include "orders.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "queries/orders.h"
#include "settings.h"

using namespace keel;

namespace {

// The order in which every transaction changes the stock of products. If two transactions changed the stock in
// different orders, the transactions could wait for each other, and PostgreSQL would abort one of them after one
// second.
std::vector<api::NewLine> by_sku(std::vector<api::NewLine> lines) {
  std::ranges::sort(lines, {}, &api::NewLine::sku);
  return lines;
}

}  // namespace

Orders::Orders(app::App& app, Payments& payments)
    : database_(app.database()),
      payments_(payments),
      placed_(app.metrics().counter("shop_orders_placed_total", "Orders that were placed")),
      sold_out_(app.metrics().counter("shop_orders_sold_out_total",
                                      "Orders rejected because the product was not in "
                                      "stock")),
      log_("shop.orders") {
  const Duration unpaid_max = app.settings<Settings>().shop.unpaid_max;
  app.every(10_s, "settle", [this] { return settle_all(); });
  app.every(1_min, "expire", [this, unpaid_max] { return expire_all(unpaid_max); });
}

Task<api::ListOrdersResponse> Orders::list_orders(http::Request&, const api::ListOrdersRequest& request) {
  api::ListOrdersRequest wanted = request;
  ++wanted.limit;  // Reads one more order than fits on a page, to know whether there is a next page.
  api::OrderPage page;
  page.orders = co_await read_many(wanted);
  if (std::ssize(page.orders) > request.limit) {
    page.orders.pop_back();
    page.next = page.orders.back().id;
  }
  co_return page;
}

Task<api::CreateOrderResponse> Orders::create_order(http::Request&, const api::CreateOrderRequest& request) {
  const std::vector<api::NewLine> lines = by_sku(request.body.lines);
  const api::NewLine* missing = nullptr;
  auto place = [&](db::Transaction& transaction) -> Task<std::int64_t> {
    const std::int64_t id = co_await queries::add_order(transaction, request.body.customer, Timestamp::now());
    for (const api::NewLine& line : lines) {
      const auto taken = co_await queries::take_stock(transaction, line);
      if (taken.changes != 0) continue;
      missing = &line;
      co_await fail(Code::Conflict, "not in stock");
    }
    for (const api::NewLine& line : request.body.lines) {
      co_await queries::add_line(transaction, id, line.quantity, line.sku);
    }
    co_return id;
  };
  Result<std::int64_t> placed = co_await attempt(database_.transact(place));
  if (missing != nullptr) {
    sold_out_.add();
    co_return api::CreateOrderResponse::conflict("not in stock in this quantity: " + missing->sku);
  }
  const std::int64_t id = co_await std::move(placed);
  placed_.add();
  log_.info("order placed", log::field("order", id));
  const auto order = co_await read(id);
  co_return api::CreateOrderResponse::created(order, {.location = "/orders/" + std::to_string(id)});
}

Task<api::GetOrderResponse> Orders::get_order(http::Request&, const api::GetOrderRequest& request) {
  const auto order = co_await read(request.id);
  co_return order;
}

Task<api::CancelOrderResponse> Orders::cancel_order(http::Request&, const api::CancelOrderRequest& request) {
  const bool was_open = co_await end(request.id, api::State::Open, api::State::Cancelled);
  const auto order = co_await read(request.id);
  co_return was_open ? api::CancelOrderResponse::ok(order) : api::CancelOrderResponse::conflict(order);
}

// After the first statement, the order can neither be canceled nor expire; if this function ends early, settle_all()
// completes the payment later.
Task<api::PayOrderResponse> Orders::pay_order(http::Request&, const api::PayOrderRequest& request) {
  co_await queries::begin_payment(database_, request.id);
  const Result<> settled = co_await attempt(settle(request.id));
  if (!settled) {
    log_.info("payment continues", log::field("order", request.id), log::field("error", settled.error()));
  }
  const auto order = co_await read(request.id);
  if (order.state == api::State::Paid) co_return api::PayOrderResponse::ok(order);
  if (order.state == api::State::Paying) co_return api::PayOrderResponse::accepted(order);
  co_return api::PayOrderResponse::conflict(order);
}

Task<api::ExportOrdersResponse> Orders::export_orders(http::Request&, const api::ExportOrdersRequest&) {
  co_return api::ExportOrdersResponse::ok_stream(*this, &Orders::write_all);
}

Task<> Orders::write_all(http::BodyWriter& out) {
  api::ListOrdersRequest page;
  page.limit = 200;
  while (true) {
    const auto orders = co_await read_many(page);
    if (orders.empty()) co_return;
    std::string lines;
    for (const api::Order& order : orders) lines += json::write(order) + '\n';
    co_await out.write(lines);
    page.after = orders.back().id;
  }
}

Task<> Orders::settle(std::int64_t id) {
  const auto due = co_await queries::find_charge(database_, id);
  if (!due) co_return;
  const auto receipt = co_await payments_.charge({due->order_id, due->cents});
  co_await end(id, api::State::Paying, receipt.paid ? api::State::Paid : api::State::Declined);
}

Task<> Orders::settle_all() {
  const auto ids = co_await queries::list_paying(database_);
  for (const std::int64_t id : ids) co_await settle(id);
}

Task<> Orders::expire_all(Duration unpaid_max) {
  const auto ids = co_await queries::list_expired(database_, Timestamp::now() - unpaid_max);
  for (const std::int64_t id : ids) co_await end(id, api::State::Open, api::State::Expired);
}

// Ends the order: its products go back into stock, unless `to` is Paid. Returns false if the order's state is not
// `from`.
Task<bool> Orders::end(std::int64_t id, api::State from, api::State to) {
  auto change = [&](db::Transaction& transaction) -> Task<bool> {
    const auto ended = co_await queries::change_state(transaction, to, id, from);
    if (ended.changes == 0) co_return false;
    if (to == api::State::Paid) co_return true;
    const auto taken = co_await queries::list_taken(transaction, id);
    for (const api::NewLine& line : by_sku(taken)) co_await queries::return_stock(transaction, line);
    co_return true;
  };
  const bool is_ended = co_await database_.transact(change);
  if (is_ended) log_.info("order ended", log::field("order", id), log::field("state", enum_name(to)));
  co_return is_ended;
}

Task<api::Order> Orders::read(std::int64_t id) {
  auto order = co_await queries::find_order(database_, id);
  order.lines = co_await queries::list_lines(database_, id);
  co_return order;
}

Task<std::vector<api::Order>> Orders::read_many(api::ListOrdersRequest filter) {
  auto orders = co_await queries::list_orders(database_, filter);
  for (api::Order& order : orders) order.lines = co_await queries::list_lines(database_, order.id);
  co_return orders;
}
