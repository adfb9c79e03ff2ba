// Limits the size of files and folders: a file or folder that is larger usually contains a second concept.

#include <gtest/gtest.h>

#include <map>

#include "graph.h"
#include "tree.h"

namespace {

using namespace tidy;

constexpr std::size_t source_lines_max = 650;
constexpr std::size_t test_lines_max = 1000;
constexpr std::size_t folder_files_max = 60;  // The files of tests, benchmarks and fuzzers are not counted.

bool is_of_tests(const std::string& path) { return path.starts_with("tests/") || is_for_tests(path, includes(path)); }

// The message for a file that is too long; empty if its length is allowed.
std::string too_long(const std::string& path, bool is_test, std::size_t count) {
  const std::size_t most = is_test ? test_lines_max : source_lines_max;
  if (count <= most) return {};
  return path + " has " + std::to_string(count) + " lines; at most " + std::to_string(most) + " are allowed: split it";
}

std::vector<std::string> too_many(const std::map<std::string, std::size_t>& folders) {
  std::vector<std::string> found;
  for (const auto& [folder, count] : folders) {
    if (count <= folder_files_max) continue;
    found.push_back(folder + " has " + std::to_string(count) + " files; at most " + std::to_string(folder_files_max) +
                    " are allowed: move files that belong together into folders");
  }
  return found;
}

TEST(Sizes, no_file_is_too_long) {
  for (const std::string& file : files()) {
    if (!is_source(file)) continue;
    EXPECT_EQ(too_long(file, is_of_tests(file), lines(file).size()), "");
  }
}

// The parts of an App register themselves, so that app.cc only puts the parts in order.
TEST(Sizes, the_app_is_below_400_lines) { EXPECT_LT(lines("src/keel/app/app.cc").size(), 400u); }

TEST(Sizes, no_folder_has_too_many_files) {
  std::map<std::string, std::size_t> folders;
  for (const std::string& file : files()) {
    if (is_source(file) && !is_of_tests(file)) ++folders[folder(file)];
  }
  EXPECT_EQ(too_many(folders), std::vector<std::string>());
}

TEST(Sizes, what_is_too_large_is_said) {
  EXPECT_EQ(too_long("a.cc", false, 650), "");
  EXPECT_EQ(too_long("a.cc", false, 651), "a.cc has 651 lines; at most 650 are allowed: split it");
  EXPECT_EQ(too_long("a_test.cc", true, 1000), "");
  EXPECT_EQ(too_long("a_test.cc", true, 1001), "a_test.cc has 1001 lines; at most 1000 are allowed: split it");
  EXPECT_EQ(
      too_many({{"a", 60}, {"b", 61}}),
      std::vector<std::string>{"b has 61 files; at most 60 are allowed: move files that belong together into folders"});
}

}  // namespace
