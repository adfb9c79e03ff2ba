// Checks which modules use which other modules (layers.txt), and that the build and the tests leave out no file.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph.h"
#include "tree.h"

namespace {

using namespace tidy;

const Graph& layers() {
  static const Graph graph = [] {
    std::vector<std::string> problems;
    Graph parsed = parse_layers(lines("layers.txt"), problems);
    for (const std::string& problem : problems) ADD_FAILURE() << "layers.txt: " << problem;
    return parsed;
  }();
  return graph;
}

std::vector<Command> commands_below(const std::string& top) {
  std::vector<Command> all;
  for (const std::string& file : files()) {
    if (!file.starts_with(top) || !file.ends_with("CMakeLists.txt")) continue;
    const std::vector<Command> some = parse_commands(lines(file));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

TEST(Layers, is_the_graph_that_cmake_links) {
  const Graph cmake = linked(commands_below("src/keel/"));

  for (const auto& [module, uses] : layers()) {
    EXPECT_TRUE(cmake.contains(module)) << module << " is in layers.txt, but no keel_module() makes it";
  }
  for (const auto& [module, uses] : cmake) {
    EXPECT_TRUE(layers().contains(module))
        << "keel_module() of " << module << ": the module needs a line in layers.txt";
  }
  for (const std::string& edge : edges_beyond(cmake, layers(), "according to CMake, but not to layers.txt")) {
    ADD_FAILURE() << edge;
  }
  for (const std::string& edge : edges_beyond(layers(), cmake, "according to layers.txt, but not to CMake")) {
    ADD_FAILURE() << edge;
  }
}

TEST(Layers, has_no_circle) { EXPECT_EQ(find_circle(layers()), ""); }

TEST(Layers, is_what_files_include) {
  Graph tests_use;
  for (const std::string& file : files()) {
    const std::string module = is_source(file) && file.starts_with("src/keel/") ? module_of(file, layers()) : "";
    if (module.empty()) continue;
    ASSERT_TRUE(layers().contains(module)) << file << ": the module " << module << " has no line in layers.txt";
    const std::vector<Include> included = includes(file);
    const bool is_test = is_for_tests(file, included);
    const Module& allowed = layers().at(module);
    for (const Include& include : included) {
      const std::string other = module_of(include.path, layers());
      if (other.empty() || other == module || allowed.uses.contains(other)) continue;
      EXPECT_TRUE(is_test && allowed.tests_use.contains(other))
          << file << ':' << include.line << ": " << module << (is_test ? " tests" : "") << " may not use " << other;
      tests_use[module].uses.insert(other);
    }
  }
  for (const auto& [module, allowed] : layers()) {
    for (const std::string& other : allowed.tests_use) {
      EXPECT_TRUE(tests_use[module].uses.contains(other))
          << "layers.txt: " << module << " tests: " << other << ", which no test of the module includes";
    }
  }
}

TEST(Layers, no_header_includes_itself_through_others) {
  Graph headers;
  for (const std::string& file : files()) {
    if (!file.starts_with("src/") || !file.ends_with(".h")) continue;
    for (const Include& include : includes(file)) headers[file.substr(4)].uses.insert(include.path);
  }
  EXPECT_EQ(find_circle(headers), "");
}

// Tests of the messages that the checks of this file give for wrong layers.

Graph parsed(const std::vector<std::string>& text) {
  std::vector<std::string> problems;
  Graph graph = parse_layers(text, problems);
  EXPECT_EQ(problems, std::vector<std::string>());
  return graph;
}

TEST(Layers, a_line_that_says_nothing_is_a_problem) {
  const auto problems_of = [](const std::vector<std::string>& text) {
    std::vector<std::string> problems;
    parse_layers(text, problems);
    return problems;
  };
  using Problems = std::vector<std::string>;

  EXPECT_EQ(problems_of({"# a comment", "", "base:", "io: base"}), Problems());
  EXPECT_EQ(problems_of({"base"}), Problems{"a line must begin with `module:` or `module tests:`: base"});
  EXPECT_EQ(problems_of({"base test: io"}),
            Problems{"a line must begin with `module:` or `module tests:`: base test: io"});
  EXPECT_EQ(problems_of({"base:", "base:"}), Problems{"twice: base"});
  EXPECT_EQ(problems_of({"io: base"}), Problems{"io uses base, which has no line"});
  EXPECT_EQ(problems_of({"io: io"}), Problems{"io uses itself"});
  EXPECT_EQ(problems_of({"base:", "io tests: base"}), Problems{"io has a line for its tests, but no line of its own"});
  EXPECT_EQ(problems_of({"base:", "io: base", "io tests: base"}),
            Problems{"io itself uses base, so the line of its tests must not list it"});
}

TEST(Layers, a_circle_is_found) {
  EXPECT_EQ(find_circle(parsed({"a:", "b: a", "c: a b"})), "");
  EXPECT_EQ(find_circle(parsed({"a: b", "b: a"})), "a -> b -> a");
  EXPECT_EQ(find_circle(parsed({"a: b", "b: c", "c: d", "d: b"})), "b -> c -> d -> b");
  EXPECT_EQ(find_circle(parsed({"a:", "a/testing: a", "a tests: a/testing"})), "") << "tests are in no library";
}

TEST(Layers, the_longest_name_has_the_file) {
  const Graph graph = parsed({"http: http/message", "http/message:", "http/testing: http"});

  EXPECT_EQ(module_of("src/keel/http/message/internal/chunk.h", graph), "http/message");
  EXPECT_EQ(module_of("keel/http/testing/test_server.h", graph), "http/testing");
  EXPECT_EQ(module_of("src/keel/http/server/router.cc", graph), "http") << "no module of its own";
  EXPECT_EQ(module_of("keel/http.h", graph), "http");
  EXPECT_EQ(module_of("keel/other/file.h", graph), "other");
  EXPECT_EQ(module_of("src/keel/CMakeLists.txt", graph), "");
  EXPECT_EQ(module_of("vector", graph), "");
}

TEST(Layers, cmake_is_compared_both_ways) {
  const Graph cmake = linked(parse_commands({
      "keel_module(base DEPENDS Threads::Threads SOURCES a.cc)  # keel::task",
      "keel_module(http_message",
      "  DEPENDS keel::base",
      "  SOURCES a.cc b.cc)",
      "target_link_libraries(keel_http_message PRIVATE keel::io \"quoted words\" $<$<BOOL:${X}>:y>)",
      "target_link_libraries(a_test PRIVATE keel::data)",
  }));
  const Graph text = parsed({"base:", "data:", "http/message: base data"});

  EXPECT_EQ(edges_beyond(cmake, text, "CMake says"), std::vector<std::string>{"http/message uses io, CMake says"});
  EXPECT_EQ(edges_beyond(text, cmake, "the text says"),
            std::vector<std::string>{"http/message uses data, the text says"});
}

TEST(Layers, tests_are_known_by_name_or_by_what_they_include) {
  EXPECT_TRUE(is_for_tests("src/keel/io/loop_test.cc", {}));
  EXPECT_TRUE(is_for_tests("src/keel/io/internal/loop_bench.h", {}));
  EXPECT_TRUE(is_for_tests("src/keel/io/fixture.h", {{1, "gtest/gtest.h"}}));
  EXPECT_FALSE(is_for_tests("src/keel/io/loop.cc", {{1, "keel/io/loop.h"}}));
}

// Tests and modules of test helpers may include the internals of every module in their own first folder, such as http.
TEST(Layers, nobody_includes_the_internals_of_another_module) {
  const auto family = [](const std::string& module) { return module.substr(0, module.find('/')); };
  for (const std::string& file : files()) {
    if (!is_source(file)) continue;
    const std::string module = module_of(file, layers());
    const std::vector<Include> included = includes(file);
    const bool is_test = module.ends_with("/testing") || is_for_tests(file, included);
    for (const Include& include : included) {
      if (!include.path.starts_with("keel/") || include.path.find("/internal/") == std::string::npos) continue;
      const std::string other = module_of(include.path, layers());
      EXPECT_TRUE(module == other || (is_test && family(module) == family(other)))
          << file << ':' << include.line << ": " << include.path;
    }
  }
}

TEST(Layers, every_source_is_built) {
  for (const std::string& file : files()) {
    if (!file.ends_with(".cc") && !file.ends_with(".c")) continue;
    std::string list = folder(file);
    while (!list.empty() && !exists(list + "/CMakeLists.txt")) list = folder(list);
    ASSERT_FALSE(list.empty()) << file << " needs a CMakeLists.txt in its folder or above";
    const std::string name = file.substr(list.size() + 1);
    const auto commands = parse_commands(lines(list + "/CMakeLists.txt"));
    const bool is_built = std::any_of(commands.begin(), commands.end(), [&](const Command& command) {
      return std::any_of(command.arguments.begin(), command.arguments.end(),
                         [&](const std::string& word) { return word == name || word.ends_with("/" + name); });
    });
    EXPECT_TRUE(is_built) << file << " is in no target: name it in " << list << "/CMakeLists.txt or delete it";
  }
}

TEST(Layers, every_source_has_a_test_beside_it) {
  std::set<std::string> untested;
  for (const Entry& entry : entries("tools/tidy/untested.txt")) {
    EXPECT_FALSE(entry.text.empty()) << "untested.txt: say why " << entry.path << " has no test beside it";
    EXPECT_TRUE(exists(entry.path)) << "untested.txt names " << entry.path << ", which does not exist";
    EXPECT_FALSE(exists(stem(entry.path) + "_test.cc")) << "untested.txt names " << entry.path << ", which has a test";
    untested.insert(entry.path);
  }

  for (const std::string& file : files()) {
    if (!file.starts_with("src/keel/") || !file.ends_with(".cc")) continue;
    const std::string noun = stem(file);
    const auto kinds = {"_test", "_bench", "_fuzz", "_must_not_compile"};
    if (std::any_of(kinds.begin(), kinds.end(), [&](const char* kind) { return noun.ends_with(kind); })) continue;
    if (exists(noun + "_test.cc") || untested.contains(file)) continue;
    ADD_FAILURE() << file << ": write " << noun << "_test.cc, or say in tools/tidy/untested.txt where it is tested";
  }
}

}  // namespace
