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

}  // namespace
}  // namespace keel::sql::sql_checker_test
