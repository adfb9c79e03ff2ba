#include "sql/statements.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace keel::sql::sql_statements_test {
namespace {

using Texts = std::vector<std::string>;

class Find {
 public:
  explicit Find(std::string_view source) : Find({{"a.cc", source}}) {}
  Find(std::initializer_list<std::pair<std::string_view, std::string_view>> files) {
    for (const auto& [path, text] : files) sources.add(std::string(path), std::string(text));
    found = sources.find();
  }
  Texts texts() const {
    Texts all;
    for (const Statement& statement : found.statements) all.push_back(statement.text);
    return all;
  }
  Texts unknown() const {
    Texts all;
    for (const Unknown& unknown : found.unknown)
      all.push_back(sources.describe(unknown.place) + ' ' + unknown.argument);
    return all;
  }

  Sources sources;
  Sources::Found found;
};

TEST(Statements, are_the_first_arguments_of_typed_calls) {
  const Find find(R"(
    co_await session_.execute("one", 1);
    auto two = co_await db->query_one<User>("two");
    x.query_optional< std::optional<int> >("three"); x.query_many<std::vector<std::pair<int, int>>>("four");
    tx.template query_one<T>("five"); pool().query("six", on_row);
    if (!co_await attempt(a.b.query("seven", add)))
  )");

  EXPECT_EQ(find.texts(), (Texts{"one", "two", "three", "four", "five", "six", "seven"}));
  EXPECT_EQ(find.found.statements[2].call, "query_optional");
  EXPECT_EQ(find.found.statements[2].read_as, "std::optional<int>");
  EXPECT_EQ(find.found.statements[3].read_as, "std::vector<std::pair<int,int>>");
  EXPECT_EQ(find.found.statements[0].read_as, "");
  EXPECT_EQ(find.unknown(), Texts());
}

TEST(Statements, are_streamed_and_copied_too) {
  const Find find(R"(
    co_await db.stream<Order>("one", write); co_await tx->template stream<std::int64_t>("two", write, 1, 2);
    co_await shop.copy_out<Order>("three", [](int a, int b) { f(a, b); });
    co_await shop.copy_out<Order>(transaction, "four", write);
    body.stream("five"); client.stream(Method::Get, "six"); body.stream<T>(); db.copy_out("seven", a, b);
    db.stream<T>(text, write); db.copy_out<T>(transaction, text, write);
  )");

  EXPECT_EQ(find.texts(), (Texts{"one", "two", "three", "four"}));
  EXPECT_EQ(find.found.statements[1].read_as, "std::int64_t");
  EXPECT_EQ(find.unknown(), (Texts{"a.cc:6:18 text", "a.cc:6:60 text"}));
  EXPECT_EQ(find.found.statements[1].database, "");
  EXPECT_EQ(find.found.statements[2].database, "postgres");
}

TEST(Statements, are_for_the_database_that_a_comment_names) {
  const Find find(R"(
    s.execute("1");  // keel sql: sqlite
    s.execute("2");
    // keel sql: postgres, where it is faster
    s.execute("3");
    s.execute("4");  /* keel sql: postgres */
    f();  // keel sql: postgres
    s.execute("5");
    /* keel sql: postgres
     */
    s.execute("6");)");

  Texts databases;
  for (const Statement& statement : find.found.statements) databases.push_back(statement.database);
  EXPECT_EQ(find.texts(), (Texts{"1", "2", "3", "4", "5", "6"}));
  EXPECT_EQ(databases, (Texts{"sqlite", "", "postgres", "postgres", "", ""}));
  EXPECT_EQ(Find("s.execute(\"1\"); // keel sql: postgres").found.statements.at(0).database, "postgres");
}

TEST(Statements, are_put_together_of_adjacent_and_raw_literals) {
  const Find find(R"x(
    s.execute("insert into a "  // where
              "(b) " /* what */ R"(values ($1))", b);
    s.execute(R"sql(
      delete from "a")sql");
  )x");

  EXPECT_EQ(find.texts(), (Texts{"insert into a (b) values ($1)", "\n      delete from \"a\""}));
}

TEST(Statements, may_have_literals_in_dollar_quotes) {
  const Find find("s.execute(\"select $$it's; $2$$, $1\", 1); s.execute(\"select $a$x$a$\");");

  EXPECT_EQ(find.texts(), (Texts{"select $$it's; $2$$, $1", "select $a$x$a$"}));
  EXPECT_EQ(find.unknown(), Texts());
}

TEST(Statements, are_constants_too) {
  const Find find(R"(
    constexpr char one[] = "1";
    static constexpr const char two[2] = {"2"};
    inline constexpr db::SqlFor<1> three("3");
    constexpr db::Sql four{"4" "!"};
    constexpr db::Sql five = "5";
    #define SIX "6"
    #define TABLE "users"
    namespace sql { const char seven[] = "7"; }
    s.execute(one); s.execute(two); s.execute(three, 1); s.execute(four); s.execute(five); s.execute(SIX);
    s.execute(sql::seven); s.execute(::app::sql::seven); s.execute("select * from " TABLE " where id = $1", 1);
  )");

  EXPECT_EQ(find.texts(), (Texts{"1", "2", "3", "4!", "5", "6", "7", "7", "select * from users where id = $1"}));
  EXPECT_EQ(find.unknown(), Texts());
}

TEST(Statements, are_constants_of_another_source_where_only_that_has_the_name) {
  const Find find({{"a.h", "inline constexpr char one[] = \"a1\"; inline constexpr char two[] = \"a2\";"},
                   {"b.cc", "constexpr char two[] = \"b2\"; s.execute(one); s.execute(two);"},
                   {"c.cc", "s.execute(two);"}});

  EXPECT_EQ(find.texts(), (Texts{"a1", "b2"}));
  EXPECT_EQ(find.unknown(), Texts{"c.cc:1:11 two"});
}

TEST(Statements, that_are_not_known_are_named_with_their_place) {
  const Find find(R"(void f(db::Sql sql) {
  s.execute(sql, 1);
  s.query_one<int>(is_long ? "a" : "b");
  s.query(statements[0], add);
  s.execute(UNKNOWN " where id = 1");
  { char two[] = "a"; }
  { char two[] = "b"; }
  s.execute(two);
})");

