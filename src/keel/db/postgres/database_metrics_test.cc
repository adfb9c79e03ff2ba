#include "keel/db/postgres/database_metrics.h"

#include <map>
#include <string>

#include "keel/db/postgres/internal/database_test.h"
#include "keel/observe/metric.h"

namespace keel::db::postgres::postgres_metrics_test {
namespace {

class PostgresMetrics : public testing::RealDatabaseTest {};
INSTANTIATE_TEST_SUITE_P(, PostgresMetrics, testing::real_engines(), io::testing::name_of_engine);

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

TEST_P(PostgresMetrics, count_what_was_read_and_written_and_what_failed) {
  Database& database = open();
  metrics::Registry registry;
  const auto exposed = expose(database, registry);
  ASSERT_TRUE(run(database.execute("drop table if exists counted")));
  ASSERT_TRUE(run(database.execute("create table counted (a bigint)")));
  ASSERT_TRUE(run(database.query_many<std::int64_t>("select a from counted")));
  ASSERT_FALSE(run(database.execute("insert into counted values ('no number')")));

  const auto values = values_of(registry);

  EXPECT_EQ(values.size(), exposed.size());
  EXPECT_EQ(values.at("db_reads_total"), 1);
  EXPECT_EQ(values.at("db_writes_total"), 2);
  EXPECT_EQ(values.at("db_failures_total"), 1);
  EXPECT_GE(values.at("db_prepared_total"), 1);
  EXPECT_EQ(values.at("db_waiting"), 0);
  EXPECT_EQ(values.at("db_connections_in_use"), 0);
  EXPECT_GE(values.at("db_connects_total"), 1);  // Another may be on its way.
  EXPECT_EQ(values.at("db_connections_max"), 2);
  EXPECT_EQ(values.at("db_wait_max_seconds"), 5);
  EXPECT_GT(values.at("db_connection_age_seconds"), 0);
  EXPECT_LT(values.at("db_connection_age_seconds"), 60);
  EXPECT_EQ(values.at("db_connect_failures_total") + values.at("db_wait_timeouts_total"), 0);
}

}  // namespace
}  // namespace keel::db::postgres::postgres_metrics_test
