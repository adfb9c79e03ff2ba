#include "keel/db/row.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "keel/base/bug.h"
#include "keel/base/type_name.h"
#include "keel/data/decimal.h"

namespace keel::db::row_test {
namespace {

// As a back end fills them; the columns are a, b, c, ….
Rows rows_of(std::initializer_list<std::initializer_list<Value>> rows) {
  Rows filled;
  for (const auto& row : rows) {
    NewRow added(filled, static_cast<int>(row.size()));
    for (const Value& value : row) added.append(value);
    added.end();
  }
  filled.set_names(std::string_view("a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0k\0l", 2 * rows.begin()->size()));
  return filled;
}

struct User {
  std::int64_t id;
  std::optional<std::string> name;
  static User from_row(const Row& row) { return {row.integer(0), row.get<std::optional<std::string>>(1)}; }
};

// Written as text, and for a database in an order of its own.
struct Version {
  static constexpr const char* expected = "expected a version such as 1.2";
  static Result<Version> parse(std::string_view text) {
    Version version;
    if (std::sscanf(std::string(text).c_str(), "%d.%d", &version.major, &version.minor) == 2) return version;
    return fail(Code::InvalidArgument, expected);
  }
  std::string text() const { return std::to_string(major) + '.' + std::to_string(minor); }
  std::string ordered_text() const {
    const std::string digits = std::to_string(major);
    return std::string(6 - digits.size(), '0') + digits + '.' + std::to_string(minor);
  }
  bool operator==(const Version&) const = default;
  int major = 0;
  int minor = 0;
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

// What reading the only column by `read` fails with; empty when it does not.
template <class F>
std::string failure_of(const Value& value, F read) {
  auto callback = [&](const Row& row) { read(row); };
  const auto done = rows_of({{value}}).for_each(callback);
  if (done) return {};
  EXPECT_EQ(done.error().code(), Code::Internal);
  EXPECT_TRUE(done.error().is_from_environment());
  return std::string(done.error().message());
}

TEST(Row, converts_numbers_where_nothing_is_lost) {
  Rows rows = rows_of({{2.0, 3, -9223372036854775808.0, 9007199254740992}});
  auto check = [&](const Row& row) {
    EXPECT_EQ(row.integer(0), 2);
    EXPECT_EQ(row.real(1), 3.0);
    EXPECT_EQ(row.integer(2), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(row.real(3), 9007199254740992.0);
  };
  EXPECT_TRUE(rows.for_each(check));

  const auto integer = [](const Row& row) { (void)row.integer(0); };
  const auto real = [](const Row& row) { (void)row.real(0); };
  EXPECT_EQ(failure_of(2.5, integer), "column 'a': 2.500000 is not an integer");
  for (const double value : {1e300, 9223372036854775808.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_NE(failure_of(value, integer), "") << value;
  }
  EXPECT_EQ(failure_of(9007199254740993, real), "column 'a': 9007199254740993 does not fit into double");
  EXPECT_EQ(failure_of(std::numeric_limits<std::int64_t>::max(), real),
            "column 'a': 9223372036854775807 does not fit into double");
}

TEST(Row, reads_a_float_that_the_number_fits) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Rows rows = rows_of({{0.5, 0.1, 16777216, infinity, -infinity, double{std::numeric_limits<float>::lowest()}}});
  auto check = [&](const Row& row) {
    EXPECT_EQ(row.get<float>(0), 0.5f);
    EXPECT_EQ(row.get<float>(1), 0.1f);
    EXPECT_EQ(row.get<float>(2), 16777216.0f);
    EXPECT_EQ(row.get<std::optional<float>>(3), std::numeric_limits<float>::infinity());
    EXPECT_EQ(row.get<float>(4), -std::numeric_limits<float>::infinity());
    EXPECT_EQ(row.get<float>(5), std::numeric_limits<float>::lowest());
  };
  EXPECT_TRUE(rows.for_each(check));

  const auto read = [](const Row& row) { (void)row.get<float>(0); };
  EXPECT_EQ(failure_of(std::numeric_limits<double>::quiet_NaN(), read), "");
  EXPECT_EQ(failure_of(1e300, read), "column 'a': the number does not fit into a float");
  EXPECT_EQ(failure_of(-1e39, read), "column 'a': the number does not fit into a float");
  EXPECT_EQ(failure_of(16777217, read), "column 'a': 16777217 does not fit into float");
}

TEST(Row, reads_a_decimal_from_what_has_exact_digits) {
  Rows rows = rows_of({{"19.90", 7, nullptr, "-0.10"}});
  auto check = [&](const Row& row) {
    EXPECT_EQ(row.get<Decimal>(0).text(), "19.90");
    EXPECT_EQ(row.get<Decimal>(1).text(), "7");
    EXPECT_FALSE(row.get<std::optional<Decimal>>(2));
    EXPECT_EQ(row.get<std::optional<Decimal>>(3), -0.1_dec);
  };
  EXPECT_TRUE(rows.for_each(check));

  const auto decimal = [](const Row& row) { (void)row.get<Decimal>(0); };
  EXPECT_EQ(failure_of(19.9, decimal),
            "column 'a': a real has no exact digits and cannot be read as a Decimal: declare the column as text in "
            "SQLite, or as "
            "numeric in PostgreSQL");
  EXPECT_EQ(failure_of("NaN", decimal), "column 'a': expected a decimal number such as 19.90, of at most 36 digits");
  EXPECT_EQ(failure_of(nullptr, decimal),
            "column 'a' is NULL, but is read as text: read it as a std::optional, or call is_null() first");
  const auto is_text = [](std::span<const Value> values) { return values[0].kind == ValueKind::Text; };
  EXPECT_TRUE(with_values(is_text, 19.90_dec));
  EXPECT_TRUE(with_values(is_text, std::optional<Decimal>(19.90_dec)));
}

TEST(Row, names_the_column_of_a_value_that_is_read_as_what_it_is_not) {
  const auto integer = [](const Row& row) { (void)row.integer(0); };
  const auto boolean = [](const Row& row) { (void)row.boolean(0); };
  const auto real = [](const Row& row) { (void)row.real(0); };
  const auto text = [](const Row& row) { (void)row.text(0); };

  EXPECT_EQ(failure_of("7", integer), "column 'a' is text, but is read as an integer");
  EXPECT_EQ(failure_of(nullptr, integer),
            "column 'a' is NULL, but is read as an integer: read it as a std::optional, or call is_null() first");
  EXPECT_EQ(failure_of(nullptr, boolean), failure_of(nullptr, integer));
  EXPECT_EQ(failure_of("yes", boolean), "column 'a' is text, but is read as an integer");
  EXPECT_EQ(failure_of("2.5", real), "column 'a' is text, but is read as a number");
  EXPECT_EQ(failure_of(7, text), "column 'a' is an integer, but is read as text");
  EXPECT_EQ(failure_of(nullptr, text),
            "column 'a' is NULL, but is read as text: read it as a std::optional, or call is_null() first");
  EXPECT_NE(failure_of("7", [](const Row& row) { (void)row.get<int>(0); }), "");
  EXPECT_NE(failure_of("7", [](const Row& row) { (void)row.get<std::optional<int>>(0); }), "");
  EXPECT_NE(failure_of(nullptr, [](const Row& row) { (void)row.get<std::string>(0); }), "");
  EXPECT_EQ(failure_of(nullptr, [](const Row& row) { EXPECT_FALSE(row.get<std::optional<int>>(0)); }), "");
}

TEST(Row, does_not_cut_an_integer_that_its_type_cannot_hold) {
  const auto error = [&](auto type, std::int64_t value) {
    using T = decltype(type);
    T got = 0;
    auto read = [&](const Row& row) { got = row.get<T>(0); };
    const auto done = rows_of({{value}}).for_each(read);
    if (!done) {
      EXPECT_EQ(got, 0) << "nothing was given";
      EXPECT_EQ(done.error().code(), Code::Internal);
      return std::string(done.error().message());
    }
    EXPECT_EQ(static_cast<std::int64_t>(got), value);
    return std::string();
  };

  EXPECT_EQ(error(int(), 4294967297), "column 'a': 4294967297 does not fit into int");
  EXPECT_EQ(error(std::uint8_t(), -1), "column 'a': -1 does not fit into unsigned char");
  // Compilers have names of their own for it.
  EXPECT_EQ(error(std::uint64_t(), -1), "column 'a': -1 does not fit into " + std::string(type_name<std::uint64_t>()));
  for (const std::int64_t edge : {-129, 128}) EXPECT_NE(error(std::int8_t(), edge), "") << edge;
  for (const std::int64_t edge : {-128, 127}) EXPECT_EQ(error(std::int8_t(), edge), "") << edge;
  for (const std::int64_t edge : {-1, 65536}) EXPECT_NE(error(std::uint16_t(), edge), "") << edge;
  for (const std::int64_t edge : {0, 65535}) EXPECT_EQ(error(std::uint16_t(), edge), "") << edge;
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(error(std::uint64_t(), most), "");
  EXPECT_EQ(error(std::int64_t(), -most - 1), "");
}

TEST(Row, ends_the_callback_at_the_first_value_that_does_not_fit) {
  std::vector<int> got;
  auto read = [&](const Row& row) { got.push_back(row.get<std::optional<int>>(1).value_or(-1)); };
  Rows rows = rows_of({{1, 1}, {2, 5'000'000'000}, {3, -5'000'000'000}, {4, nullptr}, {5, 5}});

  const auto done = rows.for_each(read);

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(), "column 'b': 5000000000 does not fit into int");
  EXPECT_EQ(got, std::vector<int>({1}));
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

enum class State { Open, Paid };

struct Line {
  int quantity = 0;
};
struct Order {
  std::int64_t id = 0;
  std::string customer;
  Version version;
  std::optional<std::string> note;
  State state = State::Open;
  std::optional<State> next;
  std::vector<std::byte> picture;
  double price = 0;
  bool is_paid = false;
  std::uint8_t count = 0;
  std::vector<Line> lines = {{7}};
};

// The message with which reading the rows as a T fails, or how many of them were read.
template <class T>
std::string read_all(Rows& rows, std::vector<T>& read) {
  auto take = [&](const Row& row) { read.push_back(read_as<T>(row)); };
  const Result<> result = rows.for_each(take);
  if (result) return std::to_string(read.size());
  EXPECT_EQ(result.error().code(), keel::Code::Internal);
  EXPECT_TRUE(result.error().is_from_environment());
  return std::string(result.error().message());
}
Rows named(std::string_view names, std::initializer_list<std::initializer_list<Value>> values) {
  Rows rows = rows_of(values);
  rows.set_names(names);
  return rows;
}

TEST(Row, fills_a_struct_by_the_names_of_its_columns) {
  const std::array<std::byte, 2> picture = {std::byte{0}, std::byte{255}};
  constexpr std::string_view names("id\0customer\0version\0note\0state\0next\0picture\0price\0is_paid\0count\0", 64);
  Rows rows =
      named(names, {{1, "ann", "1.2", nullptr, "Paid", "Open", std::span<const std::byte>(picture), 2.5, 1, 255},
                    {2, "bob", "3.4", "hi", "Open", nullptr, std::span<const std::byte>(), 3, false, 0}});
  std::vector<Order> read;

  EXPECT_EQ(read_all(rows, read), "2");

  EXPECT_EQ(read[0].id, 1);
  EXPECT_EQ(read[0].customer, "ann");
  EXPECT_EQ(read[0].version, (Version{1, 2}));
  EXPECT_EQ(read[0].note, std::nullopt);
  EXPECT_EQ(read[0].state, State::Paid);
  EXPECT_EQ(read[0].next, State::Open);
  EXPECT_EQ(read[0].picture, std::vector<std::byte>(picture.begin(), picture.end()));
  EXPECT_EQ(read[0].price, 2.5);
  EXPECT_TRUE(read[0].is_paid);
  EXPECT_EQ(read[0].count, 255);
  EXPECT_EQ(read[0].lines.at(0).quantity, 7) << "no column is called so: it stays as it was";
  EXPECT_EQ(read[1].note, "hi");
  EXPECT_EQ(read[1].next, std::nullopt);
  EXPECT_TRUE(read[1].picture.empty());
  EXPECT_EQ(read[1].price, 3);
}

struct Account {
  std::int64_t id = 0;
  std::string created_at;
  [[maybe_unused]] static constexpr auto name_case = Case::Camel;
};

TEST(Row, fills_a_struct_whatever_the_order_of_the_columns_and_with_columns_it_does_not_have) {
  const auto read_from = [](std::string_view names, std::initializer_list<Value> values) {
    Rows rows = named(names, {values, values});
    std::vector<Account> read;
    EXPECT_EQ(read_all(rows, read), "2") << names;
    for (const Account& account : read) {
      EXPECT_EQ(account.id, 1) << names;
      EXPECT_EQ(account.created_at, "now") << names;
    }
  };

  read_from({"id\0created_at\0", 14}, {1, "now"});
  read_from({"created_at\0id\0", 14}, {"now", 1});
  read_from({"x\0created_at\0y\0id\0z\0", 20}, {nullptr, "now", "y", 1, 0.5});
  read_from({"id\0x\0x\0created_at\0", 18}, {1, 2, 3, "now"});
}

class Listed {
  int number_ = 0;
  std::string text_;

 public:
  static constexpr auto fields = keel::fields("number", &Listed::number_, "text", &Listed::text_);
  std::string shown() const { return std::to_string(number_) + text_; }
};

TEST(Row, fills_a_class_that_lists_its_fields) {
  Rows rows = named({"text\0number\0", 12}, {{"a", 1}});
  std::vector<Listed> read;

  EXPECT_EQ(read_all(rows, read), "1");
  EXPECT_EQ(read[0].shown(), "1a");
}

struct Lenient {
  std::int64_t id = 5;
  [[maybe_unused]] static constexpr bool optional_fields = true;
};

TEST(Row, fails_for_a_field_without_a_column_and_names_both) {
  Rows rows = named({"id\0created\0", 11}, {{1, "now"}});
  Rows misspelt = named({"createdAt\0Id\0", 13}, {{"now", 1}});
  Rows unnamed = named({}, {{1, "now"}});
  std::vector<Account> read;
  std::vector<Lenient> lenient;
  const std::string type(type_name<Account>());

  EXPECT_EQ(read_all(rows, read),
            type + ": no column 'created_at' for the field of that name; the columns are id, created");
  EXPECT_EQ(read_all(misspelt, read),
            type + ": no column 'id' for the field of that name; the columns are createdAt, Id");
  EXPECT_EQ(read_all(unnamed, read), type + ": no column 'id' for the field of that name; the columns are ?, ?");
  EXPECT_TRUE(read.empty());
  EXPECT_EQ(read_all(misspelt, lenient), std::string(type_name<Lenient>()) +
                                             ": no column 'id' for the field of that name; the columns are createdAt, "
                                             "Id")
      << "a client may leave it out, and a statement may not";
}

TEST(Row, fails_for_two_columns_that_are_called_as_a_field) {
  Rows rows = named({"id\0created_at\0id\0", 17}, {{1, "now", 2}});
  std::vector<Account> read;

  EXPECT_EQ(read_all(rows, read),
            std::string(type_name<Account>()) +
                ": two columns have the name 'id' of a field: give one of them another name, as in `b.id as b_id`");
}

TEST(Row, names_the_column_of_a_field_that_its_value_is_not_for) {
  struct Small {
    std::int8_t number = 0;
    State state = State::Open;
  };
  for (const auto& [number, state, message] :
       {std::tuple<Value, Value, std::string_view>{128, "Open", "column 'number': 128 does not fit into signed char"},
        {nullptr, "Open",
         "column 'number' is NULL, but is read as an integer: read it as a std::optional, or call is_null() first"},
        {1, "open", "column 'state': expected Open, Paid"},
        {1, 1, "column 'state' is an integer, but is read as text"}}) {
    Rows rows = named({"number\0state\0", 13}, {{number, state}});
    std::vector<Small> read;
    EXPECT_EQ(read_all(rows, read), message);
    EXPECT_TRUE(read.empty());
  }
}

TEST(Row, is_read_as_several_structs_in_turn) {
  Rows rows = named({"id\0created_at\0number\0text\0", 26}, {{1, "now", 2, "b"}, {3, "then", 4, "d"}});
  std::string seen;
  auto take = [&](const Row& row) { seen += row.as<Account>().created_at + row.as<Listed>().shown() + ' '; };

  EXPECT_TRUE(rows.for_each(take));

  EXPECT_EQ(seen, "now2b then4d ");
}

TEST(Row, finds_the_columns_anew_in_another_result) {
  Rows rows = named({"id\0created_at\0", 14}, {{1, "now"}});
  std::vector<Account> read;
  EXPECT_EQ(read_all(rows, read), "1");

  rows.clear();
  NewRow row(rows, 2);
  row.append("then");
  row.append(2);
  row.end();
  rows.set_names({"created_at\0id\0", 14});

  EXPECT_EQ(read_all(rows, read), "2");
  EXPECT_EQ(read[1].id, 2);
  EXPECT_EQ(read[1].created_at, "then");
}

TEST(Row, gives_views_within_its_call) {
  struct View {
    std::string_view customer;
    std::optional<std::string_view> note;
    std::span<const std::byte> picture;
  };
  const std::array<std::byte, 1> picture = {std::byte{9}};
  Rows rows = named({"customer\0note\0picture\0", 22}, {{"ann", nullptr, std::span<const std::byte>(picture)}});
  auto take = [&](const Row& row) {
    const View view = row.as<View>();
    EXPECT_EQ(view.customer.data(), row.text(0).data()) << "no copy";
    EXPECT_EQ(view.note, std::nullopt);
    EXPECT_EQ(view.picture[0], std::byte{9});
  };

  EXPECT_TRUE(rows.for_each(take));
}

TEST(Row, fills_a_struct_of_as_many_fields_as_there_may_be) {
  struct Wide {
    int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
        f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39;
  };
  std::string names;
  for (int i = 39; i >= 0; --i) names.append("f" + std::to_string(i)).push_back('\0');
  Rows rows;
  NewRow row(rows, 40);
  for (int i = 39; i >= 0; --i) row.append(i);
  row.end();
  rows.set_names(names);
  std::vector<Wide> read;

  EXPECT_EQ(read_all(rows, read), "1");
  EXPECT_EQ(read[0].f0, 0);
  EXPECT_EQ(read[0].f17, 17);
  EXPECT_EQ(read[0].f39, 39);
}

TEST(Rows, give_their_memory_back_when_it_is_more_than_is_kept) {
  Rows rows = rows_of({{std::string(10'000, 'x')}});
  rows.clear();

  rows.shrink(64 * 1024);
  EXPECT_GE(rows.capacity(), 10'000u);
  rows.shrink(1024);
  EXPECT_EQ(rows.capacity(), 0u);
}

TEST(Row, has_no_column_beyond_its_last_and_says_who_asked) {
  for (const int column : {-1, 2}) {
    auto beyond = [column](const Row& row) { (void)row.integer(column); };
    const unsigned line = __LINE__ - 1;
    try {
      (void)rows_of({{1, 2}}).for_each(beyond).is_ok();
      FAIL() << column;
    } catch (const Bug& bug) {
      EXPECT_EQ(bug.what(), "column " + std::to_string(column) +
                                " is read from a row with 2 columns (a, b); columns are counted "
                                "from 0");
      EXPECT_EQ(bug.place().line(), line);
      EXPECT_TRUE(std::string(bug.place().file_name()).ends_with("row_test.cc"));
    }
  }
  auto name = [](const Row& row) { (void)row.name(1); };
  EXPECT_THROW((void)rows_of({{1}}).for_each(name).is_ok(), Bug);
  auto get = [](const Row& row) { (void)row.get<std::optional<std::string>>(1); };
  EXPECT_THROW((void)rows_of({{1}}).for_each(get).is_ok(), Bug);
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

TEST(Row, gives_values_that_are_written_as_text) {
  Rows rows = rows_of({{"1.2", nullptr}, {"000012.30", "0.1"}});
  std::vector<Version> read;
  std::vector<std::optional<Version>> others;
  auto take = [&](const Row& row) {
    read.push_back(row.get<Version>(0));
    others.push_back(row.get<std::optional<Version>>(1));
  };

  EXPECT_TRUE(rows.for_each(take));

  EXPECT_EQ(read, (std::vector<Version>{{1, 2}, {12, 30}}));
  EXPECT_EQ(others, (std::vector<std::optional<Version>>{std::nullopt, Version{0, 1}}));
}

TEST(Row, fails_for_a_text_that_is_no_such_value_and_names_the_column) {
  const std::pair<Value, std::string_view> cases[] = {
      {Value("draft"), "column 'b': expected a version such as 1.2"},
      {Value(""), "column 'b': expected a version such as 1.2"},
      {Value(), "column 'b' is NULL, but is read as text: read it as a std::optional, or call is_null() first"},
      {Value(7), "column 'b' is an integer, but is read as text"},
  };
  for (const auto& [value, message] : cases) {
    Rows rows = rows_of({{1, value}});
    auto take = [&](const Row& row) { EXPECT_EQ(row.get<Version>(1), Version()); };
    const Result<> result = rows.for_each(take);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), Code::Internal);
    EXPECT_EQ(result.error().message(), message);
  }
}

TEST(Values, are_the_texts_of_what_is_written_as_text) {
  const std::optional<Version> none;
  const std::optional<Version> some = Version{3, 4};
  const auto copy = [](std::span<const Value> values) { return Arguments(values); };

  const Arguments arguments = with_values(copy, Version{1, 2}, none, some, 7, "text");

  ASSERT_EQ(arguments.values().size(), 5u);
  const auto text = [&](std::size_t i) {
    EXPECT_EQ(arguments.values()[i].kind, ValueKind::Text) << i;
    return std::string_view(arguments.values()[i].bytes, arguments.values()[i].size);
  };
  EXPECT_EQ(text(0), "000001.2");
  EXPECT_EQ(arguments.values()[1].kind, ValueKind::Null);
  EXPECT_EQ(text(2), "000003.4");
  EXPECT_EQ(arguments.values()[3].integer, 7);
  EXPECT_EQ(text(4), "text");
  EXPECT_EQ(with_values(copy).values().size(), 0u);
}

}  // namespace
}  // namespace keel::db::row_test
