// docs/backup.md, compiled and run

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "keel/db/sqlite/database.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/own_loop.h"

namespace keel::db::sqlite::backup_doc_test {
namespace {

Task<> back_up(db::Database& database, std::string folder) { co_await database.backup(folder + "/shop.db"); }

TEST(BackupPage, does_what_it_says) {
  const testing::Folder folder;
  testing::OwnLoop loop;
  const auto database = Database::open({.path = folder / "app.db"}).value();
  ASSERT_TRUE(loop.run(back_up(*database, folder.path())));
  EXPECT_TRUE(std::filesystem::exists(folder / "shop.db"));
  EXPECT_FALSE(loop.run(back_up(*database, folder / "none")));
}

}  // namespace
}  // namespace keel::db::sqlite::backup_doc_test
