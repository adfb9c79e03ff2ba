// Checks llms.txt and AGENTS.md, which programs read: llms.txt must name every page, and all files and commands that
// AGENTS.md names must exist.

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "markdown.h"
#include "tree.h"

namespace {

using namespace tidy;

struct Listed {
  std::string page;
  std::string about;
};

// The pages that are listed in lines "- [PAGE](PAGE): about".
std::vector<Listed> listed_in(const std::vector<std::string>& index) {
  static const std::regex entry(R"(- \[([^\]]+)\]\(([^)]+)\): (.+))");
  std::vector<Listed> found;
  for (const std::string& line : index) {
    std::smatch match;
    if (std::regex_match(line, match, entry) && match[1] == match[2]) found.push_back({match[1], match[3]});
  }
  return found;
}

bool has_to_be_listed(const std::string& file) {
  return file.ends_with(".md") && (folder(file) == "docs" || folder(file).empty());
}

// Whether a word is a path of the repository (a file or folder), and not merely a word with a slash.
bool looks_like_path(const std::string& word) {
  static const std::regex path(
      R"((src|docs|tests|tools|bench|examples|scripts)(/[\w.]+)*|[a-zA-Z][\w/]*\.(txt|md|h|cc))");
  return std::regex_match(word, path);
}

// The words after `command` in `text`, such as the targets of make.
std::vector<std::string> arguments_of(const std::string& command, const std::string& text) {
  const std::regex pattern("\\b" + command + " ([a-z][a-z-]*)");
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) found.push_back((*at)[1]);
  return found;
}

TEST(Agents, have_a_list_of_every_page_with_a_sentence_each) {
  const std::vector<Listed> all = listed_in(lines("llms.txt"));
  for (const std::string& file : files()) {
    if (!has_to_be_listed(file)) continue;
    const auto count = std::ranges::count(all, file, &Listed::page);
    EXPECT_EQ(count, 1) << file << " needs exactly one line in llms.txt: - [" << file << "](" << file
                        << "): what the page describes";
  }
  for (const Listed& one : all) {
    EXPECT_TRUE(exists(one.page)) << "llms.txt names " << one.page << ", which does not exist";
    EXPECT_GT(one.about.size(), 20u) << "llms.txt must describe " << one.page << " in more than 20 characters";
  }
}

TEST(Agents, find_what_their_page_names) {
  const std::vector<std::string> page = lines("AGENTS.md");
  const std::string makefile = read("Makefile");
  int named = 0;
  for (const std::string& line : page) {
    for (const std::string& word : between_quotes(line)) {
      if (!looks_like_path(word)) continue;
      EXPECT_TRUE(exists(word)) << "AGENTS.md names " << word << ", which does not exist";
      ++named;
    }
    for (const std::string& target : arguments_of("make", line)) {
      EXPECT_TRUE(makefile.contains("\n" + target + ":"))
          << "AGENTS.md names make " << target << ", but the Makefile has no such target";
      ++named;
    }
  }
  EXPECT_GT(named, 15);
}

TEST(Agents, are_checked_line_by_line) {
  const std::vector<Listed> all = listed_in({"# A", "- [a.md](a.md): about a", "- [b](b.md): no", "- [c.md](c.md)"});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].page, "a.md");
  EXPECT_EQ(all[0].about, "about a");
  EXPECT_TRUE(looks_like_path("src/keel/app"));
  EXPECT_TRUE(looks_like_path("layers.txt"));
  EXPECT_FALSE(looks_like_path("_doc_test.cc"));
  EXPECT_FALSE(looks_like_path("http/2"));
  EXPECT_EQ(arguments_of("make", "`make docs` and make format-check, but MAKE no"),
            (std::vector<std::string>{"docs", "format-check"}));
}

}  // namespace
