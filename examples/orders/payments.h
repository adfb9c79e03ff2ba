// The payments server, at network.clients.payments.base_url.

#pragma once

#include "keel/app/app.h"
#include "keel/http.h"

struct Charge {
  std::int64_t order_id = 0;
  std::int64_t cents = 0;
};
struct Receipt {
  bool paid = false;  // Otherwise the payment was declined.
};

class Payments {
 public:
  explicit Payments(keel::app::App& app);
  // POST /charges, at most three times, of which each gets two seconds, and all of them five. Its key is the order's
  // number: the server that is asked again does not charge again, and says the same. After an error it is unknown
  // whether it has charged.
  keel::Task<Receipt> charge(Charge charge);

 private:
  keel::http::SharedClient& client_;
  const keel::metrics::Histogram took_;
};
