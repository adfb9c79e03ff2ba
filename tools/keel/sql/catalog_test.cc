// Files of queries that are wrong, and what is said about each; and what right ones become.

#include "sql/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "keel/db/testing/folder.h"
#include "sql/sqlite_checker.h"

namespace keel::sql::catalog_test {
namespace {

class QueriesOf : public ::testing::Test {
 protected:
  QueriesOf() {
    folder_.write(
        "0001_users.sql",
        "create table users (id integer primary key, name text not null, email text unique, note text, "
        "created_at text not null) strict;\n"
        "create table orders (id integer primary key, user_id integer not null references users, cents integer "
        "not null) strict;\n");
    auto made = make_sqlite_checker(folder_.path());
    EXPECT_TRUE(made) << made.error().describe();
    checker_ = *std::move(made);
  }
  const Catalog& read(const std::vector<std::string>& texts) {
    problems_ = std::make_unique<Problems>();
    std::vector<std::size_t> sources;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      sources.push_back(problems_->add_file(std::string(1, static_cast<char>('a' + i)) + ".sql", texts[i]));
    }
    catalog_ = make_catalog(sources, *checker_, *problems_);
    return catalog_;
  }
  // What is wrong, without the lines that are shown; "good".
  std::string said_of_all(const std::vector<std::string>& texts) {
    read(texts);
    std::string said;
    const std::string all = problems_->describe();
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t end = all.find('\n', at);
      if (!all.substr(at, 2).starts_with("  ")) said += all.substr(at, end + 1 - at);
      at = end + 1;
    }
    if (!said.empty()) said.pop_back();
    return said.empty() ? "good" : said;
  }
  std::string said(const std::string& text) { return said_of_all({text}); }
  // "find_user(id std::int64_t) -> User: …"
  std::string function(const std::string& text) {
    const Catalog& catalog = read({text});
    if (problems_->has_any()) return problems_->describe();
    const Function& function = catalog.files[0].functions[0];
    std::string text_of = function.query->name + '(';
    for (const Function::Parameter& one : function.parameters) {
      text_of += (text_of.ends_with('(') ? "" : ", ") + one.name + ' ' + one.cpp_type();
    }
    text_of += ") -> " + function.row + ":";
    for (const Variant& variant : function.variants) text_of += '\n' + variant.text;
    return text_of;
  }

  db::testing::Folder folder_;
  std::unique_ptr<Checker> checker_;
  std::unique_ptr<Problems> problems_;
  Catalog catalog_;
};

TEST_F(QueriesOf, a_file_become_functions) {
  EXPECT_EQ(function("-- name: find_user :one\nselect id, name\n  from users -- all\n  where id = $id ;\n"),
            "find_user(id std::int64_t) -> FindUserRow:\nselect id, name from users where id = $1");
  EXPECT_EQ(function("-- name: count_users :one\nselect count(*) from users"),
            "count_users() -> std::int64_t:\nselect count(*) from users");
  EXPECT_EQ(function("-- name: note_of :optional\nselect note from users where id = $1"),
            "note_of(id std::int64_t) -> std::optional<std::string>:\nselect note from users where id = $1");
  EXPECT_EQ(
      function("-- name: rename :exec\nupdate users set name = $name, note = $note where id = $id or name = $name"),
      "rename(name std::string, note std::optional<std::string>, id std::int64_t) -> :\n"
      "update users set name = $1, note = $2 where id = $3 or name = $1");
}

TEST_F(QueriesOf, literals_and_names_in_quotes_stay_as_they_are) {
  EXPECT_EQ(
      function("-- name: f :many\nselect id, 'a  -- $b' as \"x\", \"name\" from users where name = ';' or id = $1"),
      "f(id std::int64_t) -> FRow:\nselect id, 'a  -- $b' as \"x\", \"name\" from users where name = ';' or id = $1");
}

