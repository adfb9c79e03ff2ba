// Orders that are kept, and paid by another server:
//
//   POST /orders                201 with the order: {"id":1,"item":"tea","cents":500,"state":"open"}; 409: sold out
//   GET  /orders/{id}           200, or 404
//   GET  /orders.csv            all of them, streamed
//   PUT  /orders/{id}/receipt   204: keeps a file of up to 64 MiB, streamed to the disk
//   GET  /orders/{id}/receipt   200, or 404
//   PUT  /stock/{item}          204: so many are left: {"count":50}
//   GET  /stock/{item}          200: {"item":"tea","count":50}, or 404
//
// An order takes one of the item's stock in its own transaction; an item that is not kept in stock is never sold out.
//
// Every 10 s what is open is charged: POST /charges of the server at network.clients.payments.base_url, with the
// order's number as its idempotency key, so that asking again charges once. 201: the order is paid; 402: it is
// declined.

#pragma once

#include <cstdint>
#include <string>

#include "keel/app/app.h"

class Orders {
 public:
  explicit Orders(keel::app::App& app);

 private:
  keel::Task<keel::http::Response> create(keel::http::Request& request);
  keel::Task<keel::http::Response> find(keel::http::Request& request);
  keel::http::Response list(keel::http::Request& request);
  keel::Task<> write_csv(keel::http::BodyWriter& out);
  keel::Task<keel::http::Response> put_stock(keel::http::Request& request);
  keel::Task<keel::http::Response> get_stock(keel::http::Request& request);
  keel::Task<keel::http::Response> put_receipt(keel::http::Request& request);
  keel::Task<keel::http::Response> get_receipt(keel::http::Request& request);
  keel::Task<> charge_all();
  keel::Task<> charge(std::int64_t id, std::int64_t cents);
  std::string receipt_of(std::int64_t id) const;

  keel::db::Session& database_;
  keel::http::SharedClient& payments_;
  const std::string folder_;  // Of the database and the receipts.
  keel::http::Router router_;
};
