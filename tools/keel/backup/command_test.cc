#include "backup/command.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "keel/db/sqlite/connection.h"
#include "keel/db/testing/folder.h"

namespace keel::backup::backup_command_test {
namespace {

struct Ran {
  int code = -1;
  std::string out;  // Both streams.
};

Ran backup(const std::vector<std::string>& arguments) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Ran ran;
  ran.code = run_command(arguments);
  ran.out = ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr();
  return ran;
}

TEST(BackupCommand, copies_what_is_committed_and_looks_at_the_copy) {
  const db::testing::Folder folder;
  const std::string source = folder / "app.db";
  const std::string target = folder / "copy.db";
  auto service = db::sqlite::Connection::open({.path = source}).value();
  ASSERT_TRUE(service->run_script("create table t (a integer); insert into t values (1), (2)"));

  const Ran ran = backup({target, "--database", source, "--check", "--pause-ms", "1"});

  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "keel backup: " + target + " is a copy of " + source + ", 2 pages\n");
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().filename().string().starts_with("copy")) files.push_back(entry.path().filename());
  }
  EXPECT_EQ(files, std::vector<std::string>({"copy.db"}));
  auto copy = db::sqlite::Connection::open({.path = target}).value();
  std::int64_t sum = 0;
  auto keep = [&](const db::Row& row) { sum = row.integer(0); };
  EXPECT_TRUE(copy->query("select sum(a) from t", keep));
  EXPECT_EQ(sum, 3);
}

TEST(BackupCommand, refuses_a_database_that_is_damaged_or_not_there) {
  const db::testing::Folder folder;
  const std::string source = folder / "app.db";
  {
    auto service = db::sqlite::Connection::open({.path = source}).value();
    ASSERT_TRUE(
        service->run_script("create table t (a text); create index i on t (a); "
                            "insert into t values ('green tea'), ('black tea')"));
    ASSERT_TRUE(service->checkpoint());
  }
  {
    std::fstream file(source, std::ios::in | std::ios::out | std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    const std::size_t at = bytes.find("green tea");
    ASSERT_NE(at, bytes.npos);
    file.seekp(static_cast<std::streamoff>(at));
    file << "x";
  }
  const Ran damaged = backup({folder / "copy.db", "--database", source, "--check"});
  EXPECT_EQ(damaged.code, 1);
  EXPECT_NE(damaged.out.find("the database is damaged: "), std::string::npos) << damaged.out;
  EXPECT_FALSE(std::filesystem::exists(folder / "copy.db"));
  EXPECT_FALSE(std::filesystem::exists(folder / "copy.db.part"));

  const Ran none = backup({folder / "copy.db", "--database", folder / "none.db"});
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.out.find("none.db: there is no such database"), std::string::npos) << none.out;
}

// Nothing is copied: neither a file that a service with SQLite has left, nor one that is not there.
TEST(BackupCommand, says_what_copies_a_postgres_database) {
  const db::testing::Folder folder;
  const std::string source = folder / "app.db";
  ASSERT_TRUE(db::sqlite::Connection::open({.path = source}).value()->run_script("create table t (a integer)"));
  ::setenv("KEEL_DATABASE__PATH", source.c_str(), 1);
  ::setenv("KEEL_DATABASE__TYPE", "postgres", 1);
  const std::string says =
      " names a PostgreSQL database, but keel backup copies only SQLite databases: use pg_dump --format=custom "
      "--file=TARGET, or pg_basebackup\n";

  const Ran ran = backup({folder / "copy.db"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "keel backup: KEEL_DATABASE__TYPE" + says);
  EXPECT_FALSE(std::filesystem::exists(folder / "copy.db"));
  EXPECT_EQ(backup({folder / "copy.db", "--database", "postgres://app:secret@db.example/shop"}).out,
            "keel backup: --database" + says);
  EXPECT_EQ(backup({folder / "copy.db", "--database", source}).code, 0) << "a file that is named is copied";
  ::setenv("KEEL_DATABASE__TYPE", "postgresql", 1);
  EXPECT_EQ(backup({folder / "copy.db"}).out,
            "keel backup: KEEL_DATABASE__TYPE postgresql: expected sqlite or postgres\n");
  ::setenv("KEEL_DATABASE__TYPE", "sqlite", 1);
  EXPECT_EQ(backup({folder / "copy.db"}).code, 0);
  ::unsetenv("KEEL_DATABASE__TYPE");
  ::unsetenv("KEEL_DATABASE__PATH");
}

TEST(BackupCommand, wrong_use_ends_with_2) {
  EXPECT_EQ(backup({}).out, "keel backup: expected: keel backup TARGET; keel backup --help says more\n");
  EXPECT_EQ(backup({"a", "b"}).code, 2);
  EXPECT_EQ(backup({"a", "--database"}).code, 2);
  EXPECT_EQ(backup({"a", "--pause-ms", "x"}).out, "keel backup: --pause-ms x: expected a number from 0 to 60000\n");
  EXPECT_EQ(backup({"--frob", "a"}).code, 2);
  EXPECT_EQ(backup({"--help"}).code, 0);
}

}  // namespace
}  // namespace keel::backup::backup_command_test
