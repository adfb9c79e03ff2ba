// The code of a page in docs/ that a test runs: NOUN_doc_test.cc begins with "// docs/PAGE.md, compiled and run", and
// has each block of the page.

#include <gtest/gtest.h>

#include <algorithm>

#include "tree.h"

namespace {

using namespace tidy;

// Blanks at the beginning of lines and empty lines do not count: a block may stand within a function of the test.
std::string without_indent(std::string_view text) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::size_t first = text.find_first_not_of(' ', at);
    if (first < end) made.append(text.substr(first, end - first)) += '\n';
    at = end + 1;
  }
  return made;
}

std::vector<std::string> blocks(std::string_view page) {
  constexpr std::string_view begin = "```cpp\n";
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = page.find(begin, at)) != std::string_view::npos;) {
    at += begin.size();
    const std::size_t end = page.find("```", at);
    found.push_back(without_indent(page.substr(at, end - at)));
    at = end;
  }
  return found;
}

// What of the page does not stand in the test; a page without code is a mistake too.
std::vector<std::string> missing(std::string_view page, std::string_view test) {
  const std::string here = without_indent(test);
  std::vector<std::string> of_page = blocks(page);
  if (of_page.empty()) return {"no block of C++"};
  std::erase_if(of_page, [&](const std::string& block) { return here.contains(block); });
  return of_page;
}

TEST(Pages, have_the_code_that_their_test_runs) {
  constexpr std::string_view end = ", compiled and run";
  int pages = 0;
  for (const std::string& file : files()) {
    if (!file.ends_with("_doc_test.cc")) continue;
    const std::string first = lines(file).front();
    const std::size_t stop = first.find(end);
    ASSERT_TRUE(first.starts_with("// docs/") && stop != std::string::npos) << file << " does not name its page";
    const std::string page = first.substr(3, stop - 3);
    ASSERT_TRUE(exists(page)) << file << ": no " << page;
    for (const std::string& block : missing(read(page), read(file))) {
      ADD_FAILURE() << page << ", not in " << file << ":\n" << block;
    }
    ++pages;
  }
  EXPECT_GT(pages, 0);
}

TEST(Pages, are_compared_block_by_block) {
  const std::string page = "Text.\n```cpp\nint a = 1;\nif (a) b();\n```\n```sh\nmake\n```\n```cpp\nc();\n```\n";
  EXPECT_EQ(missing(page, "  int a = 1;\n\n  if (a) b();\n  c();\n"), std::vector<std::string>());
  EXPECT_EQ(missing(page, "int a = 2;\nif (a) b();\nc();\n"), std::vector<std::string>{"int a = 1;\nif (a) b();\n"});
  EXPECT_EQ(missing("```sh\nmake\n```\n", "make\n").size(), 1u);
}

}  // namespace
