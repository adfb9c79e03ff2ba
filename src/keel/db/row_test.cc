#include "keel/db/row.h"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "keel/base/type_name.h"

namespace keel::db {
namespace {

// As a back end fills them; the columns are a, b, c, ….
Rows rows_of(std::initializer_list<std::initializer_list<Value>> rows) {
  Rows filled;
  for (const auto& row : rows) {
    NewRow added(filled, static_cast<int>(row.size()));
    for (const Value& value : row) added.append(value);
    added.end();
  }
  filled.set_names(std::string_view("a\0b\0c\0d\0e\0f\0g\0h\0i", 2 * rows.begin()->size()));
  return filled;
}

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
  const std::array<std::byte, 3> blob = {std::byte{0}, std::byte{255}, std::byte{7}};
  std::string text = "text \xc3\xa9";
  Rows rows = rows_of({{std::numeric_limits<std::int64_t>::min(), 0.25, text, std::span<const std::byte>(blob), nullptr,
                        true, std::optional<int>(), std::optional<int>(5), ""}});
  text = "overwritten";
  int seen = 0;
  auto check = [&](const Row& row) {
    ++seen;
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
    EXPECT_EQ(row.name(0), "a");
    EXPECT_EQ(row.name(8), "i");
  };

  EXPECT_TRUE(rows.for_each(check));

  EXPECT_EQ(seen, 1);
}

TEST(Row, converts_numbers_and_gives_nothing_for_what_does_not_convert) {
  Rows rows = rows_of({{2.9, 3, "7", 1e300}});
  auto check = [&](const Row& row) {
    EXPECT_EQ(row.integer(0), 2);
    EXPECT_EQ(row.real(1), 3.0);
    EXPECT_EQ(row.integer(2), 0);
    EXPECT_EQ(row.text(1), "");
    EXPECT_EQ(row.integer(3), std::numeric_limits<std::int64_t>::max());
  };

  EXPECT_TRUE(rows.for_each(check));
}

TEST(Row, does_not_cut_an_integer_that_its_type_cannot_hold) {
  const auto error = [&](auto type, std::int64_t value) {
    using T = decltype(type);
    T got = 1;
    auto read = [&](const Row& row) { got = row.get<T>(0); };
    const auto done = rows_of({{value}}).for_each(read);
    if (!done) {
      EXPECT_EQ(got, 0);
      EXPECT_EQ(done.error().code(), Code::Internal);
      return std::string(done.error().message());
    }
    EXPECT_EQ(static_cast<std::int64_t>(got), value);
    return std::string();
  };

  EXPECT_EQ(error(int(), 4294967297), "column 'a': 4294967297 does not fit int");
  EXPECT_EQ(error(std::uint8_t(), -1), "column 'a': -1 does not fit unsigned char");
  // Compilers have names of their own for it.
  EXPECT_EQ(error(std::uint64_t(), -1), "column 'a': -1 does not fit " + std::string(type_name<std::uint64_t>()));
  for (const std::int64_t edge : {-129, 128}) EXPECT_NE(error(std::int8_t(), edge), "") << edge;
  for (const std::int64_t edge : {-128, 127}) EXPECT_EQ(error(std::int8_t(), edge), "") << edge;
  for (const std::int64_t edge : {-1, 65536}) EXPECT_NE(error(std::uint16_t(), edge), "") << edge;
  for (const std::int64_t edge : {0, 65535}) EXPECT_EQ(error(std::uint16_t(), edge), "") << edge;
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(error(std::uint64_t(), most), "");
  EXPECT_EQ(error(std::int64_t(), -most - 1), "");
}

TEST(Row, tells_the_first_value_that_does_not_fit_after_all_rows) {
  std::vector<int> got;
  auto read = [&](const Row& row) { got.push_back(row.get<std::optional<int>>(1).value_or(-1)); };
  Rows rows = rows_of({{1, 1}, {2, 5e9}, {3, -5'000'000'000}, {4, nullptr}, {5, 5}});

  const auto done = rows.for_each(read);

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(), "column 'b': 5000000000 does not fit int");
  EXPECT_EQ(got, std::vector<int>({1, 0, 0, -1, 5}));
  got.clear();
  rows.clear();
  NewRow added(rows, 2);
  added.append(1);
  added.append(7);
  added.end();
  EXPECT_TRUE(rows.for_each(read)) << "the next query is another one";
  EXPECT_EQ(got, std::vector<int>({7}));
}

TEST(Row, is_read_as_a_type_in_three_ways) {
  auto user = [](const Row& row) { EXPECT_EQ(read_as<User>(row).name, "alice"); };
  auto point = [](const Row& row) { EXPECT_EQ(read_as<Point>(row).y, 2.5); };
  auto plain = [](const Row& row) { EXPECT_EQ(read_as<std::string>(row), "alice"); };

  EXPECT_TRUE(rows_of({{1, "alice"}}).for_each(user));
  EXPECT_TRUE(rows_of({{1.5, 2.5}}).for_each(point));
  EXPECT_TRUE(rows_of({{"alice"}}).for_each(plain));
}

TEST(Rows, give_their_memory_back_when_it_is_more_than_is_kept) {
  Rows rows = rows_of({{std::string(10'000, 'x')}});
  rows.clear();

  rows.shrink(64 * 1024);
  EXPECT_GE(rows.capacity(), 10'000u);
  rows.shrink(1024);
  EXPECT_EQ(rows.capacity(), 0u);
}

TEST(RowDeathTest, a_column_that_is_not_there_is_a_bug) {
  auto beyond = [](const Row& row) { (void)row.integer(1); };

  EXPECT_DEATH((void)rows_of({{1}}).for_each(beyond).is_ok(), "a column that is read is in the row");
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
