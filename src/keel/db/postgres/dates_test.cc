// keel::Date as a `date` of a real server, both ways.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "keel/data/date.h"
#include "keel/db/postgres/database.h"
#include "keel/db/postgres/internal/database_test.h"

namespace keel::db::postgres::dates_test {
namespace {

class PostgresDates : public testing::RealDatabaseTest {};
INSTANTIATE_TEST_SUITE_P(, PostgresDates, testing::real_engines(), io::testing::name_of_engine);

struct Due {
  Date due;
};
struct MaybeDue {
  std::optional<Date> due;
};
struct Told {
  Date due;
  std::string text;
  std::int64_t days = 0;  // Since 1970-01-01.
};

Task<Told> write_and_read(Session& session, Date date) {
  co_await session.execute("delete from invoices");
  co_await session.execute("insert into invoices (due) values ($1)", date);
  co_return co_await session.query_one<Told>(
      "select due, due::text as text, (due - date '1970-01-01')::bigint as days from invoices where due = $1", date);
}

TEST_P(PostgresDates, are_written_and_read_as_the_same_day) {
  open();
  script("drop table if exists invoices; create table invoices (due date)");
  for (const char* const text : {"0001-01-01", "0004-02-29", "1582-10-04", "1582-10-15", "1899-12-31", "1900-02-28",
                                 "1970-01-01", "1999-12-31", "2000-01-01", "2000-02-29", "2026-11-24", "9999-12-31"}) {
    const Date date = Date::parse(text).value();
    const auto told = run(write_and_read(*database_, date));
    ASSERT_TRUE(told) << told.error().describe();
    EXPECT_EQ(told->due, date) << text;
    EXPECT_EQ(told->text, text);
    EXPECT_EQ(told->days, date.unix_days()) << text;
  }
}

TEST_P(PostgresDates, of_all_centuries_have_the_number_that_the_server_counts) {
  open();
  auto many = run(database_->query_many<Told>(
      "select day::date as due, day::date::text as text, (day::date - date '1970-01-01')::bigint as days "
      "from generate_series(timestamp '0001-01-01', timestamp '9999-12-31', interval '61 days') as day"));
  ASSERT_TRUE(many) << many.error().describe();

  EXPECT_GT(many->size(), 59'000u);
  for (const Told& one : *many) {
    ASSERT_EQ(one.due.unix_days(), one.days) << one.text;
    ASSERT_EQ(one.due.text(), one.text);
  }
}

TEST_P(PostgresDates, may_be_null) {
  open();
  const auto none = run(database_->query_one<MaybeDue>("select null::date as due"));
  ASSERT_TRUE(none) << none.error().describe();
  EXPECT_FALSE(none->due);
  const std::optional<Date> nothing;
  EXPECT_EQ(integer("select 1 where true"), 1);
  const auto written = run(database_->query_one<MaybeDue>("select $1::date as due", nothing));
  ASSERT_TRUE(written) << written.error().describe();
  EXPECT_FALSE(written->due);
}

TEST_P(PostgresDates, that_are_no_day_of_four_digits_fail_and_name_the_column) {
  open();
  const auto refused = [&](auto&& task) {
    const auto read = run(std::move(task));
    EXPECT_FALSE(read);
    return read ? std::string() : read.error().describe();
  };
  for (const std::string& said : {refused(database_->query_one<Due>("select 'infinity'::date as due")),
                                  refused(database_->query_one<Due>("select '-infinity'::date as due")),
                                  refused(database_->query_one<Due>("select '0044-03-15 BC'::date as due")),
                                  refused(database_->query_one<Due>("select '10000-01-01'::date as due")),
                                  refused(database_->query_one<Due>("select null::date as due"))}) {
    EXPECT_TRUE(said.contains("due")) << said;
  }
}

TEST_P(PostgresDates, that_are_infinite_are_texts) {
  open();
  const auto forever = run(database_->query_one<std::string>("select 'infinity'::date"));
  ASSERT_TRUE(forever) << forever.error().describe();
  EXPECT_EQ(*forever, "infinity");
  const std::string end = "infinity";
  const auto written = run(database_->query_one<bool>("select $1::date > date '9999-12-31'", end));
  ASSERT_TRUE(written) << written.error().describe();
  EXPECT_TRUE(*written);
}

TEST_P(PostgresDates, of_the_year_0_are_refused_by_the_server) {
  open();
  const auto before = run(database_->query_one<std::string>("select $1::date::text", Date::make(0, 2, 29).value()));
  ASSERT_FALSE(before) << "PostgreSQL has the year 1 BC in place of it: " << *before;
  EXPECT_EQ(before.error().code(), Code::InvalidArgument) << before.error().describe();
  EXPECT_TRUE(before.error().describe().contains("0000-02-29")) << before.error().describe();
}

}  // namespace
}  // namespace keel::db::postgres::dates_test
