#include "keel/db/postgres/internal/statement_text.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::db::postgres::internal::statement_text_test {
namespace {

TEST(StatementText, is_a_read_only_where_nothing_in_it_changes_anything) {
  for (const char* read : {"select 1", " SELECT name from users where id = $1", "values (1)", "table users", "show all",
                           "with a as (select 1) select * from a", "select 'insert' as \"update\", $$delete$$",
                           "select e'it\\'s an update' /* insert /* nested */ delete */", "(select 1)"}) {
    EXPECT_EQ(facts_of(read).is_read, true) << read;
  }
  for (const char* write :
       {"insert into t values (1)", "with a as (insert into t values (1) returning 1) select * from a",
        "select * from t for update", "select * from t for share", "select nextval('s')", "select 1 into t",
        "select pg_advisory_lock(1)", "select pg_notify('a', 'b')", "select lo_create(0)", "explain analyze select 1",
        "select changes() -- volatile", "--volatile\nselect changes()", "begin", "", "update t set a = 'select'"}) {
    EXPECT_EQ(facts_of(write).is_read, false) << write;
  }
}

TEST(StatementText, is_of_a_group_where_a_comment_says_so) {
  EXPECT_TRUE(facts_of("insert into t values ($1) -- group").is_group);
  EXPECT_TRUE(facts_of("-- group \ninsert into t values ($1)").is_group);
  EXPECT_FALSE(facts_of("insert into t values ('-- group')").is_group);
  EXPECT_FALSE(facts_of("insert into t values ($1) -- no group").is_group);
}

TEST(StatementText, gets_numbers_for_names_in_the_order_in_which_they_come_first) {
  EXPECT_EQ(with_numbers("select $b, $a, $b, '$c'"), "select $1, $2, $1, '$c'");
  EXPECT_EQ(with_numbers("select 1"), "select 1");
}

TEST(StatementText, finds_what_begins_or_ends_a_transaction) {
  EXPECT_EQ(find_transaction_control("select 1; COMMIT"), "COMMIT");
  EXPECT_EQ(find_transaction_control("rollback"), "rollback");
  EXPECT_EQ(find_transaction_control("create table begin_at (a int); select 'commit'"), "");
  EXPECT_EQ(find_transaction_control("create function f() returns int language plpgsql as $$begin return 1; end$$"),
            "");
}

TEST(StatementText, has_lines_that_are_counted_by_characters) {
  EXPECT_EQ(line_of("ä\nb\nc", 1), 1);
  EXPECT_EQ(line_of("ä\nb\nc", 3), 2);
  EXPECT_EQ(line_of("ä\nb\nc", 5), 3);
  EXPECT_EQ(line_of("a", 0), 0);
}

}  // namespace
}  // namespace keel::db::postgres::internal::statement_text_test
