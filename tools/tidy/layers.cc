// What may use what (layers.txt), and that no file is forgotten by the build or by the tests.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "tree.h"

namespace {

using namespace tidy;

// Rank by module; lower is lower.
std::map<std::string, int> ranks() {
  std::map<std::string, int> found;
  for (const Entry& entry : entries("layers.txt")) found.emplace(entry.path, static_cast<int>(found.size()));
  return found;
}

// "http" of "src/keel/http/router.h" and of "keel/http/router.h"; empty for other paths.
std::string module_of(std::string_view path) {
  if (path.starts_with("src/")) path.remove_prefix(4);
  if (!path.starts_with("keel/")) return {};
  path.remove_prefix(5);
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash));
}

// The arguments of the commands of a CMakeLists.txt, without comments.
std::vector<std::string> words(const std::string& path) {
  std::vector<std::string> found;
  for (std::string line : lines(path)) {
    line.resize(std::min(line.find('#'), line.size()));
    std::replace_if(line.begin(), line.end(), [](char c) { return c == '(' || c == ')' || c == '"'; }, ' ');
    std::istringstream split(line);
    for (std::string word; split >> word;) found.push_back(word);
  }
  return found;
}

// What counts allocations is compiled into a test or benchmark, and belongs to no module.
bool belongs_to_nobody(const Include& include) { return include.path.ends_with("/allocation_count.h"); }

TEST(Layers, every_module_is_listed) {
  const auto rank = ranks();

  for (const std::string& file : files()) {
    if (!file.starts_with("src/keel/") || module_of(file).empty()) continue;
    EXPECT_TRUE(rank.contains(module_of(file))) << file << ": the module is not in layers.txt";
  }
}

TEST(Layers, no_module_includes_a_higher_one) {
  const auto rank = ranks();

  for (const std::string& file : files()) {
    const std::string module = is_source(file) && file.starts_with("src/") ? module_of(file) : "";
    if (module.empty() || !rank.contains(module)) continue;
    for (const Include& include : includes(file)) {
      const std::string other = module_of(include.path);
      if (other.empty() || belongs_to_nobody(include)) continue;
      ASSERT_TRUE(rank.contains(other)) << file << ':' << include.line << ": no module `" << other << "` in layers.txt";
      EXPECT_LE(rank.at(other), rank.at(module))
          << file << ':' << include.line << ": " << module << " may not use " << other << ", which is above it";
    }
  }
}

TEST(Layers, no_module_links_a_higher_one) {
  const auto rank = ranks();

  for (const auto& [module, own_rank] : rank) {
    const std::string list = "src/keel/" + module + "/CMakeLists.txt";
    if (!exists(list)) continue;
    const auto all = words(list);
    auto at = std::find(all.begin(), all.end(), "DEPENDS");
    if (at == all.end()) continue;
    for (++at; at != all.end() && *at != "SOURCES"; ++at) {
      if (!at->starts_with("keel::")) continue;
      std::string other = at->substr(6);
      if (const std::size_t what = other.rfind("_testing"); what != std::string::npos) other.resize(what);
      ASSERT_TRUE(rank.contains(other)) << list << ": no module `" << other << "` in layers.txt";
      EXPECT_LT(rank.at(other), own_rank) << list << ": " << module << " may not depend on " << other;
    }
  }
}

TEST(Layers, nobody_includes_the_internals_of_another_module) {
  for (const std::string& file : files()) {
    if (!is_source(file)) continue;
    for (const Include& include : includes(file)) {
      if (!include.path.starts_with("keel/") || include.path.find("/internal/") == std::string::npos) continue;
      if (belongs_to_nobody(include)) continue;
      EXPECT_EQ(module_of(file), module_of(include.path)) << file << ':' << include.line << ": " << include.path;
    }
  }
}

TEST(Layers, every_source_is_built) {
  for (const std::string& file : files()) {
    if (!file.ends_with(".cc") && !file.ends_with(".c")) continue;
    std::string list = folder(file);
    while (!list.empty() && !exists(list + "/CMakeLists.txt")) list = folder(list);
    ASSERT_FALSE(list.empty()) << file << " is below no CMakeLists.txt";
    const auto all = words(list + "/CMakeLists.txt");
    const bool is_built = std::any_of(all.begin(), all.end(), [&](const std::string& word) {
      return word == file.substr(list.size() + 1) || word.ends_with("/" + file.substr(list.size() + 1));
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
