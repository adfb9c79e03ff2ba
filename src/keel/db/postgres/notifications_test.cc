#include "keel/db/postgres/notifications.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "keel/db/postgres/database.h"
#include "keel/db/postgres/internal/database_test.h"
#include "keel/task/timing.h"

namespace keel::db::postgres::notifications_test {
namespace {

class PostgresNotifications : public testing::RealDatabaseTest {
 protected:
  void TearDown() override {
    jobs_.reset();
    RealDatabaseTest::TearDown();
  }
  void listen(std::string channel) {
    Result<Notifications> listening = run(database_->listen(std::move(channel)));
    ASSERT_TRUE(listening) << listening.error().describe();
    jobs_.emplace(*std::move(listening));
  }
  Notification next() {
    Result<Notification> next = run(next_in_time(5_s));
    EXPECT_TRUE(next) << next.error().describe();
    return next ? *std::move(next) : Notification();
  }
  Task<Notification> next_in_time(Duration limit) { co_return co_await with_timeout(limit, jobs_->next()); }

  std::optional<Notifications> jobs_;
};
INSTANTIATE_TEST_SUITE_P(, PostgresNotifications, testing::real_engines(), io::testing::name_of_engine);

Task<> notify(Session& session, std::string channel, std::string payload) {
  co_await session.execute("select pg_notify($1, $2)", channel, payload);
}
Task<> notify_in_a_transaction(Session& session, bool commits) {
  Transaction transaction = co_await session.begin();
  co_await transaction.execute("select pg_notify('jobs', 'in a transaction')");
  if (commits) co_await transaction.commit();
}

TEST_P(PostgresNotifications, come_in_order_when_they_are_committed) {
  open();
  listen("jobs");

  ASSERT_TRUE(run(notify_in_a_transaction(*database_, false)));
  ASSERT_TRUE(run(notify(*database_, "others", "not for us")));
  ASSERT_TRUE(run(notify(*database_, "jobs", "first")));
  ASSERT_TRUE(run(notify_in_a_transaction(*database_, true)));

  const Notification first = next();
  EXPECT_FALSE(first.is_gap);
  EXPECT_EQ(first.channel, "jobs");
  EXPECT_EQ(first.payload, "first");
  EXPECT_GT(first.process, 0u);
  EXPECT_EQ(next().payload, "in a transaction");
}

TEST_P(PostgresNotifications, lose_nothing_when_the_task_does_not_wait_any_longer) {
  open();
  listen("jobs");

  const auto none = run(next_in_time(50_ms));
  ASSERT_TRUE(run(notify(*database_, "jobs", "late")));

  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(next().payload, "late");
}

TEST_P(PostgresNotifications, of_several_channels_come_by_one_connection) {
  open();
  const std::string odd = "odd \"channel\"; drop";
  listen("jobs");

  ASSERT_TRUE(run(jobs_->add(odd)));
  ASSERT_TRUE(run(jobs_->add(odd)));
  ASSERT_TRUE(run(notify(*database_, "jobs", std::string(7'900, 'x'))));
  ASSERT_TRUE(run(notify(*database_, odd, "")));
  EXPECT_EQ(next().payload.size(), 7'900u);
  const Notification second = next();
  EXPECT_EQ(second.channel, odd);
  EXPECT_EQ(second.payload, "");

  ASSERT_TRUE(run(jobs_->remove("jobs")));
  ASSERT_TRUE(run(notify(*database_, "jobs", "unheard")));
  ASSERT_TRUE(run(notify(*database_, odd, "heard")));
  EXPECT_EQ(next().payload, "heard");
}

TEST_P(PostgresNotifications, reject_what_is_no_channel) {
  open();

  for (const std::string& channel : {std::string(), std::string(64, 'x'), std::string("a\0b", 3)}) {
    const auto listening = run(database_->listen(channel));
    ASSERT_FALSE(listening);
    EXPECT_EQ(listening.error().code(), Code::InvalidArgument);
  }
}

TEST_P(PostgresNotifications, tell_of_a_gap_after_the_connection_was_lost) {
  open();
  listen("jobs");
  ASSERT_TRUE(run(notify(*database_, "jobs", "before")));
  EXPECT_EQ(next().payload, "before");

  script("select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%'");

  EXPECT_TRUE(next().is_gap);
  ASSERT_TRUE(run(notify(*database_, "jobs", "after")));
  const Notification after = next();
  EXPECT_FALSE(after.is_gap);
  EXPECT_EQ(after.payload, "after");
}

TEST_P(PostgresNotifications, wait_for_a_server_that_is_away) {
  testing::RealServer server;
  DatabaseOptions options;
  options.url = server.url();
  open(std::move(options));
  listen("jobs");

  server.kill();
  const auto away = run(next_in_time(300_ms));
  const auto refused = run(database_->listen("others"));
  server.start();

  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code(), Code::DeadlineExceeded);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::Unavailable);
  EXPECT_TRUE(next().is_gap);
  ASSERT_TRUE(until([&] { return database_->stats().connections != 0; }));
  ASSERT_TRUE(run(notify(*database_, "jobs", "after")));
  EXPECT_EQ(next().payload, "after");
}

TEST_P(PostgresNotifications, end_with_their_database) {
  open();
  listen("jobs");
  std::optional<Result<Notification>> ended;
  auto wait = [&]() -> Task<> { ended.emplace(co_await attempt(jobs_->next())); };
  Start<void> waiting;
  ASSERT_FALSE(waiting.begin(wait(), [](StartCore&) noexcept {}));

  database_->detach(loop());
  ASSERT_TRUE(until([&] { return database_->is_detached(); }));

  ASSERT_TRUE(until([&] { return !waiting.is_running(); }));
  EXPECT_TRUE(waiting.take());
  ASSERT_TRUE(ended.has_value());
  ASSERT_FALSE(*ended);
  EXPECT_EQ(ended->error().code(), Code::Unavailable);
  const auto again = run(jobs_->next());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), Code::Unavailable);
}

}  // namespace
}  // namespace keel::db::postgres::notifications_test
