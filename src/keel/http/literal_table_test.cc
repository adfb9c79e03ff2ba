#include "keel/http/literal_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>

namespace keel::http {
namespace {

TEST(LiteralTable, finds_what_was_added_below_its_node_and_nothing_else) {
  LiteralTable table;
  table.add(0, "users", 1);
  table.add(0, "", 2);
  table.add(7, "users", 3);
  table.add(0, std::string_view("a\0b", 3), 4);

  EXPECT_EQ(table.find(0, "users"), 1u);
  EXPECT_EQ(table.find(0, ""), 2u);
  EXPECT_EQ(table.find(7, "users"), 3u);
  EXPECT_EQ(table.find(0, std::string_view("a\0b", 3)), 4u);
  for (const char* absent : {"user", "usersx", "Users", "usersu", "a", "sresu"}) {
    EXPECT_EQ(table.find(0, absent), LiteralTable::none) << absent;
  }
  EXPECT_EQ(table.find(7, ""), LiteralTable::none);
  EXPECT_EQ(table.find(1, "users"), LiteralTable::none);
}

TEST(LiteralTable, is_empty_at_first) {
  const LiteralTable table;
  EXPECT_EQ(table.find(0, ""), LiteralTable::none);
  EXPECT_EQ(table.find(LiteralTable::none, "/"), LiteralTable::none);
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
      table.add(1, text, value);
    }
  }

  for (const auto& [text, value] : added) EXPECT_EQ(table.find(1, text), value) << text;
  for (std::size_t size = 1; size <= 40; ++size) EXPECT_EQ(table.find(1, std::string(size, 'x')), LiteralTable::none);
}

TEST(LiteralTable, agrees_with_a_map_while_it_grows) {
  LiteralTable table;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> model;
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint32_t node = random() % 50;
    const std::string text = "thing" + std::to_string(random() % 2'000);
    const auto known = model.find({node, text});
    ASSERT_EQ(table.find(node, text), known == model.end() ? LiteralTable::none : known->second);
    if (known != model.end()) continue;
    const auto value = static_cast<std::uint32_t>(model.size());
    model[{node, text}] = value;
    table.add(node, text, value);
    ASSERT_EQ(table.find(node, text), value);
  }
  for (const auto& [key, value] : model) ASSERT_EQ(table.find(key.first, key.second), value);
}

TEST(LiteralTableDeathTest, refuses_a_literal_that_is_there) {
  LiteralTable table;
  table.add(0, "a", 1);
  EXPECT_DEATH(table.add(0, "a", 2), "added once");
}

}  // namespace
}  // namespace keel::http
