#include "load/csv.h"

#include <gtest/gtest.h>

namespace keel::load::load_csv_test {
namespace {

TEST(Csv, has_named_columns_and_values) {
  const auto csv = Csv::parse("id,name\r\n1,Ada\r\n2,\"Grace, \"\"Amazing\"\"\"\n3,\n", "users.csv");

  ASSERT_TRUE(csv) << csv.error().describe();
  EXPECT_EQ(csv->rows(), 3u);
  EXPECT_EQ(csv->column("name"), 1u);
  EXPECT_EQ(csv->column("mail"), std::nullopt);
  EXPECT_EQ(csv->value(0, 0), "1");
  EXPECT_EQ(csv->value(1, 1), "Grace, \"Amazing\"");
  EXPECT_EQ(csv->value(2, 1), "");
}

TEST(Csv, the_last_line_need_not_end) {
  const auto csv = Csv::parse("a\n1\n2", "x");

  ASSERT_TRUE(csv);
  EXPECT_EQ(csv->rows(), 2u);
}

TEST(Csv, a_byte_order_mark_is_no_part_of_the_first_name) {
  const auto csv = Csv::parse("\xef\xbb\xbfid,name\r\n1,Ada\r\n", "x");

  ASSERT_TRUE(csv);
  EXPECT_EQ(csv->column("id"), 0u);
  EXPECT_EQ(Csv::parse("\xef\xbb\xbf", "x.csv").error().message(),
            "x.csv:1: no values: the first line names the columns, and the lines after it have the values");
}

TEST(Csv, mistakes_are_told_with_their_line) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"", "x.csv:1: no values"},
      {"a,b\n", "x.csv:1: no values"},
      {"a,,b\n1,2,3\n", "x.csv:1: a column has no name"},
      {"a,a\n1,2\n", "x.csv:1: two columns are named 'a'"},
      {"a,b\n1,2\n3\n", "x.csv:3: 1 fields, but 2 columns"},
      {"a\n\"1\n2\"\n3,4\n", "x.csv:4: 2 fields, but 1 columns"},
      {"a\n\"1\n", "x.csv:2: a quotation mark is not closed"},
      {"a\n1\"2\n", "x.csv:2: a quotation mark within a field"},
      {"a\n\"1\"2\n", "x.csv:2: a quoted field must be followed by a comma"},
      {"a\n1\r2\n", "x.csv:2: CR without LF"},
  };
  for (const auto& [text, said] : mistakes) {
    const auto csv = Csv::parse(text, "x.csv");
    ASSERT_FALSE(csv) << text;
    EXPECT_TRUE(csv.error().message().starts_with(said)) << csv.error().describe();
  }
}

TEST(Csv, a_file_that_is_not_there_is_an_error) {
  EXPECT_EQ(Csv::read("no/such/file.csv").error().code(), Code::NotFound);
}

}  // namespace
}  // namespace keel::load::load_csv_test
