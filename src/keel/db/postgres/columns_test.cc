#include "keel/db/postgres/columns.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/base/testing/allocation_count.h"
#include "keel/db/postgres/internal/wire.h"
#include "keel/db/postgres/types.h"

namespace keel::db::postgres::columns_test {
namespace {

struct Told {
  std::string name;
  Oid type;
  Format format = Format::Text;
};
std::string description_of(const std::vector<Told>& columns) {
  Buffer out;
  wire::append(out, static_cast<std::int16_t>(columns.size()));
  for (const Told& column : columns) {
    out.append(column.name);
    out.push_back('\0');
    wire::append(out, Oid{0});
    wire::append(out, std::int16_t{0});
    wire::append(out, column.type);
    wire::append(out, std::int16_t{-1});
    wire::append(out, std::int32_t{-1});
    wire::append(out, static_cast<std::uint16_t>(column.format));
  }
  return std::string(out.view());
}
Columns columns_of(const std::vector<Told>& told) {
  const std::string body = description_of(told);
  return Columns::of(RowDescription::read(body).value()).value();
}
// A row of texts in the binary forms of their types; "-" is NULL.
std::string row_of(const std::vector<Told>& columns, const std::vector<std::string>& values) {
  Buffer out;
  wire::append(out, static_cast<std::int16_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t at = out.size();
    wire::append(out, std::int32_t{-1});
    if (values[i] == "-") continue;
    if (columns[i].type > 90'000) {
      out.append(values[i]);
    } else {
      EXPECT_TRUE(encode_text(columns[i].type, values[i], out).is_ok());
    }
    wire::store(out.data() + at, static_cast<std::int32_t>(out.size() - at - 4));
  }
  return std::string(out.view());
}

struct Order {
  std::int64_t id;
  std::string customer;
  std::optional<std::string> note;
  double weight;
  bool is_paid;
  std::string total;
};
const std::vector<Told> order_columns = {{"id", oid::int8},       {"customer", oid::text},   {"note", oid::varchar},
                                         {"weight", oid::float8}, {"is_paid", oid::boolean}, {"total", oid::numeric},
                                         {"state", 99'999}};

TEST(Columns, read_rows_as_every_database_has_them) {
  Columns columns = columns_of(order_columns);
  Rows rows;
  ASSERT_TRUE(columns.append(row_of(order_columns, {"7", "ada", "-", "1.5", "t", "10.50", "open"}), rows).is_ok());
  ASSERT_TRUE(columns.append(row_of(order_columns, {"8", "", "x", "2", "f", "0", "paid"}), rows).is_ok());
  columns.name(rows);

  std::vector<Order> orders;
  ASSERT_TRUE(rows.for_each([&](const Row& row) { orders.push_back(row.as<Order>()); }).is_ok());
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[0].id, 7);
  EXPECT_EQ(orders[0].customer, "ada");
  EXPECT_FALSE(orders[0].note);
  EXPECT_EQ(orders[0].weight, 1.5);
  EXPECT_TRUE(orders[0].is_paid);
  EXPECT_EQ(orders[0].total, "10.50");
  EXPECT_EQ(orders[1].note, "x");
  EXPECT_EQ(columns.name(1), "customer");
  EXPECT_EQ(columns.type(6), 99'999u);
}

TEST(Columns, ask_for_binary_what_is_read_in_binary) {
  const Columns columns = columns_of(order_columns);
  ASSERT_EQ(columns.formats().size(), 7u);
  EXPECT_EQ(columns.formats()[5], Format::Binary);
  EXPECT_EQ(columns.formats()[6], Format::Text);
  const std::string body = description_of({{"n", oid::int8, Format::Text}});
  const Columns sent = Columns::as_sent(RowDescription::read(body).value()).value();
  EXPECT_EQ(sent.formats()[0], Format::Text);
  EXPECT_TRUE(columns == columns_of(order_columns));
  EXPECT_FALSE(columns == columns_of({{"id", oid::int8}}));
  EXPECT_FALSE(columns_of({{"id", oid::int8}}) == columns_of({{"id", oid::int4}}));
  EXPECT_FALSE(columns_of({{"id", oid::int8}}) == columns_of({{"no", oid::int8}}));
}

TEST(Columns, reject_rows_that_are_not_as_described) {
  Columns columns = columns_of({{"id", oid::int8}, {"name", oid::text}});
  const auto error = [&](std::string_view body) {
    Rows rows;
    const Result<> result = columns.append(body, rows);
    EXPECT_TRUE(result.is_err());
    EXPECT_EQ(result.error().code(), Code::Protocol);
    return std::string(result.error().message());
  };
  const std::string good = row_of({{"id", oid::int8}, {"name", oid::text}}, {"7", "ada"});
  EXPECT_EQ(error(row_of({{"id", oid::int8}}, {"7"})), "the server sent a row of 1 columns, but described 2");
  EXPECT_EQ(error(row_of({{"id", oid::int4}, {"name", oid::text}}, {"7", "ada"})),
            "column 'id': the server sent bytes that are not a valid bigint");
  for (std::size_t size = 0; size < good.size(); ++size) error(good.substr(0, size));
  error(good + "x");
}

TEST(Columns, bound_the_text_of_a_row) {
  std::vector<Told> told;
  std::vector<std::string> values;
  for (int i = 0; i < 9; ++i) {
    told.push_back({"n" + std::to_string(i), oid::numeric});
    values.push_back("1e130000");
  }
  Columns columns = columns_of(told);
  Rows rows;
  EXPECT_EQ(columns.append(row_of(told, values), rows).error().code(), Code::ResourceExhausted);
}

TEST(Columns, have_a_bound) {
  EXPECT_EQ(columns_of(std::vector<Told>(1'664, {"n", oid::int4})).count(), 1'664);
  const std::string body = description_of(std::vector<Told>(1'665, {"n", oid::int4}));
  EXPECT_EQ(Columns::of(RowDescription::read(body).value()).error().code(), Code::ResourceExhausted);
}

TEST(Columns, read_rows_without_the_heap_in_steady_state) {
  Columns columns = columns_of(order_columns);
  const std::string body = row_of(order_columns, {"7", "ada", "-", "1.5", "t", "10.50", "open"});
  Rows rows;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(columns.append(body, rows).is_ok());
  rows.clear();
  const std::size_t before = keel::internal::allocations();

  for (int i = 0; i < 100; ++i) ASSERT_TRUE(columns.append(body, rows).is_ok());

  EXPECT_EQ(keel::internal::allocations(), before);
}

}  // namespace
}  // namespace keel::db::postgres::columns_test
