// The payments server, at network.clients.payments.base_url.

#pragma once

#include "keel/app/app.h"
#include "keel/http.h"

struct Charge {
  std::int64_t order_id = 0;
  std::int64_t cents = 0;
};
struct Receipt {
  bool paid = false;  // False: the payment was declined.
};

class Payments {
 public:
  explicit Payments(keel::app::App& app);
  // POST /charges, with at most three attempts, each of at most two seconds, and five seconds for all of them. The
  // idempotency key is the order's number: when the request is repeated, the server does not charge again, and sends
  // the same response. After an error it is unknown whether the customer was charged.
  keel::Task<Receipt> charge(Charge charge);

 private:
  keel::http::SharedClient& client_;
  const keel::metrics::Histogram took_;
};
