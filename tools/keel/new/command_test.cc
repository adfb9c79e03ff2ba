// The program as its users meet it, and what is in it. What it writes is built and run by tests/consume.

#include "new/command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "keel/db/testing/folder.h"
#include "new/files.h"
#include "new/names.h"
#include "testing.h"

namespace keel::create::new_command_test {
namespace {

namespace fs = std::filesystem;

using testing::Ran;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class NewCommand : public ::testing::Test {
 protected:
  Ran run(const std::string& arguments) {
    return testing::run("cd " + folder_.path() + " && " KEEL_PROGRAM " new " + arguments);
  }
  std::set<std::string> files(const std::string& name) const {
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / name)) {
      if (entry.is_regular_file()) found.insert(entry.path().lexically_relative(folder_ / name).string());
    }
    return found;
  }

  db::testing::Folder folder_;
};

TEST_F(NewCommand, writes_a_whole_service_in_which_nothing_has_the_templates_name) {
  const Ran ran = run("tea_shop");

  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_NE(ran.out.find("cd tea_shop && keel dev"), std::string::npos) << ran.out;
  EXPECT_EQ(
      files("tea_shop"),
      (std::set<std::string>{".clang-format", ".gitignore", "CMakeLists.txt", "CMakePresets.json", "Containerfile",
                             "README.md", "db/migrations/0001_notes.sql", "deploy/rootfs", "deploy/service.yaml",
                             "deploy/tea_shop.service", "keel.yaml", "service.yaml", "src/main.cc", "src/notes.cc",
                             "src/notes.h", "src/service.h", "tests/notes_test.cc"}));
  for (const std::string& file : files("tea_shop")) {
    const std::string text = read(folder_ / "tea_shop/" + file);
    EXPECT_EQ(text.find("service_name"), std::string::npos) << file;
    EXPECT_EQ(text.find("ServiceName"), std::string::npos) << file;
    EXPECT_TRUE(text.ends_with('\n') && !text.ends_with("\n\n")) << file;
  }
  EXPECT_EQ(read(folder_ / "tea_shop/src/main.cc"),
            "#include \"service.h\"\n\nint main(int argc, char** argv) { return keel::app::run<TeaShop>({\"tea_shop\", "
            "VERSION}, "
            "argc, argv); }\n");
  EXPECT_NE(read(folder_ / "tea_shop/tests/notes_test.cc").find("app::TestApp<::TeaShop>"), std::string::npos)
      << "a Timer of the service is not keel::Timer";
}

TEST_F(NewCommand, begins_with_a_contract_when_it_is_asked_for_one) {
  const Ran ran = run("--contract tea_shop");

  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_TRUE(files("tea_shop").contains("api.yaml"));
  EXPECT_EQ(files("tea_shop").size(), 18u);
  EXPECT_NE(read(folder_ / "tea_shop/CMakeLists.txt").find("keel_api(tea_shop_service api.yaml)"), std::string::npos);
  EXPECT_NE(read(folder_ / "tea_shop/src/notes.h").find("api::NotesHandler"), std::string::npos);
  for (const std::string& file : files("tea_shop")) {
    const std::string text = read(folder_ / "tea_shop/" + file);
    EXPECT_EQ(text.find("service_name"), std::string::npos) << file;
    EXPECT_EQ(text.find("ServiceName"), std::string::npos) << file;
  }
}

TEST_F(NewCommand, has_every_file_of_the_template_byte_for_byte) {
  std::size_t count = 0;
  const fs::path top = KEEL_NEW_TEMPLATE;
  for (const auto& entry : fs::recursive_directory_iterator(top)) {
    if (!entry.is_regular_file()) continue;
    ++count;
    std::string path = entry.path().lexically_relative(top).string();
    if (path.starts_with("dot_")) path = "." + path.substr(4);
    const auto all = create::files();
    const auto file = std::ranges::find(all, path, &File::path);
    ASSERT_NE(file, all.end()) << path;
    EXPECT_TRUE(file->text == read(entry.path().string())) << path;
  }
  EXPECT_EQ(create::files().size(), count);
}

TEST_F(NewCommand, writes_the_unit_of_the_example_which_is_hardened) {
  run("shop");
  std::string example = read(KEEL_NEW_EXAMPLE_UNIT);
  for (std::size_t at; (at = example.find("fullstack")) != std::string::npos;) example.replace(at, 9, "shop");
  const std::string title = "Description=Keel's full-stack example";
  ASSERT_NE(example.find(title), std::string::npos);
  example.replace(example.find(title), title.size(), "Description=shop");

  EXPECT_EQ(read(folder_ / "shop/deploy/shop.service"), example);
}

TEST_F(NewCommand, writes_elsewhere_when_it_is_told_to) {
  EXPECT_EQ(run("shop --dir services").code, 0);
  EXPECT_TRUE(fs::exists(folder_ / "services/CMakeLists.txt"));
  EXPECT_FALSE(fs::exists(folder_ / "shop"));
}

TEST_F(NewCommand, never_writes_over_a_folder) {
  fs::create_directory(folder_ / "shop");

  const Ran ran = run("shop");

  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out,
            "keel new: shop already exists: nothing was written; choose another name, or another folder with "
            "--dir\n");
  EXPECT_TRUE(fs::is_empty(folder_ / "shop"));
}

TEST_F(NewCommand, says_what_is_wrong_with_its_use) {
  const auto expect = [&](const std::string& arguments, const std::string& line) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_TRUE(ran.out.starts_with("keel new: " + line)) << ran.out;
  };
  expect("", "expected: keel new NAME");
  expect("Tea-Shop", "Tea-Shop: a name must consist of lowercase letters");
  expect("shop other", "other: unexpected argument: NAME is already given");
  expect("shop --into x", "--into: there is no such option");
  expect("shop --dir", "--dir: needs a folder");
  EXPECT_TRUE(fs::is_empty(folder_.path()));
  EXPECT_EQ(run("--help").code, 0);
}

}  // namespace
}  // namespace keel::create::new_command_test
