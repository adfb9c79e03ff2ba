#include "keel/base/check.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string_view>

namespace keel::check_test {
namespace {

TEST(Check, does_nothing_when_the_sentence_is_true) {
  int evaluated = 0;
  KEEL_CHECK(++evaluated == 1, "it is evaluated once");
  EXPECT_EQ(evaluated, 1);
}

TEST(CheckDeathTest, prints_place_condition_and_sentence_and_aborts) {
  EXPECT_EXIT(KEEL_CHECK(1 + 1 == 3, "sums are right"), ::testing::KilledBySignal(SIGABRT),
              "check_test.cc:[0-9]+: check failed: 1 \\+ 1 == 3: sums are right");
}

TEST(CheckDeathTest, leaves_its_sentence_as_the_last_words) {
  EXPECT_STREQ(last_words(), "");
  // Of two the first stays.
  const auto set_two = [] {
    set_last_words("the first");
    set_last_words("the second");
    _exit(std::string_view(last_words()) == "the first" ? 7 : 8);
  };
  EXPECT_EXIT(set_two(), ::testing::ExitedWithCode(7), "");
}

TEST(CheckDeathTest, debug_checks_abort_in_debug_builds_only) {
#ifdef NDEBUG
  bool evaluated = false;
  KEEL_DCHECK(evaluated = true, "not evaluated");
  EXPECT_FALSE(evaluated);
#else
  EXPECT_DEATH(KEEL_DCHECK(false, "the sentence"), "the sentence");
#endif
}

}  // namespace
}  // namespace keel::check_test
