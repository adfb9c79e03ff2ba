#include "openapi/grammar.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace keel::openapi::grammar_test {
namespace {

TEST(Grammar, has_each_field_of_an_object_once) {
  for (int i = 0; i < static_cast<int>(Role::None); ++i) {
    const Role role = static_cast<Role>(i);
    EXPECT_FALSE(to_string(role).empty()) << i;
    std::set<std::string_view> names;
    for (const Field& field : fields_of(role)) {
      EXPECT_TRUE(names.insert(field.name).second) << to_string(role) << ": " << field.name;
      const bool has_role = field.form == Form::One || field.form == Form::List || field.form == Form::Map ||
                            field.form == Form::SchemaOrFlag;
      EXPECT_EQ(field.role != Role::None, has_role) << to_string(role) << ": " << field.name;
      EXPECT_TRUE(field.is_in(Version::V30) || field.is_in(Version::V31)) << field.name;
      EXPECT_EQ(find_field(role, field.name), &field);
    }
  }
  EXPECT_EQ(find_field(Role::Info, "nmae"), nullptr);
}

}  // namespace
}  // namespace keel::openapi::grammar_test
