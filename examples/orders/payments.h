// A client of the payments server, whose URL is the setting network.clients.payments.base_url.

#pragma once

#include "keel/app/app.h"
#include "keel/http.h"

struct Charge {
  std::int64_t order_id = 0;
  std::int64_t cents = 0;
};
struct Receipt {
  bool paid = false;  // False if the payment was declined.
};

class Payments {
 public:
  explicit Payments(keel::app::App& app);
  // Sends POST /charges, with at most three attempts; an attempt takes at most two seconds, and all attempts together
  // take at most five seconds. The idempotency key is the order's number: when the request is repeated, the server does
  // not charge again, but sends the same response. After an error, the caller does not know whether the customer was
  // charged.
  keel::Task<Receipt> charge(Charge charge);

 private:
  keel::http::SharedClient& client_;
  const keel::metrics::Histogram took_;
};