  EXPECT_EQ(find.texts(), Texts());
  EXPECT_EQ(find.unknown(), (Texts{"a.cc:2:13 sql", "a.cc:3:20 is_long ? \"a\" : \"b\"", "a.cc:4:11 statements[0]",
                                   "a.cc:5:13 UNKNOWN \" where id = 1\"", "a.cc:8:13 two"}));
}

TEST(Statements, are_not_arguments_of_other_functions) {
  const Find find(R"x(
    execute(executor, [] {}); keel::execute("a", 1); pool.execute([&] { work(); }); request.query();
    Task<Written> execute(SqlFor<1> sql); Task<Written> Queries::execute(const char* a = "b");
    x.executes("a"); x.query; x.query_one<"a">; a.query < b; "x.execute(\"a\")"; // s.execute("a")
    client.execute("ls");  // keel sql: skip
    s.execute(text);
    // keel sql: skip, this is a shell
    shell.execute("ls",
                  "a");
    return ("no constant"); printf("no constant"); s.execute(printf);
  )x");

  EXPECT_EQ(find.texts(), Texts());
  EXPECT_EQ(find.unknown(), (Texts{"a.cc:6:15 text", "a.cc:10:62 printf"})) << "a comment after a call is for that one";
}

TEST(Statements, know_where_each_byte_stands) {
  const Find find(
      {{"a.h", "\nconstexpr char name[] =\n  \"se\" \"lect\";"}, {"b.cc", "s.execute(name);\ns.execute(\"\\tab\");"}});

  ASSERT_EQ(find.texts(), (Texts{"select", "\tab"}));
  const auto place = [&](std::size_t statement, std::size_t byte) {
    return find.sources.describe(find.found.statements[statement].origin.at(byte));
  };
  EXPECT_EQ(place(0, 0), "a.h:3:4");
  EXPECT_EQ(place(0, 1), "a.h:3:5");
  EXPECT_EQ(place(0, 2), "a.h:3:9");
  EXPECT_EQ(place(0, 6), "a.h:3:13") << "the closing quote";
  EXPECT_EQ(place(1, 0), "b.cc:2:12");
  EXPECT_EQ(place(1, 1), "b.cc:2:14");
  EXPECT_EQ(place(1, 3), "b.cc:2:16");
}

TEST(Statements, in_directives_end_with_them) {
  const Find find("#define FIND(s) s.query(\"a\"\n#define NONE(s) s.query(\n#define OTHER(s) s.query((sql, b\n c);");

  EXPECT_EQ(find.texts(), Texts{"a"});
  EXPECT_EQ(find.unknown(), Texts{"a.cc:3:26 (sql, b"});
}

TEST(Statements, of_what_is_not_whole_are_none) {
  for (const char* source :
       {"s.execute(", "s.execute", "s.query_one<", "s.query_one<a", "s.query_one<a>", "s.query_one<a>(", ".execute(\"",
        "execute", "s.execute(,", "constexpr char a[", "char a[] = ", "char a = {", "#define", "#define A",
        "s.execute(a::", "s.execute(a::b", "#.query\v("}) {
    EXPECT_EQ(Find(source).texts().size(), std::string_view(source) == ".execute(\"" ? 1u : 0u) << source;
  }
}

}  // namespace
}  // namespace keel::sql::sql_statements_test
