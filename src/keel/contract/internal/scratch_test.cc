#include "keel/contract/internal/scratch.h"

#include <gtest/gtest.h>

namespace keel::contract::scratch_test {
namespace {

TEST(Scratch, keeps_words_that_are_in_use_when_it_grows_and_gives_zeros_again) {
  internal::Scratch scratch;
  std::size_t at[100];
  for (std::size_t i = 0; i < std::size(at); ++i) {
    at[i] = scratch.take(i);
    for (std::size_t j = 0; j < i; ++j) {
      ASSERT_EQ(scratch.at(at[i])[j], 0u);
      scratch.at(at[i])[j] = i;
    }
  }
  EXPECT_EQ(scratch.size(), 99u * 100 / 2);
  for (std::size_t i = 0; i < std::size(at); ++i) {
    for (std::size_t j = 0; j < i; ++j) ASSERT_EQ(scratch.at(at[i])[j], i);
  }

  scratch.give_back(at[50]);
  EXPECT_EQ(scratch.take(2000), at[50]);
  for (std::size_t j = 0; j < 2000; ++j) ASSERT_EQ(scratch.at(at[50])[j], 0u);
  EXPECT_EQ(scratch.at(at[49])[48], 49u);
}

}  // namespace
}  // namespace keel::contract::scratch_test
