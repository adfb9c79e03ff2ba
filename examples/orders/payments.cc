#include "payments.h"

using namespace keel;

Payments::Payments(app::App& app)
    : client_(app.client({.name = "payments", .timeout = 5_s, .first_byte_timeout = 2_s})),
      took_(app.metrics().histogram("shop_payment_seconds", "Time of a charge", metrics::latency_seconds)) {}

Task<Receipt> Payments::charge(Charge charge) {
  const auto timing = took_.time();
  http::ClientRequest request(http::Method::Post, "/charges");
  request.json(charge).idempotency_key("order-" + std::to_string(charge.order_id));
  co_return co_await client_.send(std::move(request)).json<Receipt>();
}
