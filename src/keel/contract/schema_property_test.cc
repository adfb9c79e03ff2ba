// Schemas and values that are made at random: the tables and the validator by the book agree.

#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "keel/contract/internal/maker.h"
#include "keel/data/json_write.h"

namespace keel::contract::schema_property_test {
namespace {

TEST(SchemaProperty, the_tables_and_the_validator_by_the_book_agree) {
  constexpr std::uint32_t seed = 28;
  std::mt19937 random(seed);
  const auto below = [&](std::size_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  testing::Maker maker(below);
  int valid = 0;
  int pairs = 0;
  for (int i = 0; i < 4000; ++i) {
    const json::Value document = maker.document();
    const testing::Tables tables(document);
    const testing::Book book(document);
    for (int j = 0; j < 5; ++j) {
      const json::Value value = maker.value();
      Violations wrong;
      const bool is_valid = check(value, tables.root(), wrong);
      ++pairs;
      valid += is_valid ? 1 : 0;
      ASSERT_EQ(is_valid, book.is_valid(value)) << "seed " << seed << ": " << json::write(document) << "\n"
                                                << json::write(value);
      ASSERT_EQ(is_valid, wrong.empty()) << json::write(document) << "\n" << json::write(value);
      for (const Violation& one : wrong) {
        const std::string parent = one.pointer.substr(0, one.pointer.rfind('/'));
        ASSERT_TRUE(value.at(one.pointer) != nullptr || value.at(parent) != nullptr) << one.pointer;
        ASSERT_FALSE(one.message.empty());
        ASSERT_FALSE(one.keyword.empty()) << one.message;
      }
    }
  }
  std::printf("%d pairs of seed %u, of which %d are valid\n", pairs, seed, valid);
  EXPECT_GT(valid, pairs / 10);
  EXPECT_LT(valid, pairs - pairs / 10);
}

}  // namespace
}  // namespace keel::contract::schema_property_test
