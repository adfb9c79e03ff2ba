// Checks examples/orders, which people copy: it must stay short, and no line of it may move a field by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tree.h"

namespace {

using namespace tidy;

constexpr std::size_t service_lines_max = 380;
constexpr std::size_t example_test_lines_max = 120;

// Code that reads or writes members, columns or keys one by one; and what to write instead.
constexpr std::array by_hand = {
    std::pair("json::Reader", "request.json<T>()"), std::pair("json::Writer", "Response::json(value)"),
    std::pair("read_json(", "request.json<T>()"),   std::pair("write_json(", "Response::json(value)"),
    std::pair("query_param", "request.query<T>()"), std::pair("from_row", "query_many<T>()"),
    std::pair("db::Row", "query_many<T>()"),
};

// Neither blank nor only a comment.
bool is_code(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(' ');
  return begin != std::string_view::npos && line.substr(begin, 2) != "//";
}
std::size_t count_code(const std::vector<std::string>& lines) {
  return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), is_code));
}

std::vector<std::string> moved_by_hand(const std::string& path, const std::vector<std::string>& lines) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const auto& [word, instead] : by_hand) {
      if (!is_code(lines[i]) || lines[i].find(word) == std::string::npos) continue;
      found.push_back(path + ':' + std::to_string(i + 1) + ": " + word + " moves fields by hand; write " + instead);
    }
  }
  return found;
}

TEST(Examples, orders_has_at_most_380_lines_of_code_and_120_of_tests) {
  std::size_t service = 0;
  std::size_t test = 0;
  for (const std::string& file : files()) {
    if (folder(file) != "examples/orders" || !is_source(file)) continue;
    (stem(file).ends_with("_test") ? test : service) += count_code(lines(file));
  }
  EXPECT_GT(service, 100u) << "is it somewhere else?";
  EXPECT_GT(test, 50u) << "is it somewhere else?";
  EXPECT_LE(service, service_lines_max) << "lines of examples/orders that are neither blank nor comments";
  EXPECT_LE(test, example_test_lines_max)
      << "lines of the tests of examples/orders that are neither blank nor comments";
}

TEST(Examples, orders_moves_no_field_by_hand) {
  for (const std::string& file : files()) {
    if (folder(file) != "examples/orders" || !is_source(file)) continue;
    EXPECT_EQ(moved_by_hand(file, lines(file)), std::vector<std::string>());
  }
}

TEST(Examples, what_is_counted_and_what_is_by_hand_is_said) {
  EXPECT_EQ(count_code({"", "  // a comment", "// and one", "int a;  // and code", "  }"}), 2u);
  EXPECT_EQ(moved_by_hand("a.cc", {"int a;", "  json::Reader in(text);", "// json::Writer"}),
            std::vector<std::string>{"a.cc:2: json::Reader moves fields by hand; write request.json<T>()"});
}

}  // namespace
