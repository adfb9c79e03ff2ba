#include "gen/names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace keel::gen::names_test {
namespace {

using Texts = std::vector<std::string>;
using Views = std::vector<std::string_view>;

TEST(Names, split_words_at_signs_and_capital_letters) {
  EXPECT_EQ(snake_of("petType"), "pet_type");
  EXPECT_EQ(snake_of("PetType"), "pet_type");
  EXPECT_EQ(snake_of("pet-type.name"), "pet_type_name");
  EXPECT_EQ(snake_of("HTTPServer"), "http_server");
  EXPECT_EQ(snake_of("md5Sum"), "md5_sum");
  EXPECT_EQ(pascal_of("list_products"), "ListProducts");
  EXPECT_EQ(pascal_of("HTTPServer"), "HttpServer");
}

TEST(Names, of_namespaces_have_colons_between_them) {
  EXPECT_TRUE(is_namespace("api"));
  EXPECT_TRUE(is_namespace("shop::api_2"));
  for (const std::string_view wrong : {"", "shop::", "::api", "shop:api", "2api", "shop.api", "shop::class"}) {
    EXPECT_FALSE(is_namespace(wrong)) << wrong;
  }
}

TEST(Names, are_no_keywords) {
  EXPECT_EQ(snake_of("class"), "class_");
  EXPECT_EQ(snake_of("co_await"), "co_await_");
  EXPECT_EQ(snake_of("New"), "new_");
  EXPECT_EQ(snake_of("linux"), "linux_");
  EXPECT_EQ(pascal_of("class"), "Class");
}

TEST(Names, say_what_no_identifier_may_have) {
  EXPECT_EQ(snake_of("$ref"), "ref");
  EXPECT_EQ(snake_of("größe"), "gr_u00f6_u00dfe");
  EXPECT_EQ(snake_of("\U0001F600"), "u1f600");
  EXPECT_EQ(snake_of("2nd"), "value_2nd");
  EXPECT_EQ(pascal_of("200"), "Value200");
  EXPECT_EQ(pascal_of("+1"), "Plus1");
  EXPECT_EQ(pascal_of("-1"), "Minus1");
  EXPECT_EQ(pascal_of("v1.2"), "V1_2");
  EXPECT_EQ(snake_of(""), "value");
  EXPECT_EQ(pascal_of("$"), "Value");
}

TEST(Names, that_would_be_the_same_get_numbers) {
  EXPECT_EQ(distinct(Views{"a-b", "a_b", "aB"}, snake_of), (Texts{"a_b_2", "a_b", "a_b_3"}));
  EXPECT_EQ(distinct(Views{"odd.name", "OddName"}, pascal_of), (Texts{"OddName2", "OddName"}));
  EXPECT_EQ(distinct(Views{"class", "class_"}, snake_of), (Texts{"class_2", "class_"}));
  EXPECT_EQ(distinct(Views{"title", "-title"}, pascal_of), (Texts{"Title", "Title2"}));
  EXPECT_EQ(distinct(Views{"a", "a"}, snake_of), (Texts{"a", "a"}));
}

TEST(Names, with_a_number_do_not_meet_a_name_that_has_it) {
  EXPECT_EQ(distinct(Views{"a b", "a_b", "a_b_2"}, snake_of), (Texts{"a_b_3", "a_b", "a_b_2"}));
}

TEST(Names, that_are_taken_are_given_to_none) {
  EXPECT_EQ(distinct(Views{"fields", "x"}, snake_of, Views{"fields"}), (Texts{"fields_2", "x"}));
}

TEST(Names, do_not_depend_on_their_order) {
  Views names = {"a b", "a-b", "a_b", "aB", "A_B", "a_b_2"};
  std::sort(names.begin(), names.end());
  const Texts sorted = distinct(names, snake_of);
  Views shuffled = names;
  while (std::next_permutation(shuffled.begin(), shuffled.end())) {
    const Texts made = distinct(shuffled, snake_of);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto at = std::find(shuffled.begin(), shuffled.end(), names[i]) - shuffled.begin();
      ASSERT_EQ(made[static_cast<std::size_t>(at)], sorted[i]);
    }
  }
}

TEST(Names, of_types_are_taken_once) {
  Names names;

  EXPECT_TRUE(names.take("Product"));
  EXPECT_FALSE(names.take("Product"));
  EXPECT_EQ(names.type("product"), "Product2");
  EXPECT_EQ(names.type("product"), "Product3");
  EXPECT_EQ(names.type("other"), "Other");
}

}  // namespace
}  // namespace keel::gen::names_test
