#include "keel/http/server/literal_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace keel::http::literal_table_test {
namespace {

TEST(LiteralTable, finds_what_was_added_and_nothing_else) {
  LiteralTable table;
  table.add("users", 1);
  table.add("", 2);
  table.add(std::string_view("a\0b", 3), 4);

  EXPECT_EQ(table.find("users"), 1u);
  EXPECT_EQ(table.find(""), 2u);
  EXPECT_EQ(table.find(std::string_view("a\0b", 3)), 4u);
  for (const char* absent : {"user", "usersx", "Users", "usersu", "a", "sresu"}) {
    EXPECT_EQ(table.find(absent), LiteralTable::none) << absent;
  }
}

TEST(LiteralTable, is_empty_at_first) {
  const LiteralTable table;
  EXPECT_EQ(table.find(""), LiteralTable::none);
  EXPECT_EQ(table.find("/"), LiteralTable::none);
}

TEST(LiteralTable, tells_texts_of_every_length_apart_by_each_of_their_bytes) {
  LiteralTable table;
  std::map<std::string, std::uint32_t> added;
  for (std::size_t size = 1; size <= 40; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'x');
      text[at] = 'y';
      const auto value = static_cast<std::uint32_t>(added.size());
      added[text] = value;
      table.add(text, value);
    }
  }

  for (const auto& [text, value] : added) EXPECT_EQ(table.find(text), value) << text;
  for (std::size_t size = 1; size <= 40; ++size) EXPECT_EQ(table.find(std::string(size, 'x')), LiteralTable::none);
}

TEST(LiteralTable, agrees_with_a_map_while_it_grows) {
  LiteralTable table;
  std::map<std::string, std::uint32_t> model;
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = "thing" + std::to_string(random() % 100'000);
    const auto known = model.find(text);
    ASSERT_EQ(table.find(text), known == model.end() ? LiteralTable::none : known->second);
    if (known != model.end()) continue;
    const auto value = static_cast<std::uint32_t>(model.size());
    model[text] = value;
    table.add(text, value);
    ASSERT_EQ(table.find(text), value);
  }
  for (const auto& [text, value] : model) ASSERT_EQ(table.find(text), value);
}

TEST(LiteralTableDeathTest, refuses_a_literal_that_is_there) {
  LiteralTable table;
  table.add("a", 1);
  EXPECT_DEATH(table.add("a", 2), "added only once");
}

}  // namespace
}  // namespace keel::http::literal_table_test
