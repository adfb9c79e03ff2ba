// Checks examples/orders, which people copy: it must stay short, and must not move any field by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tree.h"

namespace {

using namespace tidy;

constexpr std::size_t service_lines_max = 380;
constexpr std::size_t example_test_lines_max = 120;

using Word = std::pair<const char*, const char*>;

// Words of code that reads or writes members, columns or keys one by one, each with the code to write instead.
constexpr std::array by_hand = {
    Word("json::Reader", "request.json<T>()"), Word("json::Writer", "Response::json(value)"),
    Word("read_json(", "request.json<T>()"),   Word("write_json(", "Response::json(value)"),
    Word("query_param", "request.query<T>()"), Word("from_row", "query_many<T>()"),
    Word("db::Row", "query_many<T>()"),
};
// Calls that an application should leave to the framework, each with the code to write instead.
constexpr std::array plumbing = {
    Word("Start", "app.every() or app.background()"),   Word("promise", "co_await"),
    Word("Runtime", "app.every() or app.background()"), Word("each(", "app.every() or app.background()"),
    Word("std::thread", "co_await submit(pool, work)"),
};

// Whether a line is neither blank nor only a comment.
bool is_code(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(' ');
  return begin != std::string_view::npos && line.substr(begin, 2) != "//";
}
std::size_t count_code(const std::vector<std::string>& lines) {
  return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), is_code));
}

// The lines of code that contain a word of `words`, each with the reason `why` and with what to write instead.
std::vector<std::string> found_in(const std::string& path, const std::vector<std::string>& lines,
                                  std::span<const Word> words, const std::string& why) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const auto& [word, instead] : words) {
      if (!is_code(lines[i]) || lines[i].find(word) == std::string::npos) continue;
      found.push_back(path + ':' + std::to_string(i + 1) + ": " + word + ' ' + why + "; write " + instead);
    }
  }
  return found;
}
std::vector<std::string> moved_by_hand(const std::string& path, const std::vector<std::string>& lines) {
  return found_in(path, lines, by_hand, "moves fields by hand");
}
std::vector<std::string> run_by_hand(const std::string& path, const std::vector<std::string>& lines) {
  return found_in(path, lines, plumbing, "runs by hand what the framework runs");
}

TEST(Examples, orders_has_at_most_380_lines_of_code_and_120_of_tests) {
  std::size_t service = 0;
  std::size_t test = 0;
  for (const std::string& file : files()) {
    if (folder(file) != "examples/orders" || !is_source(file)) continue;
    (stem(file).ends_with("_test") ? test : service) += count_code(lines(file));
  }
  EXPECT_GT(service, 100u) << "too little code was found in examples/orders: has it moved?";
  EXPECT_GT(test, 50u) << "too little code was found in examples/orders: has it moved?";
  EXPECT_LE(service, service_lines_max) << "examples/orders has too many lines that are neither blank nor comments";
  EXPECT_LE(test, example_test_lines_max)
      << "the tests of examples/orders have too many lines that are neither blank nor comments";
}

TEST(Examples, orders_moves_no_field_by_hand) {
  for (const std::string& file : files()) {
    if (folder(file) != "examples/orders" || !is_source(file)) continue;
    EXPECT_EQ(moved_by_hand(file, lines(file)), std::vector<std::string>());
  }
}

TEST(Examples, no_plumbing_is_left_in_orders) {
  for (const std::string& file : files()) {
    if (folder(file) != "examples/orders" || !is_source(file)) continue;
    EXPECT_EQ(run_by_hand(file, lines(file)), std::vector<std::string>());
  }
}

TEST(Examples, what_is_counted_and_what_is_by_hand_is_said) {
  EXPECT_EQ(count_code({"", "  // a comment", "// and one", "int a;  // and code", "  }"}), 2u);
  EXPECT_EQ(moved_by_hand("a.cc", {"int a;", "  json::Reader in(text);", "// json::Writer"}),
            std::vector<std::string>{"a.cc:2: json::Reader moves fields by hand; write request.json<T>()"});
  EXPECT_EQ(run_by_hand("a.cc", {"std::promise<int> p;", "// promise"}),
            std::vector<std::string>{"a.cc:1: promise runs by hand what the framework runs; write co_await"});
}

}  // namespace
