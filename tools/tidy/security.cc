// Checks SECURITY.md: each promise names an existing test.

#include <gtest/gtest.h>

#include <set>

#include "markdown.h"
#include "tree.h"

namespace {

using namespace tidy;

// Returns the name of every test: for GoogleTest as `Suite.name`, for an attack as `abuse` with a colon and the
// attack's name, and for a test in Python as the path of its file.
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

// The mistakes in the rows of the tables whose last column has the heading "test".
std::vector<std::string> mistakes(const std::vector<std::string>& page, const std::set<std::string>& tests,
                                  int& promises) {
  std::vector<std::string> wrong;
  for (const std::vector<std::string>& row : table_rows(page, "test")) {
    ++promises;
    const std::vector<std::string> named = between_quotes(row.back());
    if (named.empty()) wrong.push_back("this row names no test: " + row.front());
    for (const std::string& name : named) {
      if (!tests.contains(name)) wrong.push_back("there is no test " + name);
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
  const std::vector<std::string> expected = {"there is no test A.c", "this row names no test: three"};
  EXPECT_EQ(mistakes(page, tests, promises), expected);
  EXPECT_EQ(promises, 3);
}

}  // namespace
