#include "keel/base/bug.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "keel/base/error.h"
#include "keel/base/result.h"

namespace keel::bug_test {
namespace {

constexpr unsigned expected_at = __LINE__ + 2;
[[gnu::noinline]] int third_of(int count) {
  KEEL_EXPECT(count > 2, "the third of " + std::to_string(count) + " is asked for");
  return 3;
}

TEST(Bug, is_thrown_with_its_sentence_place_and_stack) {
  try {
    (void)third_of(2);
    FAIL() << "nothing was thrown";
  } catch (const Bug& bug) {
    EXPECT_STREQ(bug.what(), "the third of 2 is asked for");
    EXPECT_TRUE(std::string(bug.place().file_name()).ends_with("bug_test.cc"));
    EXPECT_EQ(bug.place().line(), expected_at);
    EXPECT_NE(to_string(bug.stack()).find("third_of"), std::string::npos) << to_string(bug.stack());
  }
}

TEST(Bug, is_not_thrown_where_what_is_expected_holds) { EXPECT_EQ(third_of(3), 3); }

TEST(Bug, becomes_an_internal_error_that_keeps_place_and_stack) {
  Error error = try_catch([] { return third_of(1); }).error().clone();

  EXPECT_EQ(error.code(), Code::Internal);
  EXPECT_TRUE(error.is_bug());
  EXPECT_FALSE(error.is_from_environment());
  EXPECT_EQ(error.message(), "the third of 1 is asked for");
  EXPECT_EQ(error.describe_places(), "bug_test.cc:" + std::to_string(expected_at));
  ASSERT_NE(error.stack(), nullptr);
  const Error longer = std::move(error).because("loading").because(std::string(200, 'x'));
  ASSERT_NE(longer.stack(), nullptr);
  EXPECT_TRUE(longer.is_bug());
  EXPECT_NE(to_string(*longer.stack()).find("third_of"), std::string::npos);
}

TEST(Bug, that_cannot_be_thrown_is_an_error_as_well) {
  const Error error = Error::from_bug(Bug("one task at a time reads"));
  const unsigned line = __LINE__ - 1;

  EXPECT_TRUE(error.is_bug());
  EXPECT_EQ(error.message(), "one task at a time reads");
  EXPECT_EQ(error.place().line(), line);
}

}  // namespace
}  // namespace keel::bug_test
