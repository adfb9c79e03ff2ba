#include "keel/data/name_case.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace keel::name_case_test {
namespace {

TEST(NameCase, changes_words) {
  const auto changed = [](std::string_view name, Case to_case) {
    std::string to(2 * name.size(), '?');
    to.resize(change_case(name, to_case, to.data()));
    return to;
  };
  struct Row {
    const char* name;
    const char* snake;
    const char* camel;
    const char* pascal;
    const char* kebab;
    const char* upper_snake;
  };
  const Row rows[] = {
      {"created_at", "created_at", "createdAt", "CreatedAt", "created-at", "CREATED_AT"},
      {"createdAt", "created_at", "createdAt", "CreatedAt", "created-at", "CREATED_AT"},
      {"InTransit", "in_transit", "inTransit", "InTransit", "in-transit", "IN_TRANSIT"},
      {"id", "id", "id", "Id", "id", "ID"},
      {"line2_text", "line2_text", "line2Text", "Line2Text", "line2-text", "LINE2_TEXT"},
      {"HTTPServer", "httpserver", "httpserver", "Httpserver", "httpserver", "HTTPSERVER"},
      {"_private", "private", "private", "Private", "private", "PRIVATE"},
      {"größe_b", "größe_b", "größeB", "GrößeB", "größe-b", "GRößE_B"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(changed(row.name, Case::AsDeclared), row.name);
    EXPECT_EQ(changed(row.name, Case::Snake), row.snake);
    EXPECT_EQ(changed(row.name, Case::Camel), row.camel);
    EXPECT_EQ(changed(row.name, Case::Pascal), row.pascal);
    EXPECT_EQ(changed(row.name, Case::Kebab), row.kebab);
    EXPECT_EQ(changed(row.name, Case::UpperSnake), row.upper_snake);
  }
}

}  // namespace
}  // namespace keel::name_case_test
