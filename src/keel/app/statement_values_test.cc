// Ids and times in SQLite: an argument and a column are one word each, and their order in the database is their own.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "keel/data/date.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"
#include "keel/db/sqlite/database.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/own_loop.h"

namespace keel::statement_values_test {
namespace {

struct Visit {
  Uuid id;
  Timestamp at;
  std::optional<Timestamp> left;
};

class StatementValues : public ::testing::Test {
 protected:
  StatementValues() {
    run(database_->execute("create table visits (id text primary key, at text not null, left text) strict"));
  }
  Task<> add(Uuid id, Timestamp at, std::optional<Timestamp> left) {
    co_await database_->execute("insert into visits (id, at, left) values ($id, $at, $left)", Visit{id, at, left});
  }
  Task<Visit> find(Uuid id) {
    co_return co_await database_->query_one<Visit>("select id, at, left from visits where id = $1", id);
  }
  Task<std::vector<Uuid>> since(Timestamp first) {
    co_return co_await database_->query_many<Uuid>("select id from visits where at >= $1 order by at", first);
  }
  Task<std::optional<Timestamp>> last() {
    co_return co_await database_->query_one<std::optional<Timestamp>>("select max(left) from visits");
  }
  Task<Uuid> add_in_a_transaction(Timestamp at) {
    const Uuid id = Uuid::v7();
    db::Transaction transaction = co_await database_->begin();
    co_await transaction.execute("insert into visits (id, at) values ($1, $2)", id, at);
    const auto read = co_await transaction.query_one<Uuid>("select id from visits where at = $1", at);
    co_await transaction.commit();
    co_return read == id ? id : Uuid();
  }
  Task<std::string> day_of(Uuid id) {
    co_return co_await database_->query_one<std::string>("select date(at, '+1 day') from visits where id = $1", id);
  }
  template <class T>
  T run(Task<T>&& task) {
    return loop_.run(std::move(task)).value();
  }

  db::testing::Folder folder_;
  db::testing::OwnLoop loop_;
  std::unique_ptr<db::sqlite::Database> database_ = db::sqlite::Database::open({.path = folder_ / "db"}).value();
};

TEST_F(StatementValues, are_read_as_they_were_written) {
  const Timestamp at = Timestamp::parse("2026-11-24T12:00:37.000000250Z").value();
  for (const Uuid id : {Uuid::v4(), Uuid::v7(), Uuid()}) {
    for (const std::optional<Timestamp> left : {std::optional<Timestamp>(), std::optional(at + 1_h)}) {
      run(database_->execute("delete from visits"));
      run(add(id, at, left));

      const Visit visit = run(find(id));

      EXPECT_EQ(visit.id, id);
      EXPECT_EQ(visit.at, at);
      EXPECT_EQ(visit.left, left);
      EXPECT_EQ(run(last()), left);
    }
  }
}

TEST_F(StatementValues, have_in_the_database_the_order_of_the_values) {
  // Texts of four lengths, were they not written in one.
  const Timestamp begin = Timestamp::parse("2026-11-24T12:00:37Z").value();
  std::vector<Uuid> ids;
  for (const Duration after : {0_ns, 1_ns, 1_us, 250_ms, 1_s, 24_h}) {
    ids.push_back(Uuid::v7());
    run(add(ids.back(), begin + after, std::nullopt));
  }

  EXPECT_EQ(run(since(begin)), ids);
  EXPECT_EQ(run(since(begin + 1_us)), std::vector<Uuid>(ids.begin() + 2, ids.end()));
  EXPECT_EQ(run(database_->query_many<Uuid>("select id from visits order by id")), ids);
}

TEST_F(StatementValues, are_arguments_of_transactions_and_of_sqlites_functions) {
  const Uuid id = run(add_in_a_transaction(Timestamp::parse("2026-12-31T23:59:59.5Z").value()));

  EXPECT_FALSE(id.is_nil());
  EXPECT_EQ(run(day_of(id)), "2027-01-01");
}

TEST_F(StatementValues, of_days_are_texts_in_the_order_of_the_days) {
  struct Invoice {
    std::int64_t id = 0;
    Date due;
    std::optional<Date> paid;
  };
  run(database_->execute("create table invoices (id integer primary key, due text not null, paid text) strict"));
  const Date first = Date::make(2026, 12, 30).value();
  for (int i = 0; i < 3; ++i) {
    run(database_->execute("insert into invoices (due, paid) values ($1, $2)", first + i,
                           i == 1 ? std::optional(first) : std::nullopt));
  }

  const std::vector<Invoice> late =
      run(database_->query_many<Invoice>("select * from invoices where due > $1 order by due", first));
  ASSERT_EQ(late.size(), 2u);
  EXPECT_EQ(late[0].due.text(), "2026-12-31");
  EXPECT_EQ(late[0].paid, first);
  EXPECT_EQ(late[1].due.text(), "2027-01-01");
  EXPECT_EQ(late[1].paid, std::nullopt);
  EXPECT_EQ(run(database_->query_one<Date>("select date(max(due), '+1 month') from invoices")),
            (first + 2).plus_months(1));
  const Result<Date> none = loop_.run(database_->query_one<Date>("select 'soon' as due"));
  EXPECT_EQ(none.error().message(), "column 'due': expected a date such as 2026-11-24 (RFC 3339)");
}

TEST_F(StatementValues, that_are_none_fail_the_query_and_name_the_column) {
  run(database_->execute("insert into visits (id, at) values ('1', 'yesterday')"));

  const Result<Uuid> id = loop_.run(database_->query_one<Uuid>("select id from visits"));
  const Result<Timestamp> at = loop_.run(database_->query_one<Timestamp>("select at from visits"));

  EXPECT_EQ(id.error().message(), "column 'id': expected a UUID such as 0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50");
  EXPECT_EQ(at.error().message(), "column 'at': expected a time such as 2026-11-24T12:00:37.250Z (RFC 3339)");
  EXPECT_EQ(at.error().code(), Code::Internal);
}

}  // namespace
}  // namespace keel::statement_values_test