TEST_F(QueriesOf, types_are_said_where_the_database_does_not_know_them) {
  EXPECT_EQ(function("-- name: f :one\nselect json_extract(note, '$.a') as \"age!: int32\" from users where id = $1"),
            "f(id std::int64_t) -> std::int32_t:\n"
            "select json_extract(note, '$.a') as \"age\" from users where id = $1");
  EXPECT_EQ(function("-- name: f :one\n-- type: age text\nselect json_extract(note, '$.a') as age from users"),
            "f() -> std::optional<std::string>:\nselect json_extract(note, '$.a') as age from users");
  EXPECT_EQ(function("-- name: f :one\n-- param: x uuid\nselect id from users where name like $x"),
            "f(x keel::Uuid) -> std::int64_t:\nselect id from users where name like $1");
  EXPECT_EQ(function("-- type: users.created_at timestamp\n-- name: f :one\nselect created_at from users where "
                     "created_at > $1"),
            "f(created_at keel::Timestamp) -> keel::Timestamp:\nselect created_at from users where created_at > $1");
  EXPECT_EQ(function("-- name: f :one\nselect max(id) as \"id!\" from users"),
            "f() -> std::int64_t:\nselect max(id) as \"id\" from users");
  EXPECT_EQ(function("-- name: f :one\nselect name as \"name?\" from users"),
            "f() -> std::optional<std::string>:\nselect name as \"name\" from users");
}

TEST_F(QueriesOf, blocks_are_there_or_not_in_every_combination) {
  EXPECT_EQ(function("-- name: f :many\nselect id from users where true\n"
                     "  /*? name */ and name = $name\n  /*? cheap */ and id < 9\n  and id > $least"),
            "f(name std::optional<std::string>, least std::int64_t, cheap bool) -> std::int64_t:\n"
            "select id from users where true and id > $1\n"
            "select id from users where true and name = $1 and id > $2\n"
            "select id from users where true and id < 9 and id > $1\n"
            "select id from users where true and name = $1 and id < 9 and id > $2");
  EXPECT_EQ(
      function("-- name: f :many\nselect id from users where /*? name */ name = $2 and\n note = 'x' and /*?*/ id = "
               "$1"),
      "f(id std::int64_t, name std::optional<std::string>) -> std::int64_t:\n"
      "select id from users where id = $1\n"
      "select id from users where name = $1 and note = 'x' and id = $2");
  EXPECT_EQ(function("-- name: f :many\nselect id from users where true /*? a */ and id = $a /*? b */ and name = $b\n"),
            "f(a std::optional<std::int64_t>, b std::optional<std::string>) -> std::int64_t:\n"
            "select id from users where true\n"
            "select id from users where true and id = $1\n"
            "select id from users where true and name = $1\n"
            "select id from users where true and id = $1 and name = $2")
      << "one ends where the next begins";
}

// A query with this many blocks, and the line `sorts`.
std::string with_blocks(int count, const std::string& sorts) {
  std::string text = "-- name: f :many\n" + sorts + "select id from users where true";
  for (int i = 0; i < count; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    text += "\n/*? " + name + " */ and id <> $" + name;
  }
  return text + (sorts.empty() ? "\n" : "\norder by $sort\n");
}

// What the view of a table in an application needs; all of it is checked.
TEST_F(QueriesOf, blocks_and_orders_are_as_many_as_a_view_of_a_table_has) {
  const std::string view = function(with_blocks(6, "-- sort: id, name, email, note\n"));
  EXPECT_EQ(std::ranges::count(view, '\n'), 8 * 64) << view.substr(0, 2000);
  EXPECT_EQ(std::ranges::count(function(with_blocks(8, "-- sort: name\n")), '\n'), 2 * 256);
  EXPECT_EQ(said(with_blocks(7, "-- sort: id, name, email\n")),
            "a.sql:1:10: error: f has 7 optional blocks and 3 sort columns, which make 768 statements: at most 512 are "
            "allowed; write several queries");
  // A mistake that only statements without a certain block have.
  const std::string said_of_one = said(
      "-- name: f :many\nselect id from users where\n/*? a */ id = $a and\n/*? b */ id = $b and\n"
      "/*? c */ id = $c and\n/*? d */ id = $d and\n/*? e */ id = $e and\n/*? f */ id = $f or\n"
      "/*? t */ true\n");
  EXPECT_NE(said_of_one.find("error: "), std::string::npos) << said_of_one;
  EXPECT_NE(said_of_one.find("without the block"), std::string::npos) << said_of_one;
}

