#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/db/postgres/database.h"
#include "keel/db/postgres/internal/database_test.h"
#include "keel/task/timing.h"

namespace keel::db::postgres::stream_test {
namespace {

class PostgresStream : public testing::RealDatabaseTest {
 protected:
  Database& open_numbers(std::int64_t count, DatabaseOptions options = {}) {
    open(std::move(options));
    script(
        "drop table if exists numbers; create table numbers (n bigint primary key, text text not null);"
        "insert into numbers select n, repeat('x', 100) from generate_series(1, " +
        std::to_string(count) + ") n");
    return *database_;
  }
};
INSTANTIATE_TEST_SUITE_P(, PostgresStream, testing::real_engines(), io::testing::name_of_engine);

struct Number {
  std::int64_t n;
  std::string text;
};

struct Seen {
  std::int64_t expected = 1;
  std::size_t batches = 0;
  std::size_t largest = 0;
  std::size_t stop_after = ~std::size_t{0};
  Duration pause = {};
  Task<> operator()(std::span<const Number> numbers) {
    ++batches;
    largest = std::max(largest, numbers.size());
    for (const Number& number : numbers) {
      if (number.n != expected++) co_await fail(Code::Internal, "out of order");
    }
    if (pause > Duration()) co_await sleep_for(pause);
    if (batches >= stop_after) co_await fail(Code::OutOfRange, "enough");
  }
};

TEST_P(PostgresStream, gives_all_rows_in_order_some_at_a_time) {
  open_numbers(20'000);
  Seen seen;

  const auto count = run(database_->stream<Number>("select n, text from numbers order by n", seen));

  ASSERT_TRUE(count) << count.error().describe();
  EXPECT_EQ(*count, 20'000u);
  EXPECT_EQ(seen.expected, 20'001);
  EXPECT_LT(seen.largest, 1'000u);  // 64 KiB of them.
  EXPECT_GT(seen.largest, 100u);
  EXPECT_EQ(integer("select count(*)::bigint from numbers"), 20'000);
  EXPECT_TRUE(until([&] { return database_->stats().in_use == 0; }));  // The end is on its way to the server.
}

TEST_P(PostgresStream, takes_arguments_and_gives_nothing_where_there_is_nothing) {
  open_numbers(100);
  Seen some{.expected = 91};
  Seen none;

  const auto ten = run(database_->stream<Number>("select n, text from numbers where n > $1 order by n", some, 90));
  const auto empty = run(database_->stream<Number>("select n, text from numbers where n > $1", none, 100));

  ASSERT_TRUE(ten) << ten.error().describe();
  EXPECT_EQ(*ten, 10u);
  ASSERT_TRUE(empty);
  EXPECT_EQ(none.batches, 0u);
}

TEST_P(PostgresStream, has_one_snapshot_and_no_hold_max) {
  DatabaseOptions options;
  options.hold_max = 50_ms;
  open_numbers(5'000, std::move(options));
  Seen seen;
  auto slow = [&](std::span<const Number> numbers) -> Task<> {
    if (seen.batches == 1) {
      co_await database_->execute("delete from numbers");
      co_await sleep_for(150_ms);
    }
    co_await seen(numbers);
  };

  const auto count = run(database_->stream<Number>("select n, text from numbers order by n", slow));

  ASSERT_TRUE(count) << count.error().describe();
  EXPECT_EQ(*count, 5'000u);
  EXPECT_EQ(integer("select count(*)::bigint from numbers"), 0);
}

TEST_P(PostgresStream, ends_early_with_the_error_of_the_callback) {
  DatabaseOptions options;
  options.connections = 1;
  open_numbers(5'000, std::move(options));
  Seen seen{.stop_after = 2};

  const auto count = run(database_->stream<Number>("select n, text from numbers order by n", seen));

  ASSERT_FALSE(count);
  EXPECT_EQ(count.error().code(), Code::OutOfRange);
  EXPECT_EQ(seen.batches, 2u);
  EXPECT_EQ(integer("select count(*)::bigint from numbers"), 5'000);  // On the same connection.
}

Task<std::size_t> stream_in_time(Session& session, SqlFor<0> sql, Seen& seen) {
  co_return co_await with_timeout(100_ms, session.stream<Number>(sql, seen));
}

TEST_P(PostgresStream, ends_at_the_deadline) {
  DatabaseOptions options;
  options.connections = 1;
  open_numbers(5'000, std::move(options));
  Seen seen{.pause = 30_ms};

  const auto in_callback = run(stream_in_time(*database_, "select n, text from numbers order by n", seen));
  Seen none;
  const auto in_server = run(stream_in_time(*database_, "select n, text from numbers, pg_sleep(20) order by n", none));

  ASSERT_FALSE(in_callback);
  EXPECT_EQ(in_callback.error().code(), Code::DeadlineExceeded);
  ASSERT_FALSE(in_server);
  EXPECT_EQ(in_server.error().code(), Code::DeadlineExceeded) << in_server.error().describe();
  EXPECT_EQ(integer("select count(*)::bigint from numbers"), 5'000);
}

TEST_P(PostgresStream, takes_statements_that_read) {
  open_numbers(10);
  Seen seen;

  const auto written = run(database_->stream<Number>("delete from numbers returning n, text", seen));
  const auto wrong = run(database_->stream<Number>("select n, text from nowhere", seen));

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::InvalidArgument);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), Code::Internal);
  EXPECT_EQ(integer("select count(*)::bigint from numbers"), 10);
}

TEST_P(PostgresStream, works_without_named_statements) {
  DatabaseOptions options;
  options.pooler = true;
  open_numbers(3'000, std::move(options));
  Seen seen;

  const auto count = run(database_->stream<Number>("select n, text from numbers order by n", seen));

  ASSERT_TRUE(count) << count.error().describe();
  EXPECT_EQ(*count, 3'000u);
}

}  // namespace
}  // namespace keel::db::postgres::stream_test
