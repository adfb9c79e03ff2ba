// What is said of columns is compared with what SQLite gives: of tables that have rows, that have none, and that have
// null wherever it is allowed.

#include "sql/inference.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "keel/db/sqlite/connection.h"
#include "keel/db/sqlite/migrations.h"
#include "keel/db/testing/folder.h"
#include "sql/sqlite_checker.h"

namespace keel::sql::inference_test {
namespace {

constexpr std::string_view schema =
    "create table u (id integer primary key, name text not null, note text, score real not null, boss integer) "
    "strict;\n"
    "create table o (id integer primary key, u integer not null references u, cents integer not null, state text) "
    "strict;\n"
    "create table pair (a integer not null, b text not null, c text, primary key (a, b)) strict, without rowid;\n"
    "create view v as select u.id as uid, u.name, o.cents, count(*) as n from u left join o on o.u = u.id group by "
    "u.id;\n"
    "create table loose (k varchar(10) primary key, flag boolean not null, at timestamp, raw blob, any_type);\n";

// One row each, with null wherever a column may be null.
constexpr const char* sparse =
    "insert into u values (1, 'ada', null, 1.5, null), (2, 'bob', 'x', 2, 1);"
    "insert into o values (1, 1, 100, null), (2, 1, 50, 'paid');"
    "insert into pair values (1, 'x', null);"
    "insert into loose values (null, 1, null, null, null);";

class InferenceTest : public ::testing::Test {
 protected:
  InferenceTest() {
    folder_.write("0001_all.sql", schema);
    auto made = make_sqlite_checker(folder_.path());
    EXPECT_TRUE(made) << made.error().describe();
    checker_ = *std::move(made);
    for (const char* rows : {"", sparse}) {
      auto connection =
          db::sqlite::Connection::open({.path = ":memory:", .synchronous = db::sqlite::Synchronous::Off}).value();
      EXPECT_TRUE(db::sqlite::migrate(*connection, folder_.path()));
      EXPECT_TRUE(connection->run_script(rows));
      databases_.push_back(std::move(connection));
    }
  }

  // "int64, text?": the columns; and that none is null which may not be, and all are of their type.
  std::string columns(const std::string& text) {
    Described described;
    const auto mistake = checker_->describe(text, described);
    if (mistake) return mistake->text;
    for (const auto& database : databases_) compare(text, described, *database);
    std::string said;
    for (const Described::Column& column : described.columns) {
      said +=
          (said.empty() ? "" : ", ") + (column.type.empty() ? "any" : column.type) + (column.is_nullable ? "?" : "");
    }
    return said;
  }
  static void compare(const std::string& text, const Described& described, db::sqlite::Connection& database) {
    auto statement = database.prepare(text).value();
    db::Rows rows;
    const std::vector<db::Value> values(static_cast<std::size_t>(statement.parameters()), db::Value(1));
    if (!described.is_readonly || !statement.run(values, rows)) return;
    auto look = [&](const db::Row& row) {
      for (int i = 0; i < row.columns(); ++i) {
        const Described::Column& column = described.columns[static_cast<std::size_t>(i)];
        if (row.is_null(i)) {
          EXPECT_TRUE(column.is_nullable) << text << ": column " << i << " is null";
          continue;
        }
        const db::ValueKind kind = row.kind(i);
        const bool fits = column.type == "int64" || column.type == "bool" ? kind == db::ValueKind::Integer
                          : column.type == "real" ? kind == db::ValueKind::Real || kind == db::ValueKind::Integer
                          : column.type == "text" ? kind == db::ValueKind::Text
                          : column.type == "blob" ? kind == db::ValueKind::Blob
                                                  : true;
        EXPECT_TRUE(fits) << text << ": column " << i << " is no " << column.type;
      }
    };
    EXPECT_TRUE(rows.for_each(look)) << text;
  }
  // "id int64, name text?": the parameters.
  std::string parameters(const std::string& text) {
    Described described;
    const auto mistake = checker_->describe(text, described);
    if (mistake) return mistake->text;
    std::string said;
    for (const Described::Parameter& one : described.parameters) {
      said += (said.empty() ? "" : ", ") + one.name + ' ' + (one.type.empty() ? "any" : one.type) +
              (one.is_nullable ? "?" : "") + (one.other_type.empty() ? "" : " or " + one.other_type);
    }
    return said;
  }

