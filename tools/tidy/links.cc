// Checks Markdown pages: each link leads to an existing file or heading, and docs/README.md has a link to each page.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "markdown.h"
#include "tree.h"

namespace {

using namespace tidy;

std::vector<std::string> all_pages() {
  std::vector<std::string> found;
  for (const std::string& file : files()) {
    if (file.ends_with(".md")) found.push_back(file);
  }
  return found;
}

// Returns what is wrong with the link of `page`; empty if nothing is.
std::string broken(const std::string& page, const std::string& link) {
  const std::size_t hash = std::min(link.find('#'), link.size());
  const std::string path = link.substr(0, hash);
  const std::string target =
      path.empty() ? page : (std::filesystem::path(folder(page)) / path).lexically_normal().generic_string();
  if (target.starts_with("..") || !exists(target)) return "no file " + target;
  if (hash == link.size()) return {};
  const std::vector<std::string> known = anchors(lines(target));
  const bool is_known = std::ranges::find(known, link.substr(hash + 1)) != known.end();
  return is_known ? std::string() : "no heading " + link.substr(hash) + " in " + target;
}

TEST(Links, lead_to_files_and_headings_that_exist) {
  int links = 0;
  for (const std::string& page : all_pages()) {
    for (const std::string& link : local_links(lines(page))) {
      EXPECT_EQ(broken(page, link), "") << page << ": " << link;
      ++links;
    }
  }
  EXPECT_GT(links, 100);
}

TEST(Links, of_the_index_name_every_page) {
  const std::vector<std::string> linked = local_links(lines("docs/README.md"));
  for (const std::string& page : all_pages()) {
    if ((folder(page) != "docs" && folder(page) != "docs/api") || page == "docs/README.md") continue;
    const auto count = std::ranges::count(linked, page.substr(std::string_view("docs/").size()));
    EXPECT_EQ(count, 1) << page << " needs exactly one link in docs/README.md";
  }
}

TEST(Links, that_are_broken_are_found) {
  EXPECT_EQ(broken("docs/README.md", "http.md#add-routes"), "");
  EXPECT_EQ(broken("docs/http.md", "#add-routes"), "");
  EXPECT_EQ(broken("docs/http.md", "../README.md"), "");
  EXPECT_EQ(broken("docs/http.md", "../../README.md"), "no file ../README.md");
  EXPECT_EQ(broken("docs/http.md", "nothing.md"), "no file docs/nothing.md");
  EXPECT_EQ(broken("README.md", "docs/http.md#nowhere"), "no heading #nowhere in docs/http.md");
}

TEST(Links, are_read_outside_of_code) {
  const std::vector<std::string> page = {"## Stop, or `go` on",
                                         "See [a](a.md#b) and `[x](y)`, [c](https://c.example/).",
                                         "```cpp",
                                         "## no heading",
                                         "[](int) {}",
                                         "```"};
  EXPECT_EQ(local_links(page), std::vector<std::string>{"a.md#b"});
  EXPECT_EQ(anchors(page), std::vector<std::string>{"stop-or-go-on"});
}

}  // namespace
