// docs/background.md, compiled and run.

#include <gtest/gtest.h>

#include "keel/app/background_work.h"
#include "keel/exec/call.h"
#include "keel/io/testing/simulation.h"
#include "keel/task/start.h"
#include "keel/task/timing.h"

namespace keel::app::background_doc_test {
namespace {

struct Cache {
  bool is_loaded = false;
  Task<> load() {
    is_loaded = true;
    co_return;
  }
};
struct Orders {
  int expired = 0;
  int reported = 0;
  Task<> expire() {
    ++expired;
    co_return;
  }
  Task<> tidy() { co_return; }
  Task<> close_day() { co_return; }
  Task<> report() {
    ++reported;
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

TEST(BackgroundDoc, runs_what_the_page_says) {
  sim::Simulation simulation;
  io::Loop& loop = simulation.add_loop();
  BackgroundWork app;
  Cache cache;
  Orders orders;
  Queue queue;

  app.at_start("warm", [&]() -> Task<> { co_await cache.load(); });
  app.every(30_s, "expire", [&]() -> Task<> { co_await orders.expire(); });
  app.background("consume", [&]() -> Task<> {
    while (true) co_await handle(co_await queue.receive());
  });
  app.daily("03:30", "tidy", [&] { return orders.tidy(); });  // in UTC
  app.daily("23:59:30", "close the day", [&] { return orders.close_day(); }, {.jitter = 10_min, .time_limit = 1_h});
  app.every(1_h, "report", [&] { return orders.report(); },
            {.first_after = 10_min, .jitter = 5_min, .time_limit = 20_min});

  Start<void> starting, stopping;
  ASSERT_TRUE(execute(loop, [&] { starting.begin(app.start(), [](StartCore&) noexcept {}); }));
  simulation.run_until([&] { return orders.expired == 60; }, 2_h);
  ASSERT_TRUE(execute(loop, [&] { stopping.begin(app.stop(), [](StartCore&) noexcept {}); }));
  ASSERT_TRUE(simulation.run_until([&] { return stopping.has_ended(); }, 1_s));

  EXPECT_TRUE(cache.is_loaded);
  EXPECT_EQ(orders.expired, 60);
  EXPECT_EQ(orders.reported, 1);
  EXPECT_GT(last_handled, 1700);
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
  BackgroundWork work;
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