TEST_F(QueriesOf, orders_are_columns_that_are_named) {
  EXPECT_EQ(function("-- name: f :many\n-- sort: name, users.id\nselect id from users order by $sort limit $n"),
            "f(n std::int64_t) -> std::int64_t:\n"
            "select id from users order by name limit $1\nselect id from users order by name desc limit $1\n"
            "select id from users order by users.id limit $1\nselect id from users order by users.id desc limit $1");
  EXPECT_EQ(said("-- name: f :many\n-- sort: nmae\nselect id from users order by $sort"),
            "a.sql:3:31: error: no such column: nmae; did you mean name?");
  EXPECT_EQ(said("-- name: f :many\n-- sort: name\nselect id from users"),
            "a.sql:2:10: error: -- sort: needs exactly one `order by $sort` in the statement, but there is none");
  EXPECT_EQ(said("-- name: f :many\n-- sort: name; drop table users\nselect id from users order by $sort"),
            "a.sql:2:10: error: expected columns: -- sort: name, users.created_at");
  EXPECT_EQ(said("-- name: f :many\n-- sort: id, id\nselect id from users order by $sort"),
            "a.sql:2:10: error: -- sort: has id twice");
  EXPECT_EQ(said("-- name: f :many\n-- sort: id, o.id\nselect u.id from users u, orders o order by $sort"),
            "a.sql:2:10: error: -- sort: has two columns that a client would call id: give one of them another name in "
            "the statement, with `as`, and sort by that name");
}

TEST_F(QueriesOf, a_statement_that_is_wrong_says_where_and_what_was_meant) {
  EXPECT_EQ(said("-- name: f :one\nselect id,\n  nmae from users"),
            "a.sql:3:3: error: no such column: nmae; did you mean name?");
  EXPECT_EQ(said("-- name: f :one\nselect id from user"),
            "a.sql:2:16: error: no such table: user; did you mean users?");
  EXPECT_EQ(said("-- name: f :one\nselct id from users"), "a.sql:2:1: error: near \"selct\": syntax error");
  EXPECT_EQ(said("-- name: f :exec\nbegin").substr(0, 40), "a.sql:2:1: error: begin a transaction wi");
  EXPECT_EQ(said("-- name: f :many\nselect id from users where id = $id\n  /*? name */ and nmae = $name"),
            "a.sql:3:19: error: no such column: nmae; did you mean name?");
  EXPECT_EQ(said("-- name: f :many\nselect id from users /*? a */ where id = $a\n /*? b */ and name = $b\n"),
            "a.sql:3:11: error: near \"and\": syntax error (without the block 'a')");
  read({"-- name: f :one\n\tselect 'é', nmae from users"});
  EXPECT_EQ(problems_->describe(),
            "a.sql:2:15: error: no such column: nmae; did you mean name?\n"
            "  \tselect 'é', nmae from users\n"
            "  \t            ^\n");
}

TEST_F(QueriesOf, a_file_that_is_wrong_says_how_it_is_written) {
  EXPECT_EQ(said("select 1"), "a.sql:1:1: error: a statement without a name: put -- name: find_user :one above it");
  EXPECT_EQ(said("-- nothing\n"),
            "a.sql:1:1: error: the file has no query: begin a query with a line -- name: "
            "find_user :one");
  EXPECT_EQ(said("-- name: f\nselect 1"),
            "a.sql:1:10: error: f has no kind: after the name comes :one, :optional, :many, :stream, :exec or :batch");
  EXPECT_EQ(said("-- name: f :all\nselect 1"),
            "a.sql:1:12: error: :all is not a kind: expected :one, :optional, :many, :stream, :exec or :batch");
  EXPECT_EQ(said("-- name: f-g :one\nselect 1"),
            "a.sql:1:10: error: expected a name and a kind: -- name: find_user :one");
  EXPECT_EQ(said("-- name: delete :exec\ndelete from users"),
            "a.sql:1:10: error: delete is a keyword of C++: choose another name");
  EXPECT_EQ(said("-- name: f :one\n"), "a.sql:1:10: error: f has no statement after its name");
  EXPECT_EQ(said("-- name: f :exec\ndelete from users; delete from orders;"),
            "a.sql:2:20: error: a second statement for f: each statement needs its own line -- name: …");
  EXPECT_EQ(said("-- name: f :exec\ndelete from users;\n-- name: f :exec\ndelete from orders"),
            "a.sql:3:10: error: f exists already, at a.sql:1:10");
  EXPECT_EQ(said_of_all({"-- name: f :exec\ndelete from users", "-- name: f :exec\ndelete from users"}),
            "b.sql:1:10: error: f exists already, at a.sql:1:10");
  EXPECT_EQ(said("-- name: f :one User User\nselect id, name from users"),
            "a.sql:1:17: error: after the kind, only the type of the rows may follow");
  EXPECT_EQ(said("-- name: f :one\n-- parm: id int64\nselect id from users where id = $id"),
            "a.sql:2:1: error: -- parm: is not known; did you mean -- param:?");
  EXPECT_EQ(said("-- param: id int64\n-- name: f :exec\ndelete from users"),
            "a.sql:1:1: error: -- param: belongs to a query: put it after the line -- name: …");
  EXPECT_EQ(said("-- include: api/types.h\n-- name: f :exec\ndelete from users"),
            "a.sql:1:13: error: expected a header in quotes: -- include: \"api/types.h\"");
  EXPECT_EQ(said(std::string("-- name: f :exec\ndelete from users\0", 35)),
            "a.sql:2:18: error: a NUL byte, which SQL text must not contain");
  EXPECT_EQ(said("-- name: f :many\nselect id from users /*? a"), "good") << "a comment that SQLite takes";
}

