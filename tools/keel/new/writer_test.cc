#include "new/writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "keel/db/testing/folder.h"

namespace keel::create::writer_test {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class WriterTest : public ::testing::Test {
 protected:
  db::testing::Folder folder_;
  Names names_ = Names::of("tea_shop").value();
};

TEST_F(WriterTest, writes_every_file_under_the_services_name) {
  const File two[] = {{"README.md", "# service_name\n"}, {"src/deep/service_name.h", "class ServiceName;\n"}};

  EXPECT_EQ(write_service(two, names_, folder_ / "shop").value(), 2u);

  EXPECT_EQ(read(folder_ / "shop/README.md"), "# tea_shop\n");
  EXPECT_EQ(read(folder_ / "shop/src/deep/tea_shop.h"), "class TeaShop;\n");
}

TEST_F(WriterTest, lets_scripts_be_executed) {
  const File two[] = {{"script", "#!/bin/sh\n"}, {"text", "text\n"}};

  ASSERT_TRUE(write_service(two, names_, folder_ / "shop"));

  const auto may_run = [&](const char* name) {
    return (std::filesystem::status(folder_ / name).permissions() & std::filesystem::perms::owner_exec) !=
           std::filesystem::perms::none;
  };
  EXPECT_TRUE(may_run("shop/script"));
  EXPECT_FALSE(may_run("shop/text"));
}

TEST_F(WriterTest, touches_nothing_that_is_there) {
  folder_.write("file", "mine");
  std::filesystem::create_directory(folder_ / "empty");
  std::filesystem::create_symlink("nowhere", folder_ / "link");
  const File one[] = {{"README.md", "text"}};

  for (const char* name : {"file", "empty", "link"}) {
    const auto written = write_service(one, names_, folder_ / name);
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().code(), Code::AlreadyExists);
  }

  EXPECT_EQ(read(folder_ / "file"), "mine");
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "empty"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "nowhere"));
}

TEST_F(WriterTest, removes_what_it_has_written_when_it_cannot_write_all) {
  const File clash[] = {{"src", "a file"}, {"src/notes.cc", "below it"}};

  const auto written = write_service(clash, names_, folder_ / "shop");

  ASSERT_FALSE(written);
  EXPECT_NE(written.error().describe().find("shop/src/notes.cc"), std::string::npos) << written.error().describe();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "shop"));
}

TEST_F(WriterTest, wants_the_folder_above) {
  const auto written = write_service({}, names_, folder_ / "none/shop");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::NotFound);
}

}  // namespace
}  // namespace keel::create::writer_test
