// Checks that every header, source or page that a comment or a page names, by its path or the end of its path, exists.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>

#include "tree.h"

namespace {

using namespace tidy;

bool is_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

// The names of files in a text: "db/row.h", "docs/http.md". Names that are part of an address, of an #include or of a
// path of another program are left out, and so are words such as "_test.cc" that are only the end of a name.
std::vector<std::string> named_files(std::string_view text) {
  std::vector<std::string> found;
  for (std::size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.', dot + 1)) {
    std::size_t end = dot + 1;
    while (end < text.size() && is_part(text[end])) ++end;
    const std::string_view ending = text.substr(dot + 1, end - dot - 1);
    if (ending != "h" && ending != "cc" && ending != "md") continue;
    std::size_t begin = dot;
    while (begin != 0 && (is_part(text[begin - 1]) || text[begin - 1] == '/' || text[begin - 1] == '.')) --begin;
    const char before = begin == 0 ? ' ' : text[begin - 1];
    const bool is_longer = end < text.size() && (text[end] == '/' || text[end] == '*' || text[end] == '(');
    const std::string_view name = text.substr(begin, end - begin);
    if (is_longer || before == ':' || std::string_view("<>$*{}~").find(before) != std::string_view::npos) continue;
    if (begin != dot && std::isalnum(static_cast<unsigned char>(name.front())) != 0) found.emplace_back(name);
  }
  return found;
}

// All ends of the repository's paths: "src/keel/db/row.h", "keel/db/row.h", …, "row.h".
const std::set<std::string>& known_names() {
  static const std::set<std::string> known = [] {
    std::set<std::string> made;
    for (const std::string& file : files()) {
      for (std::size_t at = 0;; ++at) {
        made.insert(file.substr(at));
        if ((at = file.find('/', at)) == std::string::npos) break;
      }
    }
    return made;
  }();
  return known;
}

// A file name that occurs in the text, although no file has this name and `examples` does not list it; empty if there
// is none.
std::string unknown_name(std::string_view text, const std::vector<Entry>& examples) {
  for (const std::string& name : named_files(text)) {
    const bool is_example = std::ranges::any_of(examples, [&](const Entry& one) {
      return one.path.ends_with('/') ? name.starts_with(one.path) : name == one.path;
    });
    if (!is_example && !known_names().contains(name)) return name;
  }
  return {};
}

TEST(Names, of_files_in_comments_and_pages_exist) {
  const std::string list = "tools/tidy/examples.txt";
  const std::vector<Entry> examples = entries(list);
  int count = 0;
  for (const std::string& file : files()) {
    const bool is_page = file.ends_with(".md");
    if ((!is_source(file) && !is_page) || file == "docs/renames.md" || file.starts_with("docs/api/") ||
        file.starts_with("bench/results/") || file.find("/testdata/") != std::string::npos) {
      continue;
    }
    std::size_t number = 0;
    bool is_code = false;
    for (const std::string& line : lines(file)) {
      ++number;
      is_code ^= is_page && line.starts_with("```");
      const std::size_t at = is_page ? (is_code ? std::string::npos : 0) : line.find("//");
      if (at == std::string::npos) continue;
      const std::string_view text = std::string_view(line).substr(at);
      count += static_cast<int>(named_files(text).size());
      EXPECT_EQ(unknown_name(text, examples), "") << file << ':' << number << ": there is no such file; if it is an "
                                                  << "example, list it in " << list;
    }
  }
  EXPECT_GT(count, 1000);
}

TEST(Names, that_no_file_has_are_found) {
  const std::vector<Entry> examples = {{"api/", "generated"}, {"page.cc", "an example"}};

  EXPECT_EQ(unknown_name("see db/rows.h and db/row.h", examples), "db/rows.h");
  EXPECT_EQ(unknown_name("see db/row.h, src/keel/db/row.h (docs/http.md)", examples), "");
  EXPECT_EQ(unknown_name("`load (page.cc:12)`, api/types.h, *_test.cc, _bench.cc", examples), "");
  EXPECT_EQ(unknown_name("see https://a.example/b/none.md, <none.h> and none.html", examples), "");
  EXPECT_EQ(unknown_name("a sentence that ends with none.h.", examples), "none.h");
}

}  // namespace
