// SECURITY.md: each promise names a test that exists.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tree.h"

namespace {

using namespace tidy;

// The words between back quotes.
std::vector<std::string> between_quotes(std::string_view text) {
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = text.find('`', at)) != std::string_view::npos;) {
    const std::size_t end = text.find('`', at + 1);
    if (end == std::string_view::npos) break;
    found.emplace_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return found;
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

std::vector<std::string> cells(std::string_view row) {
  std::vector<std::string> found;
  for (std::size_t at = 1; at < row.size();) {
    const std::size_t end = std::min(row.find('|', at), row.size());
    found.push_back(trimmed(row.substr(at, end - at)));
    at = end + 1;
  }
  return found;
}

// `Suite.name` of all tests of GoogleTest, `abuse: NAME` of the attacks, and the files of tests in Python.
std::set<std::string> every_test() {
  std::set<std::string> found;
  for (const std::string& file : files()) {
    if (file.ends_with("_test.py")) found.insert(file);
    if (file == "tests/abuse/suites.py") {
      constexpr std::string_view begin = "    Suite(\"";
      for (const std::string& line : lines(file)) {
        if (!line.starts_with(begin)) continue;
        found.insert("abuse: " + line.substr(begin.size(), line.find('"', begin.size()) - begin.size()));
      }
    }
    if (!file.ends_with("_test.cc")) continue;
    const std::string text = read(file);
    for (std::size_t at = 0; (at = text.find("\nTEST", at)) != std::string::npos; ++at) {
      const std::size_t open = text.find('(', at);
      const std::size_t close = text.find(')', at);
      if (open == std::string::npos || close == std::string::npos || close < open) continue;
      const std::string inside = text.substr(open + 1, close - open - 1);
      const std::size_t comma = inside.find(',');
      if (comma == std::string::npos) continue;
      const std::size_t name = inside.find_first_not_of(" \n", comma + 1);
      if (name != std::string::npos) found.insert(inside.substr(0, comma) + '.' + inside.substr(name));
    }
  }
  return found;
}

// What is wrong with the rows of the tables whose last column is "test".
std::vector<std::string> mistakes(const std::vector<std::string>& page, const std::set<std::string>& tests,
                                  int& promises) {
  std::vector<std::string> wrong;
  bool is_in_table = false;
  for (const std::string& line : page) {
    if (!line.starts_with('|')) {
      is_in_table = false;
      continue;
    }
    const std::vector<std::string> row = cells(line);
    if (row.back() == "test") {
      is_in_table = true;
    } else if (is_in_table && !line.starts_with("|--")) {
      ++promises;
      const std::vector<std::string> named = between_quotes(row.back());
      if (named.empty()) wrong.push_back("no test of: " + row.front());
      for (const std::string& name : named) {
        if (!tests.contains(name)) wrong.push_back("there is no test " + name);
      }
    }
  }
  return wrong;
}

TEST(Security, names_a_test_that_exists_for_each_promise) {
  int promises = 0;
  for (const std::string& mistake : mistakes(lines("SECURITY.md"), every_test(), promises)) {
    ADD_FAILURE() << "SECURITY.md: " << mistake;
  }
  EXPECT_GT(promises, 20);
}

TEST(Security, is_compared_row_by_row) {
  const std::set<std::string> tests = {"A.b", "abuse: slow heads"};
  const std::vector<std::string> page = {
      "| promise | test |", "|---|---|", "| one | `A.b` |",          "| two | `abuse: slow heads`, `A.c` |",
      "| three | none |",   "",          "| another table | with |", "| of | `anything` |"};
  int promises = 0;
  const std::vector<std::string> expected = {"there is no test A.c", "no test of: three"};
  EXPECT_EQ(mistakes(page, tests, promises), expected);
  EXPECT_EQ(promises, 3);
}

}  // namespace
