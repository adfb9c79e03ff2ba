// Orders; each may contain several products. The products of an order are taken out of stock in the transaction that
// creates the order.
//
//   open ──▶ paying ──▶ paid, or declined
//     └──▶ cancelled by its customer, or expired
//
// While an order is `paying`, the service asks the payments server until that server responds, and the order can
// neither be canceled nor expire: an order that was charged becomes `paid`. If an order ends in any other state than
// `paid`, its products go back into stock.

#pragma once

#include "api/orders.h"
#include "keel/app/app.h"
#include "payments.h"

class Orders final : public api::OrdersHandler {
 public:
  Orders(keel::app::App& app, Payments& payments);

  keel::Task<api::ListOrdersResponse> list_orders(keel::http::Request& http,
                                                  const api::ListOrdersRequest& request) override;
  keel::Task<api::CreateOrderResponse> create_order(keel::http::Request& http,
                                                    const api::CreateOrderRequest& request) override;
  keel::Task<api::GetOrderResponse> get_order(keel::http::Request& http, const api::GetOrderRequest& request) override;
  keel::Task<api::PayOrderResponse> pay_order(keel::http::Request& http, const api::PayOrderRequest& request) override;
  keel::Task<api::CancelOrderResponse> cancel_order(keel::http::Request& http,
                                                    const api::CancelOrderRequest& request) override;
  keel::Task<api::ExportOrdersResponse> export_orders(keel::http::Request& http,
                                                      const api::ExportOrdersRequest& request) override;

 private:
  keel::Task<> write_all(keel::http::BodyWriter& out);
  keel::Task<api::Order> read(std::int64_t id);
  keel::Task<std::vector<api::Order>> read_many(api::ListOrdersRequest filter);
  keel::Task<bool> end(std::int64_t id, api::State from, api::State to);
  keel::Task<> settle(std::int64_t id);
  keel::Task<> settle_all();
  keel::Task<> expire_all(keel::Duration unpaid_max);

  keel::db::Session& database_;
  Payments& payments_;
  const keel::metrics::Counter placed_;
  const keel::metrics::Counter sold_out_;
  const keel::log::Logger log_;
};