  db::testing::Folder folder_;
  std::unique_ptr<Checker> checker_;
  std::vector<std::unique_ptr<db::sqlite::Connection>> databases_;
};

TEST_F(InferenceTest, columns_of_tables_are_as_declared) {
  EXPECT_EQ(columns("select * from u"), "int64, text, text?, real, int64?");
  EXPECT_EQ(columns("select rowid, oid, name from u"), "int64, int64, text");
  EXPECT_EQ(columns("select * from pair"), "int64, text, text?");
  EXPECT_EQ(columns("select * from loose"), "text?, bool, timestamp?, blob?, any?");
}

TEST_F(InferenceTest, the_null_side_of_an_outer_join_is_nullable) {
  EXPECT_EQ(columns("select u.id, o.id, o.cents from u join o on o.u = u.id"), "int64, int64, int64");
  EXPECT_EQ(columns("select u.id, o.id, o.cents from u left join o on o.u = u.id"), "int64, int64?, int64?");
  EXPECT_EQ(columns("select a.name, b.name from u a left join u b on b.id = a.boss"), "text, text?");
  EXPECT_EQ(columns("select u.id, o.id from o right join u on o.u = u.id"), "int64, int64?");
  EXPECT_EQ(columns("select u.id, o.id from u full join o on o.u = u.id and o.cents > 60"), "int64?, int64?");
  EXPECT_EQ(columns("select o.id is null as none, coalesce(o.cents, 0) as c from u left join o on o.u = u.id"),
            "bool, int64");
  EXPECT_EQ(columns("select u.id, x.cents from u left join (select u, cents from o) x on x.u = u.id"), "int64, int64?");
  EXPECT_EQ(columns("select u.*, o.cents from u left join o on o.u = u.id left join pair p on p.a = o.id"),
            "int64, text, text?, real, int64?, int64?");
  EXPECT_EQ(columns("select a.id, b.cents, c.cents from u a left join o b on b.u = a.id cross join o c"),
            "int64, int64?, int64");
}

TEST_F(InferenceTest, a_column_that_a_join_shares_is_there_once) {
  EXPECT_EQ(columns("select * from o a join o b using (id)"), "int64, int64, int64, text?, int64, int64, text?");
  EXPECT_EQ(columns("select * from o natural join pair"), "int64, int64, int64, text?, int64, text, text?");
  EXPECT_EQ(columns("select id, b.cents from o a left join o b using (id)"), "int64, int64?");
}

TEST_F(InferenceTest, aggregates_over_no_rows_are_null_and_counts_are_not) {
  EXPECT_EQ(columns("select count(*), count(note), sum(cents), max(o.id), avg(cents), total(cents) from o, u"),
            "int64, int64, int64?, int64?, real?, real");
  EXPECT_EQ(columns("select name, count(*) from u"), "text?, int64");
  EXPECT_EQ(columns("select u, sum(cents), max(cents), max(state), group_concat(cents) from o group by u"),
            "int64, int64, int64, text?, text");
  EXPECT_EQ(columns("select u, sum(cents) filter (where state = 'no') from o group by u"), "int64, int64?");
  EXPECT_EQ(columns("select id, (select count(*) from o where o.u = u.id) as n, (select cents from o where o.u = u.id) "
                    "as c, (select max(cents) from o where o.u = u.id) as m from u"),
            "int64, int64, int64?, int64?");
  EXPECT_EQ(columns("select name, sum(1) over (order by id) as running, row_number() over (order by id) as r from u"),
            "text, int64?, int64");
  EXPECT_EQ(columns("select coalesce(sum(cents), 0) as total from o"), "int64");
  EXPECT_EQ(columns("select count(*) from u having 1"), "int64");
}

TEST_F(InferenceTest, expressions_have_the_type_of_their_operands) {
  EXPECT_EQ(columns("select 1, 1.5, 'a', x'00', null, true, 1 + 2, 1 + 1.5, 7 / 2, 7 % 2, 'a' || 'b', 1 < 2, not 1"),
            "int64, real, text, blob, any?, bool, int64, real, int64?, int64?, text, bool, bool");
  EXPECT_EQ(
      columns("select note || name, length(note), lower(name), score * 2, u.id + score, -cents, ~cents from u join o "
              "on o.u = u.id"),
      "text?, int64?, text, real, real, int64, int64");
  EXPECT_EQ(
      columns("select case when id > 1 then 'a' else 'b' end, case when id > 1 then name end, case id when 1 then "
              "1 when 2 then 2.5 else 3 end from u"),
      "text, text?, real");
  EXPECT_EQ(columns("select cast(note as integer), cast(id as text), cast(id as real) from u"), "int64?, text, real");
  EXPECT_EQ(columns("select exists (select 1 from o), id in (1, 2), note in ('a'), id in (select u from o), id between "
                    "1 and 2, note like 'a%', note is null, note is not 'x' from u"),
            "bool, bool, bool?, bool, bool?, bool?, bool, bool");
  EXPECT_EQ(
      columns("select ifnull(note, name), nullif(name, 'ada'), iif(id > 1, note, name), iif(id, 1, 2), max(id, 2), "
              "min(note, 'b'), abs(id), round(score), typeof(note), hex(note) from u"),
      "text, text?, text?, int64, int64, text?, int64, real, text, text");
  EXPECT_EQ(columns("select strftime('%Y', 'now') as y, date(note) as d, unixepoch('now') as e from u"),
            "text, text?, int64");
  EXPECT_EQ(
      columns("select json_extract(note, '$.a') as a, json_array(u.id) as b, value as v from u, json_each('[1]')"),
      "any?, text, any?");
}

TEST_F(InferenceTest, views_and_subqueries_are_what_they_select) {
  EXPECT_EQ(columns("select * from v"), "int64, text, int64?, int64");
  EXPECT_EQ(columns("select x.id from (select id, note from u) x"), "int64");
  EXPECT_EQ(columns("with a as (select id, note from u), b (n) as (select max(id) from a) select * from a, b"),
            "int64, text?, int64?");
  EXPECT_EQ(
      columns("with recursive c (n, t) as (select 1, 'a' union all select n + 1, null from c where n < 3) select n, "
              "t from c"),
      "int64, text?");
  EXPECT_EQ(columns("values (1, 'a'), (2, null)"), "int64, text?");
  EXPECT_EQ(columns("select id from u union select u from o"), "int64");
  EXPECT_EQ(columns("select name from u union all select state from o order by 1 limit 3"), "text?");
  EXPECT_EQ(columns("select name from u except select note from u"), "text?");
}

TEST_F(InferenceTest, types_that_are_said_reach_views_and_parameters) {
  ASSERT_FALSE(checker_->set_type("u", "note", "uuid"));
  ASSERT_FALSE(checker_->set_type("v", "n", "int32"));
  EXPECT_EQ(columns("select note, coalesce(note, note) as again, (select max(n) from v) as n from u where false"),
            "uuid?, uuid?, int32?");
  EXPECT_EQ(parameters("select id from u where note in ($1) or note > $2"), "1 uuid, 2 uuid");
  EXPECT_EQ(checker_->set_type("v", "m", "text")->text, "no such column: v.m; did you mean n?");
}

TEST_F(InferenceTest, returning_is_of_the_table_that_changes) {
  EXPECT_EQ(columns("insert into u (name, score) values ($1, $2) returning *"), "int64, text, text?, real, int64?");
  EXPECT_EQ(columns("update u set note = $1 where id = $2 returning id, note"), "int64, text?");
  EXPECT_EQ(columns("delete from o where id = $1 returning cents, cents * 2 as twice"), "int64, int64");
  EXPECT_EQ(columns("delete from o"), "");
}

TEST_F(InferenceTest, parameters_are_what_they_are_compared_with) {
  EXPECT_EQ(parameters("select id from u where name = $name and $score < score"), "name text, score real");
  EXPECT_EQ(parameters("select id from u where note = $1"), "1 text")
      << "it does not inherit that the column may be null";
  EXPECT_EQ(parameters("select id from u where id in ($1, $2) and score between $3 and $4"),
            "1 int64, 2 int64, 3 real, 4 real");
  EXPECT_EQ(parameters("select id from u where name like $1 || '%' limit $2 offset $3"), "1 text, 2 int64, 3 int64");
  EXPECT_EQ(parameters("select id from u where (id, name) = ($1, $2)"), "1 int64, 2 text");
  EXPECT_EQ(parameters("select id from u where instr(lower(name), lower($search)) > 0"), "search text");
  EXPECT_EQ(parameters("select id from u where note is $1 or $2 is null"), "1 text?, 2 any?");
  EXPECT_EQ(parameters("select id from u where score > $1 + 1"), "1 real");
  EXPECT_EQ(parameters("select id from u where id = (select u from o where cents = $1)"), "1 int64");
  EXPECT_EQ(parameters("select id from u where id = $1 or name = $1"), "1 int64 or text");
  EXPECT_EQ(parameters("select $1 as x"), "1 any");
  EXPECT_EQ(parameters("select id from loose l join u on u.name = l.k where l.at >= $1 and flag = $2"),
            "1 timestamp, 2 bool");
}

TEST_F(InferenceTest, a_parameter_of_a_nullable_column_may_be_null_when_it_is_written) {
  EXPECT_EQ(parameters("insert into u (name, note, score) values ($name, $note, $score)"),
            "name text, note text?, score real");
  EXPECT_EQ(parameters("insert into o values ($1, $2, $3, $4)"), "1 int64, 2 int64, 3 int64, 4 text?");
  EXPECT_EQ(parameters("insert into o (u, cents) select id, $1 from u where name = $2"), "1 int64, 2 text");
  EXPECT_EQ(parameters("update u set note = $note, name = coalesce($name, name) where id = $id"),
            "note text?, name text?, id int64");
  EXPECT_EQ(parameters("update u set note = iif($has, $note, note), (name, score) = ($n, $s)"),
            "has bool, note text?, n text, s real");
  EXPECT_EQ(
      parameters("insert into u (id, name, score) values (1, 'a', 1) on conflict (id) do update set note = $1 where "
                 "score < $2"),
      "1 text?, 2 real");
}

TEST_F(InferenceTest, what_is_not_understood_is_nullable_and_has_the_type_of_its_column) {
  EXPECT_EQ(columns("select u.id, o.cents from (u join o on o.u = u.id)"), "int64?, int64?");
}

}  // namespace
}  // namespace keel::sql::inference_test
