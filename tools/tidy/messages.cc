// Checks docs/errors.md: each message that it explains occurs in the sources.

#include <gtest/gtest.h>

#include <algorithm>

#include "graph.h"
#include "markdown.h"
#include "tree.h"

namespace {

using namespace tidy;

constexpr std::string_view ellipsis = "…";

// Adjacent literals are joined, and their escaped quotes become quotes. Comments are left out.
std::string messages_of(const std::vector<std::string>& source) {
  std::string text;
  for (const std::string& line : source) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first == std::string::npos || line.substr(first).starts_with("//")) continue;
    const bool continues = line[first] == '"' && text.ends_with('"') && !text.ends_with("\\\"");
    if (continues) text.pop_back();
    text += line.substr(continues ? first + 1 : first);
  }
  for (std::size_t at = 0; (at = text.find("\\\"", at)) != std::string::npos; ++at) text.erase(at, 1);
  return text;
}

// The constant parts of a message, which "…" separates.
std::vector<std::string> fixed_parts(std::string_view message) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at <= message.size();) {
    const std::size_t end = std::min(message.find(ellipsis, at), message.size());
    if (end != at) found.emplace_back(message.substr(at, end - at));
    at = end + ellipsis.size();
  }
  return found;
}

TEST(Messages, of_the_page_are_in_the_sources) {
  std::string text;
  for (const std::string& file : files()) {
    const bool prints = file.starts_with("src/keel/") || file.starts_with("tools/keel/");
    if (prints && is_source(file) && !is_for_tests(file, includes(file))) {
      text += messages_of(lines(file)) + '\n';
    }
  }
  int messages = 0;
  for (const std::vector<std::string>& row : table_rows(lines("docs/errors.md"), "cure")) {
    const std::vector<std::string> named = between_quotes(row.front());
    ASSERT_EQ(named.size(), 1u) << row.front();
    for (const std::string& part : fixed_parts(named.front())) {
      EXPECT_TRUE(text.contains(part)) << named.front() << ": no message of the program contains \"" << part << '"';
    }
    ++messages;
  }
  EXPECT_GT(messages, 100);
}

TEST(Messages, are_compared_without_what_differs) {
  const std::string text =
      messages_of({"  // \"a comment\"", "  fail(\"no \\\"file\\\" of \"", "       \"this name: {}\");"});
  EXPECT_EQ(text, "fail(\"no \"file\" of this name: {}\");");
  EXPECT_EQ(fixed_parts("a … b…"), (std::vector<std::string>{"a ", " b"}));
}

}  // namespace
