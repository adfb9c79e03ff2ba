#include "keel/db/row.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "keel/base/type_name.h"
#include "keel/db/sqlite/connection.h"

namespace keel::db {
namespace {

using sqlite::Connection;

std::unique_ptr<Connection> memory() { return Connection::open({.path = ":memory:"}).value(); }

struct User {
  std::int64_t id;
  std::optional<std::string> name;
  static User from_row(const Row& row) { return {row.integer(0), row.get<std::optional<std::string>>(1)}; }
};

struct Point {
  double x, y;
};
Point read_row(const Row& row, Point*) { return {row.real(0), row.real(1)}; }

TEST(Row, gives_back_every_kind_of_value) {
  auto connection = memory();
  const std::array<std::byte, 3> blob = {std::byte{0}, std::byte{255}, std::byte{7}};
  int rows = 0;
  auto check = [&](const Row& row) {
    ++rows;
    EXPECT_EQ(row.columns(), 9);
    EXPECT_EQ(row.integer(0), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(row.real(1), 0.25);
    EXPECT_EQ(row.text(2), "text \xc3\xa9");
    EXPECT_EQ(row.blob(3).size(), 3u);
    EXPECT_EQ(row.blob(3)[1], std::byte{255});
    EXPECT_TRUE(row.is_null(4));
    EXPECT_TRUE(row.boolean(5));
    EXPECT_TRUE(row.is_null(6));
    EXPECT_EQ(row.get<std::optional<int>>(7), 5);
    EXPECT_EQ(row.kind(8), ValueKind::Text);
    EXPECT_EQ(row.text(8), "");
  };

  auto count =
      connection->query("select $1, $2, $3, $4, $5, $6, $7, $8, $9", check, std::numeric_limits<std::int64_t>::min(),
                        0.25, std::string("text \xc3\xa9"), std::span<const std::byte>(blob), nullptr, true,
                        std::optional<int>(), std::optional<int>(5), "");

  ASSERT_TRUE(count.has_value()) << count.error().describe();
  EXPECT_EQ(rows, 1);
}

TEST(Row, converts_numbers_and_gives_nothing_for_what_does_not_convert) {
  auto connection = memory();
  auto check = [&](const Row& row) {
    EXPECT_EQ(row.integer(0), 2);
    EXPECT_EQ(row.real(1), 3.0);
    EXPECT_EQ(row.integer(2), 0);
    EXPECT_EQ(row.text(1), "");
    EXPECT_EQ(row.integer(3), std::numeric_limits<std::int64_t>::max());
  };

  EXPECT_TRUE(connection->query("select 2.9, 3, '7', 1e300", check).has_value());
}

TEST(Row, does_not_cut_an_integer_that_its_type_cannot_hold) {
  auto connection = memory();
  const auto error = [&](auto type, std::int64_t value) {
    using T = decltype(type);
    T got = 1;
    auto read = [&](const Row& row) { got = row.get<T>(0); };
    const auto done = connection->query("select $1 as n", read, value);
    if (!done) {
      EXPECT_EQ(got, 0);
      EXPECT_EQ(done.error().code(), Code::Internal);
      return std::string(done.error().message());
    }
    EXPECT_EQ(static_cast<std::int64_t>(got), value);
    return std::string();
  };

  EXPECT_EQ(error(int(), 4294967297), "column 'n': 4294967297 does not fit int");
  EXPECT_EQ(error(std::uint8_t(), -1), "column 'n': -1 does not fit unsigned char");
  // Compilers have names of their own for it.
  EXPECT_EQ(error(std::uint64_t(), -1), "column 'n': -1 does not fit " + std::string(type_name<std::uint64_t>()));
  for (const std::int64_t edge : {-129, 128}) EXPECT_NE(error(std::int8_t(), edge), "") << edge;
  for (const std::int64_t edge : {-128, 127}) EXPECT_EQ(error(std::int8_t(), edge), "") << edge;
  for (const std::int64_t edge : {-1, 65536}) EXPECT_NE(error(std::uint16_t(), edge), "") << edge;
  for (const std::int64_t edge : {0, 65535}) EXPECT_EQ(error(std::uint16_t(), edge), "") << edge;
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(error(std::uint64_t(), most), "");
  EXPECT_EQ(error(std::int64_t(), -most - 1), "");
}

TEST(Row, tells_the_first_value_that_does_not_fit_after_all_rows) {
  auto connection = memory();
  std::vector<int> got;
  auto read = [&](const Row& row) { got.push_back(row.get<std::optional<int>>(1).value_or(-1)); };

  const auto done = connection->query("values (1, 1), (2, 5e9), (3, -5000000000), (4, null), (5, 5)", read);

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(), "column 'column2': 5000000000 does not fit int");
  EXPECT_EQ(got, std::vector<int>({1, 0, 0, -1, 5}));
  got.clear();
  EXPECT_TRUE(connection->query("select 1, 7", read)) << "the next query is another one";
  EXPECT_EQ(got, std::vector<int>({7}));
}

TEST(Row, names_its_columns) {
  auto connection = memory();
  std::string names;
  auto check = [&](const Row& row) {
    for (int i = 0; i < row.columns(); ++i) names += std::string(row.name(i)) + " ";
  };

  EXPECT_TRUE(connection->query("select 1 as one, 2 as \"the second\", 3 as x", check).has_value());

  EXPECT_EQ(names, "one the second x ");
}

TEST(Row, is_read_as_a_type_in_three_ways) {
  auto connection = memory();
  auto user = [](const Row& row) { EXPECT_EQ(read_as<User>(row).name, "alice"); };
  auto point = [](const Row& row) { EXPECT_EQ(read_as<Point>(row).y, 2.5); };
  auto plain = [](const Row& row) { EXPECT_EQ(read_as<std::string>(row), "alice"); };

  EXPECT_TRUE(connection->query("select 1, 'alice'", user).has_value());
  EXPECT_TRUE(connection->query("select 1.5, 2.5", point).has_value());
  EXPECT_TRUE(connection->query("select 'alice'", plain).has_value());
}

TEST(Rows, keeps_thousands_of_rows_with_text_in_order) {
  auto connection = memory();
  std::int64_t expected = 0;
  auto check = [&](const Row& row) {
    EXPECT_EQ(row.integer(0), ++expected);
    EXPECT_EQ(row.text(1), std::string(static_cast<std::size_t>(expected % 37), 'x'));
  };

  auto count = connection->query(
      "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) "
      "select i, substr('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', 1, i % 37) from n",
      check);

  EXPECT_EQ(count.value(), 5000u);
}

TEST(RowDeathTest, a_column_that_is_not_there_is_a_bug) {
  auto connection = memory();
  auto beyond = [](const Row& row) { (void)row.integer(1); };

  EXPECT_DEATH((void)connection->query("select 1", beyond).is_ok(), "a column that is read is in the row");
}

TEST(Arguments, own_their_text) {
  std::string text = "hello";
  const Value values[] = {Value(text), Value(7), Value(nullptr)};
  Arguments first{std::span<const Value>(values)};
  text = "other";
  const Arguments arguments(std::move(first));

  ASSERT_EQ(arguments.values().size(), 3u);
  EXPECT_EQ(std::string_view(arguments.values()[0].bytes, arguments.values()[0].size), "hello");
  EXPECT_EQ(arguments.values()[1].integer, 7);
  EXPECT_EQ(arguments.values()[2].kind, ValueKind::Null);
}

}  // namespace
}  // namespace keel::db
