#include "dev/project.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "dev/watcher.h"
#include "keel/db/testing/folder.h"

namespace keel::dev::project_test {
namespace {

class ProjectTest : public ::testing::Test {
 protected:
  ProjectTest() { folder_.write("CMakeLists.txt", ""); }
  Result<Project> read(const std::string& preset = "", const std::string& target = "") const {
    return Project::read(folder_.path(), preset, target);
  }
  void answer(const std::string& targets) const {
    std::filesystem::create_directories(folder_ / "build/dev/.cmake/api/v1/reply");
    folder_.write("build/dev/CMakeCache.txt", "");
    folder_.write("build/dev/.cmake/api/v1/reply/codemodel-v2-1.json",
                  R"({"kind":"codemodel","configurations":[{"name":"Debug","projects":[{}],"targets":[)" + targets +
                      R"(]}],"paths":{"build":"b","source":"s"},"version":{"major":2,"minor":4}})");
    folder_.write("build/dev/.cmake/api/v1/reply/shop.json",
                  R"({"artifacts":[{"path":"bin/shop"}],"name":"shop","type":"EXECUTABLE"})");
    folder_.write("build/dev/.cmake/api/v1/reply/lib.json", R"({"name":"lib","type":"INTERFACE_LIBRARY"})");
  }

  db::testing::Folder folder_;
};

TEST_F(ProjectTest, is_what_keel_yaml_says) {
  folder_.write("keel.yaml", "dev:\n  target: shop\n  arguments: [--config, service.yaml]\n");

  const Project project = read().value();
  EXPECT_EQ(project.settings().target, "shop");
  EXPECT_EQ(project.settings().arguments, (std::vector<std::string>{"--config", "service.yaml"}));
  EXPECT_EQ(project.build(), "build/dev");
  EXPECT_EQ(read("release", "other")->settings().target, "other");
  EXPECT_EQ(read("release", "other")->build(), "build/release");
}

TEST_F(ProjectTest, says_what_is_missing) {
  const auto problem = [&] { return read().error().describe(); };
  EXPECT_NE(problem().find("target: NAME"), std::string::npos) << problem();
  folder_.write("keel.yaml", "dev:\n  tarket: shop\n");
  EXPECT_NE(problem().find("keel.yaml:2: dev.tarket: unknown key; did you mean dev.target?"), std::string::npos)
      << problem();
  std::filesystem::remove(folder_ / "CMakeLists.txt");
  folder_.write("keel.yaml", "dev:\n  target: shop\n");
  EXPECT_NE(problem().find("has no CMakeLists.txt"), std::string::npos) << problem();
}

TEST_F(ProjectTest, ignores_its_build_folder_whatever_its_name) {
  const auto ignores = [&](const std::string& build, const std::string& path) {
    folder_.write("keel.yaml", "dev:\n  target: shop\n  build: \"" + build + "\"\n");
    return Ignored(read()->ignored()).matches(path);
  };
  EXPECT_TRUE(ignores("out/dev", "out/dev"));
  EXPECT_FALSE(ignores("out/dev", "out"));
  EXPECT_FALSE(ignores("out/dev", "dev"));
  EXPECT_FALSE(ignores("out/dev", "src/out/dev"));
  EXPECT_TRUE(ignores("./cmake-build-debug/", "cmake-build-debug"));
  EXPECT_TRUE(ignores("out[1]", "out[1]"));
  EXPECT_FALSE(ignores("out[1]", "out1"));
  EXPECT_TRUE(ignores("out", "build-release"));
  EXPECT_FALSE(ignores("out", "src/build-notes.cc"));
  folder_.write("keel.yaml", "dev:\n  target: shop\n  build: /tmp/shop\n");
  EXPECT_NE(read().error().describe().find("dev.build: /tmp/shop: expected a folder relative to "), std::string::npos);
}

TEST_F(ProjectTest, starts_again_for_what_its_program_reads) {
  folder_.write("keel.yaml", "dev:\n  target: shop\n");
  const Project project = read().value();

  EXPECT_TRUE(project.restarts_on("service.yaml"));
  EXPECT_TRUE(project.restarts_on("db/migrations/0002_more.sql"));
  EXPECT_FALSE(project.restarts_on("src/notes.cc"));
}

TEST_F(ProjectTest, is_configured_when_it_never_was_and_when_its_presets_change) {
  folder_.write("keel.yaml", "dev:\n  target: shop\n");
  const Project project = read().value();
  EXPECT_TRUE(project.has_to_configure("src/notes.cc"));

  answer(R"({"name":"shop","jsonFile":"shop.json"})");

  EXPECT_FALSE(project.has_to_configure("src/notes.cc"));
  EXPECT_FALSE(project.has_to_configure("CMakeLists.txt")) << "the build does that itself";
  EXPECT_TRUE(project.has_to_configure("CMakePresets.json"));
}

TEST_F(ProjectTest, is_built_by_its_preset_where_it_has_presets) {
  folder_.write("keel.yaml", "dev:\n  target: shop\n");
  const auto words = [](const BuildStep& step) {
    std::string text;
    for (const std::string& word : step.words) text += (text.empty() ? "" : " ") + word;
    return text;
  };
  const Project project = read().value();

  EXPECT_EQ(words(project.steps(true).front()), "cmake -S . -B build/dev -DCMAKE_BUILD_TYPE=Debug");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "build/dev/.cmake/api/v1/query/client-keel/codemodel-v2"));
  folder_.write("CMakePresets.json", "{}");
  EXPECT_EQ(words(project.steps(true).front()), "cmake -S . -B build/dev --preset dev");
  ASSERT_EQ(project.steps(false).size(), 1u);
  EXPECT_TRUE(words(project.steps(false).front()).starts_with("cmake --build build/dev --target shop --parallel "));
}

TEST_F(ProjectTest, knows_where_its_program_is_from_cmake) {
  folder_.write("keel.yaml", "dev:\n  target: shop\n");
  EXPECT_FALSE(read()->program());

  answer(R"({"name":"lib","jsonFile":"lib.json"},{"name":"shop","jsonFile":"shop.json"})");

  EXPECT_EQ(read()->program().value(), folder_ / "build/dev/bin/shop");
  EXPECT_EQ(read("", "lib")->program().error().describe(), "the project has no program lib; it has shop");
}

}  // namespace
}  // namespace keel::dev::project_test
