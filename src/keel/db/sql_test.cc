#include "keel/db/sql.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "keel/base/bug.h"

namespace keel::db::sql_test {
namespace {

static_assert(count_parameters("select 1") == 0);
static_assert(count_parameters("where b = $2 and a = $1 or $2 is null") == 2);
static_assert(count_parameters("select '$1', \"$2\", [$3], `$4` -- $5\n /* $6 */ + $1") == 1);
static_assert(count_parameters("select 'it''s $1' || $1") == 1);
static_assert(count_parameters("where id = any(array[$1, $2]) and tags[$3] = 'a' and m[1][$4] = 1") == 4);
static_assert(count_parameters("select (string_to_array(a, ','))[$1] from [a $2]") == 1);
static_assert(count_names("where id = any(array[$a, $b]::bigint[])") == 2);
static_assert(count_parameters("select \"tags\"[$1]") == 1, "a quoted name is a name");
static_assert(count_parameters("select a$1 from t") == 0, "a dollar inside a name belongs to it");
static_assert(count_parameters("select $2") == -1, "$1 is missing");
static_assert(count_parameters("select $name") == -1);
static_assert(count_parameters("select $0") == -1);
static_assert(count_parameters("select $100") == -1);
static_assert(count_parameters("select $99999999999999999999") == -1);
static_assert(count_parameters("select $1abc") == -1);
static_assert(count_parameters("select 1 /* $1") == 0);
static_assert(count_parameters("select 1 /") == 0);
static_assert(count_parameters("select '$1") == 0);
static_assert(count_parameters("select $$it's $2$$ || $1") == 1);
static_assert(count_parameters("select $a1$ $2 $$ $a$ $a1$, $1, $1") == 1, "a tag ends what the same tag begins");
static_assert(count_parameters("select a$$, $1, b$$") == 1, "a dollar inside a name belongs to it");
static_assert(count_parameters("select $1$$2$$") == -1, "a tag does not begin with a digit");
static_assert(count_parameters("select $1, $$ $2") == 1, "to the end");
static_assert(count_names("select $body$ $a $body$, $b") == 1);
static_assert(dollar_quoted_size("$$a$$ b") == 5 && dollar_quoted_size("$é$a$é$") == 9);
static_assert(dollar_quoted_size("") == 0 && dollar_quoted_size("$") == 0 && dollar_quoted_size("$a") == 0);
static_assert(dollar_quoted_size("$1$a$1$") == 0 && dollar_quoted_size("a$$") == 0 && dollar_quoted_size("$a b$") == 0);
static_assert(count_parameters("/*/ $1 */ $1") == 1, "the star of the opening does not close");
static_assert(count_parameters("/* a /* $1 */ $1 */ $1, $2") == 2, "comments of PostgreSQL nest");
static_assert(count_parameters("/* a /* b */ $1 /* c */") == 1, "those of SQLite do not");
static_assert(comment_size("-- a\nb") == 4 && comment_size("--") == 2 && comment_size("- a") == 0);
static_assert(comment_size("/**/ b") == 4 && comment_size("/* a") == 4 && comment_size("/") == 0);

static_assert(count_parameters(R"(select e'it\'s $1' || $1)") == 1);
static_assert(count_parameters(R"(select E'\\', $1, 'a\', $2)") == 2,
              "a backslash that is escaped, and one that is none");
static_assert(count_parameters(R"(select e'it''s \' $1' || $1)") == 1, "a doubled quote ends no escapes");
static_assert(count_parameters(R"(select date'\', $1, e1'\', $2)") == 2, "of the letter alone");
static_assert(count_parameters(R"(select e'\' $1)") == 0, "to the end");
static_assert(count_names(R"(select e'\'$a' as a, $b)") == 1);
static_assert(escaped_quoted_size("") == 0 && escaped_quoted_size("e") == 0 && escaped_quoted_size("x'a'") == 0);
static_assert(escaped_quoted_size("e''") == 3 && escaped_quoted_size("e'''") == 4 && escaped_quoted_size("e'\\") == 3);
static_assert(escaped_quoted_size(R"(e'a\'' b)") == 6 && escaped_quoted_size("e'a' 'b'") == 4);
static_assert(escaped_quoted_size("e'a' -- it's\n 'b\\'c' d") == 20, "a literal on the next line continues it");
static_assert(escaped_quoted_size("e'a'\n b") == 4 && escaped_quoted_size("e'a'\n") == 4);
static_assert(Sql("select $1, $2").parameters() == 2);
static_assert(SqlFor<2>("select $1, $2").text() == "select $1, $2");

static_assert(count_names("select 1") == 0);
static_assert(count_names("insert into t values ($a, $b_2, $a) -- $c") == 2, "a name may come again");
static_assert(count_names("select $a, $1") == -1);
static_assert(count_names("select $1, $a") == -1);
static_assert(count_names("select $, $a") == -1);
static_assert(count_names("select $1a") == -1);
static_assert(count_names("select a$b, '$c', $d from t") == 1);

enum class State { Open, Paid };
struct Tag {
  static constexpr const char* expected = "expected a tag";
  static Result<Tag> parse(std::string_view) { return Tag(); }
  std::string text() const { return "a text that does not lie within its string: " + std::to_string(number); }
  int number = 7;
};
struct Line {
  std::string sku;
  int quantity = 1;
  std::optional<double> weight = {};
  std::vector<int> not_an_argument = {};
  State state = State::Paid;
  Tag tag = {};
  std::vector<std::byte> picture = {std::byte{1}, std::byte{2}};
};

static_assert(NamedSql<Line>("select $quantity, $sku, $quantity").parameters() == 2);
static_assert(NamedSql<Line>("select $sku").text() == "select $sku");
static_assert(std::is_same_v<SqlOf<Line>, NamedSql<Line>>);
static_assert(std::is_same_v<SqlOf<Line, int>, SqlFor<2>>, "a struct is the only argument");
static_assert(std::is_same_v<SqlOf<Tag>, SqlFor<1>>, "it is written as text");
static_assert(std::is_same_v<SqlOf<std::string>, SqlFor<1>>);
static_assert(std::is_same_v<SqlOf<>, SqlFor<0>>);

TEST(Sql, places_are_those_of_the_dollar_signs) {
  std::string found;
  for_each_placeholder("a = $1 and b = $12 or $name = $1x", [&](const Placeholder& placeholder) {
    found += std::to_string(placeholder.offset) + ":" + std::string(placeholder.name) + "=" +
             std::to_string(placeholder.number) + " ";
  });

  EXPECT_EQ(found, "4:1=1 15:12=12 22:name=0 30:1x=0 ");
}

std::string text_of(std::span<const Value> values) {
  std::string text;
  for (const Value& value : values) {
    switch (value.kind) {
      case ValueKind::Null:
        text += "null";
        break;
      case ValueKind::Integer:
        text += std::to_string(value.integer);
        break;
      case ValueKind::Real:
        text += std::to_string(value.real);
        break;
      case ValueKind::Text:
        text.append("'").append(value.bytes, value.size).append("'");
        break;
      case ValueKind::Blob:
        text += "x" + std::to_string(value.size);
    }
    text += ' ';
  }
  return text;
}

TEST(NamedSql, gives_the_fields_of_a_struct_in_the_order_in_which_the_text_names_them) {
  const Line line{.sku = "AB-1", .quantity = 3};

  EXPECT_EQ(with_arguments(NamedSql<Line>("$quantity $sku $weight $quantity"), text_of, line), "3 'AB-1' null ");
  EXPECT_EQ(with_arguments(NamedSql<Line>("$picture $state $tag"), text_of, line),
            "x2 'Paid' 'a text that does not lie within its string: 7' ");
}

TEST(NamedSql, does_not_look_at_the_fields_that_the_text_does_not_name) {
  const Line nameless{.sku = "AB-1", .state = static_cast<State>(9)};

  EXPECT_EQ(with_arguments(NamedSql<Line>("$sku"), text_of, nameless), "'AB-1' ");
  EXPECT_THROW(with_arguments(NamedSql<Line>("$state"), text_of, nameless), Bug);
}

TEST(SqlFor, takes_enums_by_their_names) {
  const std::optional<State> none;

  EXPECT_EQ(with_arguments(SqlFor<3>("$1 $2 $3"), text_of, State::Open, none, std::optional(State::Paid)),
            "'Open' null 'Paid' ");
}

}  // namespace
}  // namespace keel::db::sql_test
