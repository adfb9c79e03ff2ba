// docs/background.md, compiled and run.

#include <gtest/gtest.h>

#include "keel/app/app.h"
#include "keel/app/background_work.h"
#include "keel/app/testing/test_app.h"
#include "keel/exec/call.h"
#include "keel/io/testing/simulation.h"
#include "keel/task/resume_on.h"
#include "keel/task/start.h"
#include "keel/task/timing.h"

namespace keel::app::background_doc_test {
namespace {

bool is_loaded = false;
struct Cache {
  Task<> load() {
    is_loaded = true;
    co_return;
  }
};
struct Orders {
  int runs_of_expire = 0;
  int runs_of_report = 0;
  int runs_of_tidy = 0;
  int runs_of_close_day = 0;
  Task<> expire() { co_await count(runs_of_expire); }
  Task<> report() { co_await count(runs_of_report); }
  Task<> tidy() { co_await count(runs_of_tidy); }
  Task<> close_day() { co_await count(runs_of_close_day); }
  static Task<> count(int& runs) {
    ++runs;
    co_return;
  }
};
struct Queue {
  int given = 0;
  Task<int> receive() {
    co_await sleep_for(1_s);
    co_return ++given;
  }
};
int last_handled = 0;
Task<> handle(int message) {
  last_handled = message;
  co_return;
}

class Shop {
 public:
  explicit Shop(app::App& app) {
    app.at_start("warm", [this] { return cache_.load(); });
    app.every(1_min, "expire", [this] { return orders_.expire(); });
    app.background("consume", [this] { return consume(); });
    app.daily("03:30", "tidy", [this] { return orders_.tidy(); });  // in UTC
    app.serve(router_);
  }
  const Orders& orders() const { return orders_; }

 private:
  Task<> consume() {
    while (true) co_await handle(co_await queue_.receive());
  }

  Cache cache_;
  Orders orders_;
  Queue queue_;
  http::Router router_;
};

int totals = 0;
void add_up() { ++totals; }

class Reports {
 public:
  explicit Reports(app::App& app) {
    app.daily("23:59:30", "close the day", [this] { return orders_.close_day(); },
              {.jitter = 10_min, .time_limit = 1_h});
    app.every(1_h, "report", [this] { return orders_.report(); },
              {.first_after = 10_min, .jitter = 5_min, .time_limit = 20_min});
    app.every(1_h, "totals", [&pool = app.pool("reports")]() -> Task<> {
      co_await resume_on(pool);
      add_up();  // on a thread of the pool
    });
    app.serve(router_);
  }
  const Orders& orders() const { return orders_; }

 private:
  Orders orders_;
  http::Router router_;
};

TEST(Expiry, runs_every_minute_in_the_service) {
  app::TestApp<Shop> app;
  app.advance(1_h);

  EXPECT_GE(app.service().orders().runs_of_expire, 60);
}

TEST(BackgroundDoc, runs_what_the_page_says) {
  is_loaded = false;
  last_handled = 0;
  app::TestApp<Shop> app;
  app.advance(25_h);

  EXPECT_TRUE(is_loaded);
  EXPECT_GE(app.service().orders().runs_of_expire, 1500);
  EXPECT_EQ(app.service().orders().runs_of_tidy, 1);
  EXPECT_GT(last_handled, 1700);
}

TEST(BackgroundDoc, runs_the_jobs_with_options) {
  totals = 0;
  app::TestApp<Reports> app;
  app.advance(2_h);
  EXPECT_GE(totals, 2);
  EXPECT_EQ(app.service().orders().runs_of_report, 2);
  app.advance(23_h);
  EXPECT_EQ(app.service().orders().runs_of_close_day, 1);
}

int noted = 0;
void note(const Error&) { ++noted; }
Task<> consume_one(Queue& queue) {
  const int message = co_await queue.receive();
  if (message % 2 == 0) co_await fail(Code::Unavailable, "every second message fails");
}

Task<> consume_all(Queue& queue) {
  while (!(co_await this_task()).stop.stop_requested()) {
    const Result<> handled = co_await attempt(consume_one(queue));
    if (!handled) note(handled.error());
  }
}

TEST(BackgroundDoc, that_catches_errors_looks_whether_it_is_to_end) {
  sim::Simulation simulation;
  io::Loop& loop = simulation.add_loop();
  BackgroundWork work;
  Queue queue;
  work.background("consume", [&] { return consume_all(queue); });
  Start<void> starting, stopping;

  ASSERT_TRUE(execute(loop, [&] { starting.begin(work.start(), [](StartCore&) noexcept {}); }));
  simulation.run_until([&] { return queue.given == 10; }, 1_h);
  ASSERT_TRUE(execute(loop, [&] { stopping.begin(work.stop(), [](StartCore&) noexcept {}); }));

  EXPECT_TRUE(simulation.run_until([&] { return stopping.has_ended(); }, 1_s));
  EXPECT_EQ(noted, 6) << "five, and the wait that was stopped";
}

TEST(Expiry, runs_every_half_minute) {
  sim::Simulation simulation;
  io::Loop& loop = simulation.add_loop();
  app::BackgroundWork work;
  Start<void> starting, stopping;
  int runs = 0;
  work.every(30_s, "expire", [&]() -> Task<> {
    ++runs;
    co_return;
  });

  ASSERT_TRUE(execute(loop, [&] { starting.begin(work.start(), [](StartCore&) noexcept {}); }));
  simulation.run_until([&] { return runs == 120; }, 1_h);
  ASSERT_TRUE(execute(loop, [&] { stopping.begin(work.stop(), [](StartCore&) noexcept {}); }));
  ASSERT_TRUE(simulation.run_until([&] { return stopping.has_ended(); }, 1_s));

  EXPECT_EQ(runs, 120);
}

}  // namespace
}  // namespace keel::app::background_doc_test
