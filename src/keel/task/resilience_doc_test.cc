// docs/resilience.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "keel/observe/metric.h"
#include "keel/task/bulkhead.h"
#include "keel/task/circuit_breaker.h"
#include "keel/task/retry.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::resilience_doc_test {
namespace {

struct Order {
  int cents = 0;
  std::string key;
};
struct Receipt {
  std::string key;
  bool is_repeated = false;
};
struct Rate {
  double value = 0;
};
struct Report {
  int id = 0;
};

// The first call takes too long, the others are answered.
struct Provider {
  int calls = 0;
  Task<Receipt> charge(const Order& order, std::string key) {
    co_await sleep_for(++calls == 1 ? 1_s : 1_ms);
    if (order.cents < 0) co_return fail(Code::InvalidArgument, "nothing to pay");
    co_return Receipt{key, calls > 2};
  }
};

class Payments {
 public:
  explicit Payments(Provider& provider) : provider_(provider) {}
  Task<Receipt> charge(Order order);

 private:
  Provider& provider_;
  Retry retry_;
};

Task<Receipt> Payments::charge(Order order) {
  co_return co_await retry_.run([&] { return with_timeout(300_ms, provider_.charge(order, order.key)); });
}

struct Source {
  bool is_down = true;
  Task<Rate> fetch(std::string_view currency) {
    if (is_down) co_return fail(Code::Unavailable, "no rates today");
    co_return Rate{currency == "EUR" ? 1.0 : 1.1};
  }
};

class Rates {
 public:
  explicit Rates(Source& source) : source_(source) {}
  Task<Rate> today(std::string_view currency);
  CircuitBreaker& breaker() { return breaker_; }

 private:
  Source& source_;
  CircuitBreaker breaker_;
};

Task<Rate> Rates::today(std::string_view currency) {
  co_return co_await breaker_.run([&, currency] { return source_.fetch(currency); });
}

struct Renderer {
  Task<Report> render(int id) {
    co_await sleep_for(10_ms);
    co_return Report{id};
  }
};

class Reports {
 public:
  Task<Report> make(int id);

 private:
  Renderer renderer_;
  Bulkhead bulkhead_{{.running_max = 1, .waiting_max = 0}};
};

Task<Report> Reports::make(int id) {
  co_return co_await bulkhead_.run([&, id] { return renderer_.render(id); });
}

class Checkout {
 public:
  Checkout(Payments& payments, metrics::Registry& registry)
      : payments_(payments),
        took_(registry.histogram("payment_seconds", "Time of a payment", metrics::latency_seconds)) {
    retry_.expose(registry, "payments");
    breaker_.expose(registry, "payments");
    bulkhead_.expose(registry, "payments");
  }
  Task<Receipt> pay(const Order& order);
  Task<Receipt> pay_timed(const Order& order);
  const metrics::Histogram& took() const { return took_; }

 private:
  Payments& payments_;
  metrics::Histogram took_;
  Retry retry_;
  CircuitBreaker breaker_;
  Bulkhead bulkhead_;
};

Task<Receipt> Checkout::pay(const Order& order) {
  const auto one_attempt = [&] { return breaker_.run([&] { return payments_.charge(order); }); };
  const auto attempts = [&] { return retry_.run(one_attempt); };
  co_return co_await bulkhead_.run(attempts);
}

Task<Receipt> Checkout::pay_timed(const Order& order) {
  auto timing = took_.time();
  Receipt receipt = co_await pay(order);
  if (receipt.is_repeated) timing.drop();
  co_return receipt;
}

void ignore(StartCore&) noexcept {}

TEST(ResilienceDoc, tries_again) {
  testing::TestLoop loop;
  Provider provider;
  Payments payments(provider);
  EXPECT_EQ(loop.run(payments.charge({500, "order-1"})).value().key, "order-1");
  EXPECT_EQ(provider.calls, 2);
}

TEST(ResilienceDoc, stops_asking) {
  testing::TestLoop loop;
  Source source;
  Rates rates(source);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(loop.run(rates.today("EUR")).error().message(), "no rates today");
  source.is_down = false;
  EXPECT_FALSE(loop.run(rates.today("EUR")));
  loop.advance(5_s);
  EXPECT_EQ(loop.run(rates.today("EUR")).value().value, 1.0);
  EXPECT_EQ(rates.breaker().state(loop.now()), CircuitBreaker::State::Closed);
}

TEST(ResilienceDoc, keeps_one_from_taking_everything) {
  testing::TestLoop loop;
  Reports reports;
  Start<Report> first;
  EXPECT_FALSE(first.begin(reports.make(1), &ignore));
  EXPECT_EQ(loop.run(reports.make(2)).error().code(), Code::ResourceExhausted);
  loop.advance(20_ms);
  EXPECT_EQ(first.take().value().id, 1);
}

TEST(ResilienceDoc, goes_together) {
  testing::TestLoop loop;
  metrics::Registry registry;
  Provider provider;
  Payments payments(provider);
  Checkout checkout(payments, registry);
  const Order order{500, "order-2"};
  EXPECT_EQ(loop.run(checkout.pay(order)).value().key, "order-2");
  const Order wrong{-1, "order-3"};
  EXPECT_EQ(loop.run(checkout.pay(wrong)).error().code(), Code::InvalidArgument);
}

TEST(ResilienceDoc, times_a_block) {
  if (!metrics::is_recorded) GTEST_SKIP() << "compiled out";
  testing::TestLoop loop;
  metrics::Registry registry;
  Provider provider;
  Payments payments(provider);
  Checkout checkout(payments, registry);
  const Order order{500, "order-2"};
  EXPECT_TRUE(loop.run(checkout.pay_timed(order)));
  EXPECT_EQ(checkout.took().count(), 1u);
  EXPECT_GE(checkout.took().sum(), 300'000'000u);
  EXPECT_TRUE(loop.run(checkout.pay_timed(order)));
  EXPECT_EQ(checkout.took().count(), 1u) << "the second was dropped";

  const Order wrong{-1, "order-3"};
  Provider fresh{5};
  Payments others(fresh);
  metrics::Registry own;
  Checkout failing(others, own);
  EXPECT_FALSE(loop.run(failing.pay_timed(wrong)));
  EXPECT_EQ(failing.took().count(), 1u) << "an error ends a block too";
}

}  // namespace
}  // namespace keel::resilience_doc_test
