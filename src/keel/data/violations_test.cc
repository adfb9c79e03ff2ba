#include "keel/data/violations.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::violations_test {
namespace {

TEST(Violations, are_one_error_with_all_of_them) {
  Violations wrong;
  EXPECT_TRUE(wrong.add({"/sku", "is required", 1, 2}));
  EXPECT_TRUE(wrong.add({"/lines/0/quantity", "must be from 1 to 100", 1, 9}));
  EXPECT_TRUE(wrong.add({"/id", "expected a string", 2, 1}));
  EXPECT_TRUE(wrong.add({"", "from must not be after to", 2, 1}));

  EXPECT_EQ(wrong.error().code(), Code::InvalidArgument);
  EXPECT_EQ(wrong.error().message(),
            "/sku is required; /lines/0/quantity must be from 1 to 100; /id: expected a string; from must not be after "
            "to");
}

TEST(Violations, are_bounded_in_number) {
  Violations wrong;
  for (std::size_t i = 0; i < Violations::count_max; ++i) EXPECT_TRUE(wrong.add({"/a", "is required", 1, 1}));
  EXPECT_FALSE(wrong.has_more());
  EXPECT_FALSE(wrong.add({"/a", "is required", 1, 1}));
  EXPECT_TRUE(wrong.has_more());
  EXPECT_EQ(wrong.size(), Violations::count_max);
  EXPECT_TRUE(wrong.error().message().ends_with("; and more"));
}

TEST(Violations, are_bounded_in_length) {
  Violations wrong;
  wrong.add({"/" + std::string(255, 'a'), "is required", 1, 1});
  EXPECT_EQ(wrong[0].pointer, "/" + std::string(255, 'a'));
  wrong.add({"/" + std::string(256, 'a'), "is required", 1, 1});
  EXPECT_EQ(wrong[1].pointer, "/" + std::string(252, 'a') + "…");
  wrong.add({"/" + std::string(251, 'a') + "éé" + std::string(1'000'000, 'b'), "is required", 1, 1});
  EXPECT_EQ(wrong[2].pointer, "/" + std::string(251, 'a') + "…") << "between characters";
  wrong.set_malformed({std::string(1'000'000, 'a'), "expected ':'", 3, 4});
  EXPECT_EQ(wrong[0].pointer.size(), Violations::pointer_bytes_max);
}

TEST(Violations, give_way_to_a_text_that_is_malformed) {
  Violations wrong;
  wrong.add({"/sku", "is required", 1, 2});
  wrong.set_malformed({"/user", "expected ':'", 3, 4});

  EXPECT_TRUE(wrong.is_malformed());
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(wrong[0].message, "expected ':'");
  EXPECT_EQ(wrong.error().message(), "expected ':' at line 3 column 4 (/user)");
  wrong.clear();
  EXPECT_TRUE(wrong.empty());
  EXPECT_FALSE(wrong.is_malformed());
}

}  // namespace
}  // namespace keel::violations_test
