#include "keel/db/sqlite/database_metrics.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "keel/db/sqlite/database.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/own_loop.h"

namespace keel::db::sqlite::sqlite_database_metrics_test {
namespace {

// What the functions of `registry` give, by name.
std::map<std::string, double> values_of(metrics::Registry& registry) {
  std::map<std::string, double> values;
  metrics::Reading reading;
  auto keep = [&](std::span<const metrics::Family> families) {
    for (const metrics::Family& family : families) {
      EXPECT_FALSE(family.help.empty());
      for (const metrics::Series& series : family.series) values[family.name] = series.function_value;
    }
  };
  registry.read(reading, keep);
  return values;
}

TEST(DatabaseMetrics, have_the_bounds_that_the_database_was_opened_with) {
  testing::Folder folder;
  metrics::Registry registry;
  const auto database = Database::open({.path = folder / "app.db", .pool_queued_max = 7, .writer = {.queued_max = 9}});
  const auto exposed = (*database)->expose(registry);

  auto values = values_of(registry);

  EXPECT_EQ(values.at("db_reads_queued_max"), 7);
  EXPECT_EQ(values.at("db_writes_queued_max"), 9);
}

TEST(DatabaseMetrics, count_what_was_read_and_written) {
  testing::Folder folder;
  testing::OwnLoop loop;
  metrics::Registry registry;
  const auto database = Database::open({.path = folder / "app.db"}).value();
  const auto exposed = database->expose(registry);
  ASSERT_TRUE(loop.run(database->execute("create table t (a integer)")));
  ASSERT_TRUE(loop.run(database->query_many<int>("select a from t")));

  auto values = values_of(registry);

  EXPECT_EQ(exposed.size(), 30u);
  EXPECT_EQ(values.at("db_connections"), 2);  // The loop's, and the writer's.
  EXPECT_EQ(values.at("db_waiting"), 0);
  EXPECT_EQ(values.at("db_connections_max"), 0);
  EXPECT_EQ(values.at("db_wait_max_seconds"), 5);
  EXPECT_GT(values.at("db_connection_age_seconds"), 0);
  EXPECT_EQ(values.at("db_read_transactions"), 0);
  EXPECT_EQ(values.at("db_read_transaction_age_seconds"), 0);
  EXPECT_EQ(values.at("db_writes_total"), 1);
  EXPECT_EQ(values.at("db_write_groups_total"), 1);
  EXPECT_GE(values.at("db_wal_pages"), 2);
  EXPECT_EQ(values.at("db_checkpoints_total"), 0);
  EXPECT_EQ(values.at("db_backups_total"), 0);
  EXPECT_EQ(values.at("db_loop_reads_total"), 1);
  EXPECT_EQ(values.at("db_snapshots_total"), 1);
  EXPECT_EQ(values.at("db_reads_queued"), 0);
}

}  // namespace
}  // namespace keel::db::sqlite::sqlite_database_metrics_test
