// Checks docs/architecture.md: each step names an existing function and file, each term of the glossary occurs in the
// header that its row names, and the picture of the layers agrees with layers.txt.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "graph.h"
#include "markdown.h"
#include "tree.h"

namespace {

using namespace tidy;

constexpr const char* walk = "docs/architecture.md";

std::string only_quoted(const std::string& cell) {
  const std::vector<std::string> found = between_quotes(cell);
  return found.size() == 1 ? found.front() : std::string();
}

bool declares_class(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string_view::npos; at += name.size()) {
    const std::size_t line = text.rfind('\n', at) + 1;
    const std::string_view before = text.substr(line, at - line);
    const bool is_end =
        at + name.size() < text.size() && !std::isalnum(static_cast<unsigned char>(text[at + name.size()]));
    if (is_end && (before.contains("class ") || before.contains("struct "))) return true;
  }
  return false;
}

// Whether the text defines `Class::function` outside of its class, or contains `function` within the class; for a
// `function` without a class, whether the text contains `function` after a type.
bool has_function(const std::string& text, const std::string& name) {
  const std::size_t colons = name.rfind("::");
  if (colons == std::string::npos) return text.contains(' ' + name + '(');
  const std::size_t outer = colons == 0 ? colons : name.rfind("::", colons - 1);
  const std::string last_two = outer == std::string::npos ? name : name.substr(outer + 2);
  if (text.contains(last_two + '(')) return true;
  const std::string owner = last_two.substr(0, last_two.find("::"));
  return declares_class(text, owner) && text.contains(' ' + name.substr(colons + 2) + '(');
}

std::string without_blanks(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c != ' ' && c != '-') made += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return made;
}

// Returns what is wrong with a row in a table of steps; empty if nothing is.
std::string wrong_step(const std::vector<std::string>& row) {
  if (row.size() != 3) return "the row of a step needs three cells: what happens, a function and a file";
  const std::string function = only_quoted(row[1]);
  const std::string file = "src/keel/" + only_quoted(row[2]);
  if (function.empty() || file.ends_with('/'))
    return "a step must name one function and one file, unlike `" + row[0] + "`";
  if (!exists(file)) return "no file " + file;
  return has_function(read(file), function) ? std::string() : "no " + function + "() in " + file;
}

std::string wrong_word(const std::vector<std::string>& row) {
  if (row.size() != 3) return "the row of a word needs three cells: the word, its meaning and its header";
  const std::string header = "src/keel/" + only_quoted(row[2]);
  if (!header.ends_with(".h") || !exists(header)) return "no header " + header;
  return without_blanks(read(header)).contains(without_blanks(row[0])) ? std::string()
                                                                       : header + " does not contain " + row[0];
}

// The modules that are drawn in the first text block after the heading, line by line.
std::vector<std::vector<std::string>> picture(const std::vector<std::string>& page, const std::string& heading) {
  std::vector<std::vector<std::string>> found;
  auto line = std::find(std::ranges::find(page, heading), page.end(), "```text");
  if (line == page.end()) return found;
  for (++line; line != page.end() && *line != "```"; ++line) {
    std::istringstream words(*line);
    found.emplace_back();
    for (std::string word; words >> word;) found.back().push_back(word);
  }
  return found;
}

// The modules of `layers` that the picture does not contain, or that it does not draw below the modules that use them.
std::vector<std::string> wrong_layers(const std::vector<std::vector<std::string>>& drawn, const Graph& layers) {
  std::vector<std::string> wrong;
  const auto level = [&](const std::string& module) {
    return std::ranges::find_if(drawn, [&](const auto& line) { return std::ranges::find(line, module) != line.end(); });
  };
  for (const auto& [name, module] : layers) {
    // The picture omits the header that includes all other headers, and modules for tests.
    if (name == "http" || name.ends_with("testing")) continue;
    if (level(name) == drawn.end()) {
      wrong.push_back(name + " must be drawn");
      continue;
    }
    for (const std::string& used : module.uses) {
      if (used == "http" || level(used) == drawn.end()) continue;
      if (level(used) <= level(name)) wrong.push_back(used + " must be drawn below " + name);
    }
  }
  return wrong;
}

TEST(Architecture, names_a_function_and_a_file_that_exist_for_each_step) {
  const auto steps = table_rows(lines(walk), "file");
  for (const auto& row : steps) EXPECT_EQ(wrong_step(row), "");
  EXPECT_GT(steps.size(), 40u);
}

TEST(Architecture, has_a_glossary_whose_words_are_in_their_headers) {
  const auto words = table_rows(lines(walk), "header");
  for (const auto& row : words) EXPECT_EQ(wrong_word(row), "");
  EXPECT_GT(words.size(), 25u);
  EXPECT_TRUE(std::ranges::is_sorted(words, {}, [](const auto& row) { return without_blanks(row[0]); }));
}

TEST(Architecture, draws_each_module_above_those_that_it_uses) {
  std::vector<std::string> problems;
  const Graph layers = parse_layers(lines("layers.txt"), problems);
  EXPECT_EQ(wrong_layers(picture(lines(walk), "## Layers"), layers), std::vector<std::string>());
}

TEST(Architecture, steps_that_are_not_true_are_found) {
  EXPECT_EQ(wrong_step({"A step.", "`Loop::run`", "`io/loop.cc`"}), "");
  EXPECT_EQ(wrong_step({"A step.", "`Loop::walk`", "`io/loop.cc`"}), "no Loop::walk() in src/keel/io/loop.cc");
  EXPECT_EQ(wrong_step({"A step.", "`Loop::run`", "`io/loops.cc`"}), "no file src/keel/io/loops.cc");
  EXPECT_EQ(wrong_step({"A step.", "Loop::run", "`io/loop.cc`"}),
            "a step must name one function and one file, unlike `A step.`");
  EXPECT_EQ(wrong_word({"Pending exchange", "…", "`io/loop.h`"}),
            "src/keel/io/loop.h does not contain Pending exchange");
  EXPECT_TRUE(has_function("class Call {\n  bool start() {\n", "Call::start"));
  EXPECT_FALSE(has_function("class Caller {\n  bool start() {\n", "Call::start"));
  EXPECT_TRUE(has_function("struct Watch::State {\n  void look();\n", "Watch::State::look"));
}

TEST(Architecture, layers_that_are_drawn_wrongly_are_found) {
  std::vector<std::string> problems;
  const Graph layers = parse_layers({"base:", "io: base", "app: io base"}, problems);
  EXPECT_EQ(wrong_layers({{"app"}, {"io"}, {"base"}}, layers), std::vector<std::string>());
  EXPECT_EQ(wrong_layers({{"app", "io"}, {"base"}}, layers), std::vector<std::string>{"io must be drawn below app"});
  EXPECT_EQ(wrong_layers({{"app"}, {"base"}}, layers), std::vector<std::string>{"io must be drawn"});
}

}  // namespace
