#include "keel/base/type_name.h"

#include <gtest/gtest.h>

namespace accounts {
struct User {};
template <class T>
struct List {};
}  // namespace accounts

namespace keel::type_name_test {
namespace {

struct Hidden {};

TEST(TypeName, has_the_namespaces_of_the_type) {
  EXPECT_EQ(type_name<int>(), "int");
  EXPECT_EQ(type_name<accounts::User>(), "accounts::User");
}

TEST(TypeName, is_plain_without_the_compilers_words_for_unnamed_namespaces) {
  EXPECT_NE(type_name<Hidden>(), "keel::type_name_test::Hidden");
  EXPECT_EQ(plain_name(type_name<Hidden>()), "keel::type_name_test::Hidden");
  EXPECT_EQ(plain_name(type_name<accounts::List<Hidden>>()), "accounts::List<keel::type_name_test::Hidden>");
  EXPECT_EQ(plain_name("a::<unnamed>::B<(anonymous namespace)::C>"), "a::B<C>");
}

}  // namespace
}  // namespace keel::type_name_test
