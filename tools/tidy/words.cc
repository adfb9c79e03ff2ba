// Checks the wording of comments, pages, strings of programs, and scripts: words.txt lists words to avoid, and no
// comment beside a declaration may continue the sentence of the line above.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <regex>

#include "graph.h"
#include "tree.h"

namespace {

using namespace tidy;

const std::string words_file = "tools/tidy/words.txt";

struct Rule {
  std::regex pattern;
  std::string advice;
  // Letters that every match contains: searching for these letters is a hundred times faster than searching for the
  // pattern.
  std::string needed;
};

struct Words {
  std::vector<Rule> rules;
  std::vector<std::string> outside;
};

// The longest run of letters outside of parentheses and brackets; every match of the pattern contains it.
std::string letters_of(const std::string& pattern) {
  std::string longest;
  std::string run;
  int depth = 0;
  for (std::size_t at = 0; at <= pattern.size(); ++at) {
    const char c = at < pattern.size() ? pattern[at] : ' ';
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    const bool is_letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
    if (depth == 0 && is_letter) {
      run += c;
      continue;
    }
    if ((c == '?' || c == '*') && !run.empty()) run.pop_back();
    if (run.size() > longest.size()) longest = run;
    run.clear();
    if (c == '\\') ++at;
  }
  return longest;
}

Words parse_words(const std::vector<std::string>& list) {
  Words words;
  for (const std::string& line : list) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    if (line.starts_with('#') || blank == line.size()) continue;
    const std::string first = line.substr(0, blank);
    const std::string rest = line.substr(blank + 1);
    if (first == "outside") {
      words.outside.push_back(rest);
    } else {
      words.rules.push_back({std::regex(first, std::regex::icase | std::regex::optimize), rest, letters_of(first)});
    }
  }
  return words;
}

// Replaces each quoted text by a single `quote` character, because names of things are not prose.
std::string without_quoted(const std::string& line, char quote) {
  std::string made;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const std::size_t end = line[at] == quote ? line.find(quote, at + 1) : std::string::npos;
    made += line[at];
    if (end != std::string::npos) at = end;
  }
  return made;
}

// The comment of a line of C++, without its slashes; empty if there is no comment.
std::string comment_of(const std::string& line) {
  const std::string code = without_quoted(line, '"');
  const std::size_t at = code.find("//");
  return at == std::string::npos || (at != 0 && code[at - 1] == ':') ? std::string() : code.substr(at + 2);
}

// The string literals of a line of C++, separated by a bar; empty if there are none.
std::string strings_of(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' ');
  if (first == std::string::npos || line.compare(first, 2, "//") == 0) return {};
  std::string made;
  bool is_inside = false;
  for (std::size_t at = first; at < line.size(); ++at) {
    const bool is_quote = line[at] == '"' && !(at != 0 && line[at - 1] == '\'');
    if (!is_inside && line.compare(at, 2, "//") == 0) break;
    if (is_inside && line[at] == '\\') {
      made += ' ';
      ++at;
    } else if (is_quote) {
      is_inside = !is_inside;
      made += '|';
    } else if (is_inside) {
      made += line[at];
    }
  }
  return made;
}

// Whether every line of the file is checked, code and comments alike.
bool is_script(const std::string& file) {
  constexpr std::string_view ends[] = {".py", ".yaml", ".yml", ".cmake", ".js", ".html", "CMakeLists.txt", "Makefile"};
  if (std::ranges::any_of(ends, [&](std::string_view end) { return file.ends_with(end); })) return true;
  return file.starts_with("scripts/") || file == ".ci/run" || file == "bench/lab";
}

std::string wrong_word(const std::string& prose, const Words& words) {
  std::string small = prose;
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Rule& rule : words.rules) {
    if (!small.contains(rule.needed)) continue;
    std::smatch found;
    if (std::regex_search(prose, found, rule.pattern)) return '"' + found.str() + "\": write " + rule.advice;
  }
  return {};
}

bool has_prose(const std::string& file, const Words& words) {
  if (file.find("/testdata/") != std::string::npos || file.starts_with("bench/results/")) return false;
  // Generated pages only repeat texts of the sources.
  if (file == "docs/metrics.md" || file.starts_with("docs/api/")) return false;
  if (!is_source(file) && !is_script(file) && !file.ends_with(".md")) return false;
  return std::ranges::none_of(words.outside, [&](const std::string& folder) { return file.starts_with(folder); });
}

