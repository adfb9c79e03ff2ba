// Orders of several products. What an order needs is taken out of stock in the transaction that makes it.
//
//   open ──▶ paying ──▶ paid, or declined
//     └──▶ cancelled by its customer, or expired
//
// While an order is `paying`, the payments server is asked until it answers, and the order is neither cancelled nor
// expires: an order that was charged for is `paid`. What ends in another way goes back into stock.

#pragma once

#include "keel/app/app.h"
#include "keel/data/timestamp.h"
#include "keel/http.h"
#include "payments.h"

enum class State : std::uint8_t { Open, Paying, Paid, Declined, Cancelled, Expired };
template <>
inline constexpr auto keel::name_case<State> = keel::Case::Snake;

struct NewLine {
  std::string sku;
  int quantity = 0;

  void rules(keel::Check& check) const {
    check(sku).length(1, 40);
    check(quantity).range(1, 100);
  }
};
struct NewOrder {
  std::string customer;
  std::vector<NewLine> lines;

  void rules(keel::Check& check) const {
    check(customer).length(1, 100);
    check(lines).count(1, 50);
  }
};

struct Line {
  std::string sku;
  int quantity = 0;
  std::int64_t price_cents = 0;
};
struct Order {
  std::int64_t id = 0;
  std::string customer;
  State state = State::Open;
  keel::Timestamp created_at;
  std::int64_t total_cents = 0;
  std::vector<Line> lines;
};

struct OrderFilter {
  std::optional<std::string> customer;
  std::optional<State> state;
  std::int64_t after = 0;  // The last id of the page before.
  int limit = 20;

  static constexpr bool optional_fields = true;
  void rules(keel::Check& check) const { check(limit).range(1, 100); }
};
struct OrderPage {
  std::vector<Order> orders;
  std::optional<std::int64_t> next;  // `after` of the next page; null on the last one.
};

class Orders {
 public:
  Orders(keel::app::App& app, Payments& payments);
  void mount(keel::http::Router& router, keel::http::Group& admin);

 private:
  keel::Task<keel::http::Response> create(keel::http::Request& request);
  keel::Task<keel::http::Response> find(keel::http::Request& request);
  keel::Task<keel::http::Response> list(keel::http::Request& request);
  keel::Task<keel::http::Response> pay(keel::http::Request& request);
  keel::Task<keel::http::Response> cancel(keel::http::Request& request);
  keel::http::Response dump(keel::http::Request& request);
  keel::Task<> write_all(keel::http::BodyWriter& out);

  keel::Task<Order> read(std::int64_t id);
  keel::Task<std::vector<Order>> read_many(OrderFilter filter);
  keel::Task<std::vector<Line>> read_lines(std::int64_t id);
  keel::Task<bool> end(std::int64_t id, State from, State to);
  keel::Task<> settle(std::int64_t id);
  keel::Task<> settle_all();
  keel::Task<> expire_all(keel::Duration unpaid_max);

  keel::db::Session& database_;
  Payments& payments_;
  const keel::metrics::Counter placed_;
  const keel::metrics::Counter sold_out_;
  const keel::log::Logger log_;
};
