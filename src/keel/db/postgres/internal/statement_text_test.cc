#include "keel/db/postgres/internal/statement_text.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include <string>

namespace keel::db::postgres::internal::statement_text_test {
namespace {

TEST(StatementText, is_a_read_only_where_nothing_in_it_changes_anything) {
  for (const char* read :
       {"select 1", " SELECT name from users where id = $1", "values (1)", "table users", "show all",
        "with a as (select 1) select * from a", "select 'insert' as \"update\", $$delete$$",
        "select e'it\\'s an update' /* insert /* nested */ delete */", "(select 1)", "select E'\\\\' as \"update\"",
        "select e'it''s \\' an update'", "select date'\\' as a, ' update '", "select e'a'\n'\\' update '"}) {
    EXPECT_EQ(facts_of(read).is_read, true) << read;
  }
  for (const char* write :
       {"insert into t values (1)", "select e'\\\\' from t for update", "select date'\\' from t for update -- '",
        "with a as (insert into t values (1) returning 1) select * from a", "select * from t for update",
        "select * from t for share", "select nextval('s')", "select 1 into t", "select pg_advisory_lock(1)",
        "select pg_notify('a', 'b')", "select lo_create(0)", "explain analyze select 1", "select changes() -- volatile",
        "--volatile\nselect changes()", "begin", "", "update t set a = 'select'"}) {
    EXPECT_EQ(facts_of(write).is_read, false) << write;
  }
}

TEST(StatementText, is_of_a_group_where_a_comment_says_so) {
  EXPECT_TRUE(facts_of("insert into t values ($1) -- group").is_group);
  EXPECT_TRUE(facts_of("-- group \ninsert into t values ($1)").is_group);
  EXPECT_FALSE(facts_of("insert into t values ('-- group')").is_group);
  EXPECT_FALSE(facts_of("insert into t values ($1) -- no group").is_group);
}

TEST(StatementText, controls_transactions_where_its_first_word_says_so) {
  for (const char* control : {"begin", " Start transaction", "-- why\ncommit", "end", "rollback to a", "savepoint a"}) {
    EXPECT_TRUE(facts_of(control).is_control) << control;
  }
  for (const char* other : {"select 1 as commit", "insert into t values ('begin')", "beginning", "\"begin\"", ""}) {
    EXPECT_FALSE(facts_of(other).is_control) << other;
  }
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

// PostgreSQL 14 and later: the body of a function or procedure in standard SQL.
TEST(StatementText, has_no_transaction_in_the_body_of_a_function_in_standard_sql) {
  for (const char* body :
       {"create function f() returns int language sql begin atomic select 1; end;",
        "CREATE OR REPLACE PROCEDURE p(a int) BEGIN ATOMIC insert into t values (a); /* ; */ select 2; END",
        "create function f(a int default (1)) returns text begin atomic select case a when 1 then 'x' end; end",
        "create function f() returns int begin -- why\n atomic end",
        "create function \"f;\"() begin atomic select 1 end; end"}) {
    EXPECT_EQ(find_transaction_control(body), "") << body;
    EXPECT_EQ(find_transaction_control(std::string(body) + ";\nselect 1; commit"), "commit") << body;
    EXPECT_EQ(statements_of(std::string(body) + "; select 3").size(), 2u) << body;
  }
}

// Only such a body hides the words: no other text that has "begin atomic" in it.
TEST(StatementText, finds_a_transaction_after_words_that_only_resemble_such_a_body) {
  for (const char* script :
       {"select begin atomic from t; commit; end", "begin atomic; commit; end",
        "create table function (begin atomic); commit; end",
        "create function f(begin atomic) returns int language sql as 'select 1'; commit; end",
        "create view v as select begin atomic; commit; end", "create or function f() begin atomic; commit; end"}) {
    EXPECT_NE(find_transaction_control(script), "") << script;
    EXPECT_NE(find_transaction_control(script), "end") << script;
  }
}

TEST(StatementText, is_cut_at_the_semicolons_between_statements) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(statements_of("-- a;\nselect ';' ; /* ; */ create function f() as $$;$$;\n"),
            Parts({"select ';' ", "create function f() as $$;$$"}));
  EXPECT_EQ(statements_of("select 1"), Parts({"select 1"}));
  EXPECT_EQ(statements_of("select e'\\';'; select '\\'; select e'''\\';'"),
            Parts({"select e'\\';'", "select '\\'", "select e'''\\';'"}));
  EXPECT_EQ(statements_of(" -- nothing\n;;"), Parts());
}

TEST(StatementText, is_cut_within_its_bytes_wherever_it_ends) {
  const std::string script =
      "select $a$;$a$, e'\\';', e';'\n -- '\n '\\';', \"x;\" /* /* ; */ */; -- ;\ncreate index concurrently if not "
      "exists \"a\"\"b\" on "
      "b.\"c\";"
      "create function f() begin atomic select 1; end;$$";
  for (std::size_t size = 0; size <= script.size(); ++size) {
    const std::string part = script.substr(0, size);  // In memory of its own.
    const char* end = part.data();
    for (const std::string_view statement : statements_of(part)) {
      EXPECT_GE(statement.data(), end);
      end = statement.data() + statement.size();
      EXPECT_LE(end, part.data() + size);
      static_cast<void>(alone_facts_of(statement));
    }
  }
}

TEST(StatementText, tells_what_runs_in_no_transaction) {
  EXPECT_FALSE(alone_facts_of("create index a on b (c)").is_alone);
  EXPECT_FALSE(alone_facts_of("create table concurrently_made (a int)").is_alone);
  EXPECT_TRUE(alone_facts_of("VACUUM full a").is_alone);
  EXPECT_TRUE(alone_facts_of("alter system set a = 1").is_alone);
  EXPECT_TRUE(alone_facts_of("reindex table concurrently a").is_alone);
  const AloneFacts made = alone_facts_of("create unique index concurrently if not exists a_b on a (b)");
  EXPECT_TRUE(made.is_alone && made.is_repeatable);
  EXPECT_EQ(made.index, "a_b");
  EXPECT_FALSE(alone_facts_of("create index concurrently a_b on a (b)").is_repeatable);
  EXPECT_FALSE(alone_facts_of("drop index concurrently a_b").is_repeatable);
  EXPECT_EQ(alone_facts_of("create index concurrently on a (b)").index, "");
  EXPECT_TRUE(alone_facts_of("alter table if exists s.a detach partition s.b concurrently").is_alone);
}

TEST(StatementText, names_the_index_and_the_table_of_what_runs_in_no_transaction) {
  struct {
    const char* statement;
    const char* index;
    const char* table;
  } const all[] = {{"create index concurrently if not exists \"By Name\" on a (b)", "\"By Name\"", "a"},
                   {"create unique index concurrently if not exists \"a\"\"b\" /* on x */ on only \"My Shop\" . orders "
                    "using btree (b)",
                    "\"a\"\"b\"", "\"My Shop\".orders"},
                   {"CREATE INDEX CONCURRENTLY IF NOT EXISTS A_b ON shop.A(b)", "A_b", "shop.A"},
                   {"create index concurrently if not exists \"on\" on \"only\" (b)", "\"on\"", "\"only\""}};
  for (const auto& one : all) {
    const AloneFacts facts = alone_facts_of(one.statement);
    EXPECT_TRUE(facts.is_alone && facts.is_repeatable) << one.statement;
    EXPECT_EQ(facts.index, one.index) << one.statement;
    EXPECT_EQ(facts.table, one.table) << one.statement;
  }
  EXPECT_FALSE(alone_facts_of("create index concurrently if not exists U&\"a\" on b (c)").is_repeatable)
      << "what cannot be looked for cannot be made anew";
}

TEST(StatementText, has_lines_that_are_counted_by_characters) {
  EXPECT_EQ(line_of("ä\nb\nc", 1), 1);
  EXPECT_EQ(line_of("ä\nb\nc", 3), 2);
  EXPECT_EQ(line_of("ä\nb\nc", 5), 3);
  EXPECT_EQ(line_of("a", 0), 0);
}

}  // namespace
}  // namespace keel::db::postgres::internal::statement_text_test