TEST_F(QueriesOf, blocks_that_are_wrong_say_how_they_are_written) {
  EXPECT_EQ(said("-- name: f :many\nselect id from users where true /*? 1a */ and id = 1"),
            "a.sql:2:33: error: a block must begin with /*? and the name of a parameter: /*? name */");
  EXPECT_EQ(said("-- name: f :many\nselect id from users where true and id = $a /*?*/"),
            "a.sql:2:45: error: there is no block /*? name */ that ends here");
  EXPECT_EQ(
      said("-- name: f :many\nselect id from users where true /*? a */ and name = $b"),
      "a.sql:2:42: error: the block 'a' does not use $a: it uses $b; a block must have the name of the parameter that "
      "it uses");
  EXPECT_EQ(said("-- name: f :many\nselect id from users where id = $a\n /*? a */ and user_id = $a"),
            "a.sql:2:33: error: $a is used outside of the block 'a', too, where it may have no value: use it only in "
            "the block");
  EXPECT_EQ(said(with_blocks(9, "")),
            "a.sql:11:10: error: f has 9 optional blocks: at most 8 are allowed; write several queries");
  EXPECT_EQ(said("-- name: f :many\nselect id from users\n /*? a */ union select name from users\n"),
            "a.sql:1:10: error: the optional blocks of f change its columns, which a block must not do");
}

TEST_F(QueriesOf, a_kind_that_does_not_fit_says_which_does) {
  EXPECT_EQ(
      said("-- name: f :one\ndelete from users"),
      "a.sql:1:10: error: :one reads rows, but the statement returns none: use :exec, or add `returning …` to it");
  EXPECT_EQ(
      said("-- name: f :exec\nselect id from users"),
      "a.sql:1:10: error: :exec discards rows, but the statement returns some: use :one, :optional, :many or :stream");
  EXPECT_EQ(
      said("-- name: f :exec\ndelete from users returning id"),
      "a.sql:1:10: error: :exec discards rows, but the statement returns some: leave `returning` out, or use :one, "
      ":optional or :many");
  EXPECT_EQ(said("-- name: f :stream\ndelete from users returning id"),
            "a.sql:1:10: error: :stream reads, but the statement writes: use :many");
  EXPECT_EQ(said("-- name: f :batch\ndelete from users"),
            "a.sql:1:10: error: :batch runs the statement once for each set of parameters, but the statement "
            "has no parameters");
  EXPECT_EQ(said("-- name: f :exec User\ndelete from users"),
            "a.sql:1:18: error: :exec returns no rows, so it needs no type for them");
}

TEST_F(QueriesOf, parameters_that_are_wrong_say_what_is_missing) {
  EXPECT_EQ(said("-- name: f :one\nselect id from users where id = $2"),
            "a.sql:2:33: error: $2 is used, but $1 is not: parameters must be numbered without gaps");
  EXPECT_EQ(said("-- name: f :one\nselect id from users where id = $1 and name = $name"),
            "a.sql:2:47: error: the statement has $name next to $1: use either numbers or names, not both");
  EXPECT_EQ(said("-- name: f :one\n-- param: nmae text\nselect id from users where name = $name"),
            "a.sql:2:11: error: the statement does not use $nmae; did you mean name?");
  EXPECT_EQ(said("-- name: f :one\n-- param: a text\nselect id from users"),
            "a.sql:2:11: error: the statement does not use $a; it has no parameters");
  EXPECT_EQ(said("-- name: f :one\nselect id from users where $x is null"),
            "a.sql:2:28: error: the type of $x is not known: write it after the name: -- param: x text");
  EXPECT_EQ(said("-- name: f :one\nselect id from users where id = $x or name = $x"),
            "a.sql:2:33: error: $x is used as int64 and as text: write its type: -- param: x int64");
  EXPECT_EQ(said("-- name: f :one\n-- param: x number\nselect id from users where id = $x"),
            "a.sql:2:11: error: number is not a type: expected int64, int32, bool, real, decimal, text, blob, "
            "timestamp, date, uuid, or a type of C++ with its namespace");
  for (const char* number : {"$0", "$100", "$99999999999999999999", "$1a"}) {
    EXPECT_EQ(said("-- name: f :one\nselect id from users where id = " + std::string(number)),
              "a.sql:2:33: error: expected $1 to $99, or $name");
  }
  EXPECT_EQ(said("-- name: f :one\n-- params: In\nselect id from users"),
            "a.sql:2:12: error: the statement has no parameters");
  EXPECT_EQ(said("-- name: f :one\nselect id from users where id = ?1 or id = :a").substr(0, 22),
            "a.sql:2:1: error: plac");
}

