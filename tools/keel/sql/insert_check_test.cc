#include "sql/insert_check.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::sql::sql_insert_check_test {
namespace {

Column column(const char* name, bool is_nullable, bool has_default = false, bool is_generated = false) {
  return {name, "text", is_nullable, is_generated, false, has_default};
}

// "none", or the mistake and its byte.
std::string said(const std::string& text) {
  Schema schema;
  schema.tables.push_back({"orders",
                           {column("id", false, true), column("customer", false), column("note", true),
                            column("total", false), column("both", false, false, true)},
                           false,
                           "",
                           false});
  schema.tables.push_back({"filled", {column("id", false)}, false, "", true});
  const auto tree = parse_statement(text);
  if (!tree) return "not understood";
  const auto mistake = find_missing_columns(schema, *tree, text);
  if (!mistake) return "none";
  return mistake->text + " at " + (mistake->offset ? std::to_string(*mistake->offset) : "none");
}

TEST(InsertCheck, names_the_columns_that_get_no_value_and_need_one) {
  EXPECT_EQ(said("insert into orders (customer) values ('ada')"),
            "orders.total is not null and without a default, and the insert gives it no value: add total to its "
            "columns at 12");
  EXPECT_EQ(said("insert into Orders (note) select customer from orders"),
            "orders.customer and orders.total are not null and without a default, and the insert gives them no value: "
            "add customer, total to its columns at 12");
  EXPECT_EQ(said("insert into orders default values").substr(0, 32), "orders.customer and orders.total");
  EXPECT_EQ(said("insert into orders (customer, TOTAL) values ('ada', 1)"), "none");
  EXPECT_EQ(said("insert into orders (customer, total, note) values ('ada', 1, null) on conflict do nothing"), "none");
}

TEST(InsertCheck, counts_values_where_no_columns_are_named) {
  EXPECT_EQ(said("insert into orders values (1, 'ada', null, 5)"), "none");
  EXPECT_EQ(said("insert into orders values (1, 'ada')").substr(0, 12), "orders.total");
  EXPECT_EQ(said("insert into orders select 1, 'ada', null, 5"), "none");
  EXPECT_EQ(said("insert into orders select * from orders"), "none") << "how many they are is not known here";
}

TEST(InsertCheck, leaves_alone_what_others_fill_and_what_is_no_insert) {
  EXPECT_EQ(said("insert into filled (other) values (1)"), "none") << "a trigger may do it";
  EXPECT_EQ(said("insert into unknown (a) values (1)"), "none");
  EXPECT_EQ(said("update orders set note = null"), "none");
}

}  // namespace
}  // namespace keel::sql::sql_insert_check_test