// Whether the comment ends in the middle of a sentence.
bool ends_in_the_middle(const std::string& comment) {
  for (const std::string_view end : {",", " and", " or", " but", " with", " for", " of"}) {
    if (comment.ends_with(end)) return true;
  }
  return false;
}

bool is_beside_code(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first != std::string::npos && !line.substr(first).starts_with("//") && !comment_of(line).empty();
}

bool continues(const std::string& above, const std::string& line) {
  if (!is_beside_code(above) || !is_beside_code(line)) return false;
  const std::string comment = comment_of(line);
  const std::size_t first = comment.find_first_not_of(' ');
  return first != std::string::npos && std::islower(static_cast<unsigned char>(comment[first])) != 0 &&
         ends_in_the_middle(comment_of(above));
}

TEST(Words, are_those_that_are_understood_at_first_reading) {
  const Words words = parse_words(lines(words_file));
  ASSERT_GT(words.rules.size(), 5u);
  for (const std::string& file : files()) {
    if (!has_prose(file, words)) continue;
    std::size_t number = 0;
    bool is_code = false;
    const bool has_strings = is_source(file) && !file.starts_with("tests/") && !file.starts_with("tools/tidy/") &&
                             !is_for_tests(file, includes(file));
    for (const std::string& line : lines(file)) {
      ++number;
      if (line.starts_with("```")) is_code = !is_code;
      const std::string prose = is_source(file)   ? comment_of(line) + (has_strings ? strings_of(line) : std::string())
                                : is_script(file) ? line
                                : is_code         ? std::string()
                                                  : without_quoted(line, '`');
      const std::string problem = prose.empty() ? std::string() : wrong_word(prose, words);
      EXPECT_EQ(problem, "") << file << ':' << number << ": " << words_file;
    }
  }
}

TEST(Words, of_a_comment_do_not_continue_the_line_above) {
  const Words words = parse_words(lines(words_file));
  for (const std::string& file : files()) {
    if (!is_source(file) || !has_prose(file, words)) continue;
    std::string above;
    std::size_t number = 0;
    for (const std::string& line : lines(file)) {
      EXPECT_FALSE(continues(above, line))
          << file << ':' << ++number - 1 << ": each comment must be a complete sentence:\n"
          << above << '\n'
          << line;
      above = line;
    }
  }
}

TEST(Words, that_are_on_the_list_are_found) {
  const Words words = parse_words({"# a comment", "\\bgo(es)?\\son\\b continue", "outside src/keel/data/"});
  EXPECT_EQ(wrong_word("the loop goes on", words), "\"goes on\": write continue");
  EXPECT_EQ(wrong_word("the loop continues", words), "");
  EXPECT_EQ(letters_of("\\btime-outs?\\b"), "time");
  EXPECT_EQ(letters_of("\\bgo(es)?\\son\\b(?!\\s(a|the)\\b)"), "go");
  EXPECT_EQ(letters_of("(^|[.:]\\s)who\\s(is|has)\\b"), "who");
  EXPECT_EQ(comment_of("  int a = 1;  // It goes on."), " It goes on.");
  EXPECT_EQ(comment_of("  log(\"// went by\", \"https://a\");"), "");
  EXPECT_EQ(comment_of("see https://a.example/ here"), "");
  EXPECT_EQ(strings_of("  log(\"it \\\"goes\\\" on\", '\"', \"b\");  // \"no\""), "|it  goes  on||b|");
  EXPECT_EQ(strings_of("  // of \"a\""), "");
  EXPECT_TRUE(has_prose("scripts/fuzz", words) && has_prose("Makefile", words) && has_prose("bench/a.yaml", words));
  EXPECT_FALSE(has_prose("src/keel/data/a.h", words));
  EXPECT_FALSE(has_prose("src/keel/base/testdata/a.h", words));
  EXPECT_TRUE(has_prose("src/keel/base/a.h", words) && has_prose("README.md", words));
}

TEST(Words, that_continue_a_sentence_are_found) {
  EXPECT_TRUE(continues("  int a = 0;  // How many there are, and", "  int b = 0;  // how many of them are open."));
  EXPECT_TRUE(continues("  int a = 0;  // Where it began,", "  int b = 0;  // and where it ended."));
  EXPECT_FALSE(continues("  int a = 0;  // Where it began.", "  int b = 0;  // Where it ended."));
  EXPECT_FALSE(continues("  int a = 0;  // bytes", "  int b = 0;  // seconds")) << "a word or two is no sentence";
  EXPECT_FALSE(continues("  // A sentence of two lines,", "  // which is right here."));
}

}  // namespace
