// Checks that a test runs the code of each page in docs/: a file NOUN_doc_test.cc begins with "// docs/PAGE.md,
// compiled and run" (or names several pages), and contains each block of code of its pages. Every page with a block of
// C++ must have a test that runs its code. If the last column of a table has the heading "here", the test must also
// contain each call in that column, in which "…" stands for omitted text.

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "markdown.h"
#include "tree.h"

namespace {

using namespace tidy;

// Removes empty lines and the blanks at the beginning of lines, because a block may be inside a function of the test.
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

std::string without_blanks_of(std::string_view text) {
  std::string made;
  std::ranges::copy_if(text, std::back_inserter(made), [](char c) { return c != ' ' && c != '\n'; });
  return made;
}

bool has_call(std::string_view test_without_blanks, std::string_view call) {
  constexpr std::string_view left_out = "…";
  while (true) {
    const std::size_t end = std::min(call.find(left_out), call.size());
    if (!test_without_blanks.contains(without_blanks_of(call.substr(0, end)))) return false;
    if (end == call.size()) return true;
    call.remove_prefix(end + left_out.size());
  }
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    found.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

// The parts of the page that the test does not contain; if the page has no code, a text that says so.
std::vector<std::string> missing(std::string_view page, std::string_view test) {
  const std::string here = without_indent(test);
  std::vector<std::string> of_page = blocks(page);
  if (of_page.empty()) return {"the page has no block of C++"};
  std::erase_if(of_page, [&](const std::string& block) { return here.contains(block); });
  const std::string text = without_blanks_of(test);
  for (const std::vector<std::string>& row : table_rows(split_lines(page), "here")) {
    for (const std::string& call : between_quotes(row.back())) {
      if (call.contains('(') && !has_call(text, call)) of_page.push_back(call);
    }
  }
  return of_page;
}

TEST(Pages, have_the_code_that_their_test_runs) {
  constexpr std::string_view end = ", compiled and run";
  std::vector<std::string> pages;
  for (const std::string& file : files()) {
    if (!file.ends_with("_doc_test.cc")) continue;
    const std::string first = lines(file).front();
    const std::size_t stop = first.find(end);
    ASSERT_TRUE(first.starts_with("// docs/") && stop != std::string::npos)
        << file << ": the first line must name its page, as in // docs/http.md, compiled and run";
    const std::string test = read(file);
    std::istringstream named(first.substr(3, stop - 3));
    for (std::string page; std::getline(named >> std::ws, page, ',');) {
      ASSERT_TRUE(exists(page)) << file << ": there is no page " << page;
      for (const std::string& block : missing(read(page), test)) {
        ADD_FAILURE() << page << " has code that is missing from " << file << ":\n" << block;
      }
      pages.push_back(page);
    }
  }
  for (const std::string& page : files()) {
    if (folder(page) != "docs" || !page.ends_with(".md") || blocks(read(page)).empty()) continue;
    EXPECT_TRUE(std::ranges::find(pages, page) != pages.end())
        << page << " has C++ code: name the page in the first line of a _doc_test.cc";
  }
}

TEST(Pages, are_compared_block_by_block) {
  const std::string page = "Text.\n```cpp\nint a = 1;\nif (a) b();\n```\n```sh\nmake\n```\n```cpp\nc();\n```\n";
  EXPECT_EQ(missing(page, "  int a = 1;\n\n  if (a) b();\n  c();\n"), std::vector<std::string>());
  EXPECT_EQ(missing(page, "int a = 2;\nif (a) b();\nc();\n"), std::vector<std::string>{"int a = 1;\nif (a) b();\n"});
  EXPECT_EQ(missing("```sh\nmake\n```\n", "make\n").size(), 1u);
  const std::string table = page + "| for | here |\n|---|---|\n| a | `d(1, …)`, a `word` |\n";
  EXPECT_EQ(missing(table, "int a = 1;\nif (a) b();\nc();\nd(1,\n  2);\n"), std::vector<std::string>());
  EXPECT_EQ(missing(table, "int a = 1;\nif (a) b();\nc();\nd(2);\n"), std::vector<std::string>{"d(1, …)"});
}

}  // namespace
