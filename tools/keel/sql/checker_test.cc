#include "sql/checker.h"

#include <gtest/gtest.h>

namespace keel::sql::sql_checker_test {
namespace {

TEST(Nearest, is_what_was_meant) {
  const std::vector<std::string> known = {"id", "name", "email", "created_at"};

  EXPECT_EQ(nearest("nam", known), "name");
  EXPECT_EQ(nearest("NAME", known), "name");
  EXPECT_EQ(nearest("emial", known), "email") << "two letters that are exchanged are one mistake";
  EXPECT_EQ(nearest("createdat", known), "created_at");
  EXPECT_EQ(nearest("di", known), "id");
}

TEST(Nearest, is_none_when_none_is_near) {
  EXPECT_EQ(nearest("phone_number", {"id", "name"}), "");
  EXPECT_EQ(nearest("ab", {"cd"}), "");
  EXPECT_EQ(nearest("name", {}), "");
}

TEST(NumberedText, has_numbers_for_names_and_knows_where_they_were) {
  const NumberedText text = numbered("a = $name and b = $id or c = $name");
  EXPECT_EQ(text.text, "a = $1 and b = $2 or c = $1");
  EXPECT_EQ(text.offsets.size(), text.text.size() + 1);
  EXPECT_EQ(text.offsets[text.text.find("b =")], 14u);
  EXPECT_EQ(text.offsets[5], 4u) << "the number is where the name begins";
  EXPECT_EQ(text.offsets.back(), 34u);

  EXPECT_EQ(numbered("select '$a', $2").text, "select '$a', $2");
  EXPECT_EQ(numbered("").offsets, std::vector<std::size_t>{0});
}

TEST(WrongCall, reads_rows_where_there_are_none_or_one_value_of_several_columns) {
  const auto mistake = [](std::string_view call, std::string read_as, std::size_t columns) {
    const auto found = find_wrong_call({"select 1", {}, call, std::move(read_as)}, columns);
    return found ? found->text : std::string();
  };
  EXPECT_EQ(mistake("execute", "", 0), "");
  EXPECT_EQ(mistake("stream", "User", 0),
            "stream() reads rows, but the statement returns none: use execute(), or add `returning …` to it");
  EXPECT_EQ(mistake("copy_out", "std::optional<std::string>", 2),
            "copy_out<std::optional<std::string>> reads one column, but the statement returns 2: select one, or read a "
            "struct");
  EXPECT_EQ(mistake("query_one", "int", 1), "");
  EXPECT_EQ(mistake("query_one", "shop::Order", 3), "");
}

}  // namespace
}  // namespace keel::sql::sql_checker_test
