#include "keel/db/sql.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::db::sql_test {
namespace {

static_assert(count_parameters("select 1") == 0);
static_assert(count_parameters("where b = $2 and a = $1 or $2 is null") == 2);
static_assert(count_parameters("select '$1', \"$2\", [$3], `$4` -- $5\n /* $6 */ + $1") == 1);
static_assert(count_parameters("select 'it''s $1' || $1") == 1);
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
static_assert(count_parameters("/*/ $1 */ $1") == 1, "the star of the opening does not close");
static_assert(Sql("select $1, $2").parameters() == 2);
static_assert(SqlFor<2>("select $1, $2").text() == "select $1, $2");

TEST(Sql, places_are_those_of_the_dollar_signs) {
  std::string found;
  for_each_placeholder("a = $1 and b = $12", [&](std::size_t at, int number) {
    found += std::to_string(at) + ":" + std::to_string(number) + " ";
  });

  EXPECT_EQ(found, "4:1 15:12 ");
}

}  // namespace
}  // namespace keel::db::sql_test
