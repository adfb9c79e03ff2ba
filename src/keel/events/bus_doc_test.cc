// docs/events.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "keel/events/bus.h"
#include "keel/exec/thread_pool.h"
#include "keel/task/testing.h"

namespace keel::bus_doc_test {
namespace {

struct OrderPlaced {
  std::int64_t order;
  std::int64_t cents;
};

class Sales {
 public:
  explicit Sales(events::Bus& bus) : subscription_(bus.subscribe<OrderPlaced>(*this, &Sales::on_order)) {}
  std::int64_t cents() const { return cents_; }

 private:
  void on_order(const OrderPlaced& event) { cents_ += event.cents; }

  std::int64_t cents_ = 0;
  events::Subscription subscription_;  // last: it ends before what the handler uses
};

struct Temperature {
  double celsius;
};

struct Store {
  std::vector<std::int64_t> kept;
  Task<> keep(std::int64_t order) {
    kept.push_back(order);
    co_return;
  }
};

class Archive {
 public:
  Archive(events::Bus& bus, Store& store)
      : store_(store), subscription_(bus.subscribe<OrderPlaced>(*this, &Archive::on_order)) {}

 private:
  Task<> on_order(const OrderPlaced& event) { co_await store_.keep(event.order); }

  Store& store_;
  events::Subscription subscription_;
};

Task<> place(events::Bus& bus, OrderPlaced order) {
  const events::Delivery became = co_await bus.publish_and_wait(order);
  if (became.failed + became.dropped > 0) co_await fail(Code::Unavailable, "the order was not kept");
}

TEST(EventsDoc, keeps_the_last_event) {
  events::Bus bus;
  double shown = 0;
  bus.keep<Temperature>();  // once, before anybody subscribes; keep<Temperature>(16): the last 16
  bus.publish(Temperature{20.5});

  auto display = bus.subscribe<Temperature>([&](const Temperature& now) { shown = now.celsius; });
  EXPECT_EQ(shown, 20.5);  // before subscribe() returned
}

TEST(EventsDoc, does_what_it_says) {
  events::Bus bus;
  Sales sales(bus);
  bus.publish(OrderPlaced{1, 990});
  EXPECT_EQ(sales.cents(), 990);

  struct Outbox {
    std::vector<std::int64_t> orders;
    void add(std::int64_t order) { orders.push_back(order); }
  } outbox;
  ThreadPool pool({.name = "mail", .threads = 1});
  auto mail =
      bus.subscribe<OrderPlaced>([](const OrderPlaced& event) { return event.cents >= 100'000; },
                                 [&](const OrderPlaced& event) { outbox.add(event.order); },
                                 {.executor = &pool, .queue_max = 64, .when_full = events::WhenFull::DropOldest});

  events::Topic<OrderPlaced> orders = bus.topic<OrderPlaced>();  // once
  orders.publish(OrderPlaced{2, 250'000});

  Store store;
  Archive archive(bus, store);
  testing::TestLoop loop;
  EXPECT_TRUE(loop.run(place(bus, {3, 150'000})));
  EXPECT_EQ(store.kept, std::vector<std::int64_t>{3});
  EXPECT_EQ(outbox.orders, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(sales.cents(), 400'990);
  mail.end();
  pool.stop();
}

}  // namespace
}  // namespace keel::bus_doc_test