TEST_F(QueriesOf, columns_that_are_wrong_say_what_is_missing) {
  EXPECT_EQ(said("-- name: f :one\nselect json_extract(note, '$.a') as age, id from users"),
            "a.sql:1:10: error: the type of column 1, age, is not known: write it: -- type: age text");
  EXPECT_EQ(said("-- name: f :one\nselect id, count(*) from users"),
            "a.sql:1:10: error: column 2, count(*), has no name that a field can have: add `as total`");
  EXPECT_EQ(said("-- name: f :many\nselect users.id, orders.id from users, orders"),
            "a.sql:1:10: error: two columns are called id: give one of them another name with `as`");
  std::string many = "-- name: f :one\nselect 1 as c";
  for (int i = 1; i <= 40; ++i) many += ", 1 as c" + std::to_string(i);
  EXPECT_EQ(said(many), "a.sql:1:10: error: f gives 41 columns: a row has at most 40");
  EXPECT_EQ(said("-- name: f :many\n-- type: nmae text\nselect name from users"),
            "a.sql:2:10: error: no column is called nmae; did you mean name?");
  EXPECT_EQ(said("-- type: users.nmae text\n-- name: f :many\nselect name from users"),
            "a.sql:1:10: error: no such column: users.nmae; did you mean name?");
  EXPECT_EQ(said("-- type: user.name text\n-- name: f :many\nselect name from users"),
            "a.sql:1:10: error: no such table: user; did you mean users?");
  EXPECT_EQ(said_of_all({"-- type: users.name text\n-- name: f :many\nselect name from users",
                         "-- type: users.name uuid\n-- name: g :many\nselect name from users"}),
            "b.sql:1:10: error: users.name is text at a.sql:1:10");
}

TEST_F(QueriesOf, rows_of_one_name_are_one_struct) {
  const Catalog& catalog =
      read({"-- name: f :many User\nselect id, name from users;\n"
            "-- name: g :one User\nselect name, id from users where id = $1"});
  ASSERT_FALSE(problems_->has_any()) << problems_->describe();
  ASSERT_EQ(catalog.rows.size(), 1u);
  EXPECT_EQ(catalog.rows[0].name, "User");

  EXPECT_EQ(said("-- name: f :many User\nselect id, name from users;\n-- name: g :one User\nselect id from users"),
            "a.sql:3:17: error: User: there is no name, unlike at a.sql:1:18; give one of them another name");
  EXPECT_EQ(
      said_of_all({"-- name: f :many User\nselect id, note from users",
                   "-- name: g :one User\nselect id, name as note from users"}),
      "b.sql:1:17: error: User: note is std::string and not std::optional<std::string>, unlike at a.sql:1:18; give "
      "one of them another name");
  EXPECT_EQ(
      said("-- name: f :many User\nselect id, name from users;\n-- name: g :exec\n-- params: User\nupdate users set "
           "name = $name where id = $id"),
      "a.sql:3:10: error: User is already the name of another type at a.sql:1:18");
}

// 100 queries in at most a second (bench machines are faster than the one that runs the tests).
TEST_F(QueriesOf, a_hundred_are_checked_in_a_moment) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text +=
        "-- name: f" + std::to_string(i) +
        " :many\nselect u.id, u.name, count(o.id) as orders from users u left join orders o on o.user_id = u.id where "
        "u.name like $name /*? least */ and o.cents > $least /*?*/ group by u.id order by u.id limit $limit;\n";
  }
  const std::clock_t before = std::clock();
  EXPECT_EQ(said(text), "good");
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 1.0);
  EXPECT_EQ(catalog_.files[0].functions.size(), 100u);
}

}  // namespace
}  // namespace keel::sql::catalog_test
