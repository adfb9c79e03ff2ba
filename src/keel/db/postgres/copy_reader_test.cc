#include "keel/db/postgres/copy_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/db/postgres/copy_text.h"
#include "keel/db/postgres/internal/copy_tuple_test.h"

namespace keel::db::postgres::copy_reader_test {
namespace {

using testing::header;
using testing::tuple;
using testing::two_columns;

const std::string trailer("\xff\xff", 2);

struct Read {
  Result<> result;
  std::vector<std::string> rows;
  bool is_at_end = false;
};

Read read(std::string_view bytes, std::size_t piece, std::size_t tuple_bytes_max = 1 << 20) {
  Read read;
  CopyReader reader(tuple_bytes_max);
  Columns columns = two_columns();
  Rows rows;
  for (std::size_t at = 0; at < bytes.size() && read.result; at += piece) {
    read.result = reader.receive(bytes.substr(at, piece), columns, rows);
  }
  read.is_at_end = reader.is_at_end();
  auto keep = [&](const Row& row) {
    read.rows.push_back((row.is_null(0) ? "null" : std::to_string(row.integer(0))) + " " +
                        (row.is_null(1) ? "null" : std::string(row.text(1))));
  };
  EXPECT_TRUE(rows.for_each(keep));
  return read;
}

TEST(CopyReader, gives_the_rows_wherever_they_are_cut) {
  const std::string bytes = header() + tuple(7, "ada") + tuple(std::nullopt, "") + tuple(-1, std::nullopt) +
                            tuple(9, std::string(300, 'x')) + trailer;
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    const Read all = read(bytes, piece);
    ASSERT_TRUE(all.result) << all.result.error().describe() << " at " << piece;
    EXPECT_TRUE(all.is_at_end);
    EXPECT_EQ(all.rows, (std::vector<std::string>{"7 ada", "null ", "-1 null", "9 " + std::string(300, 'x')}));
  }
}

TEST(CopyReader, skips_an_extension_of_the_header) {
  const Read all = read(header(0, 5) + "12345" + tuple(7, "ada") + trailer, 3);

  ASSERT_TRUE(all.result);
  EXPECT_EQ(all.rows, std::vector<std::string>{"7 ada"});
}

TEST(CopyReader, knows_that_the_end_is_missing) { EXPECT_FALSE(read(header() + tuple(7, "ada"), 100).is_at_end); }

TEST(CopyReader, rejects_what_is_no_copy) {
  const std::string cases[] = {
      "7\tada\n",                                         // Text.
      header(1u << 16) + tuple(7, "ada"),                 // With OIDs, or whatever the flag will mean.
      header() + std::string("\xff\xfe", 2),              // Less than no columns.
      header() + std::string("\0\2\xff\xff\xff\xfe", 6),  // Less than no bytes.
      header() + std::string("\0\1\0\0\0\1x", 7),         // Another number of columns.
      header() + trailer + tuple(7, "ada"),               // More after the end.
  };
  for (const std::string& bytes : cases) {
    for (const std::size_t piece : {std::size_t{1}, bytes.size()}) {
      const Read all = read(bytes, piece);
      ASSERT_FALSE(all.result) << bytes;
      EXPECT_EQ(all.result.error().code(), Code::Protocol);
      EXPECT_TRUE(all.result.error().is_from_environment());
    }
  }
}

TEST(CopyReader, bounds_a_row_before_it_has_come) {
  const Read all = read(header() + std::string("\0\2\x7f\xff\xff\xff", 6), 100, 1000);

  ASSERT_FALSE(all.result);
  EXPECT_EQ(all.result.error().code(), Code::ResourceExhausted);
}

std::string text_of(std::initializer_list<Value> values) {
  Buffer buffer;
  const Result<> appended = append_copy_row(buffer, {values.begin(), values.size()});
  EXPECT_TRUE(appended) << appended.error().describe();
  return std::string(buffer.view());
}

TEST(CopyText, writes_each_kind_of_value) {
  const std::byte blob[] = {std::byte{0}, std::byte{0xab}, std::byte{'\\'}};

  EXPECT_EQ(text_of({-7, nullptr, 0.1, "ada"}), "-7\t\\N\t0.1\tada\n");
  EXPECT_EQ(text_of({std::span<const std::byte>(blob)}), "\\\\x00ab5c\n");
  EXPECT_EQ(text_of({std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                     std::numeric_limits<double>::quiet_NaN()}),
            "Infinity\t-Infinity\tNaN\n");
  EXPECT_EQ(text_of({std::numeric_limits<std::int64_t>::min()}), "-9223372036854775808\n");
  EXPECT_EQ(text_of({true, ""}), "1\t\n");
}

TEST(CopyText, escapes_what_has_a_meaning) {
  EXPECT_EQ(text_of({"a\tb\nc\\d\re\bf\fg\vh", "\\N", "\\."}), "a\\tb\\nc\\\\d\\re\\bf\\fg\\vh\t\\\\N\t\\\\.\n");
}

TEST(CopyText, rejects_a_zero_byte_and_leaves_nothing) {
  Buffer buffer;
  buffer.append("before");
  const Value values[] = {7, std::string_view("a\0b", 3)};

  const Result<> appended = append_copy_row(buffer, values);

  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().code(), Code::InvalidArgument);
  EXPECT_NE(appended.error().describe().find("column 2"), std::string::npos);
  EXPECT_EQ(buffer.view(), "before");
}

}  // namespace
}  // namespace keel::db::postgres::copy_reader_test
