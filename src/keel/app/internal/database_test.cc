#include "keel/app/internal/database.h"

#include <gtest/gtest.h>

#include <fstream>

#include "keel/db/testing/folder.h"

namespace keel::app::internal::database_test {
namespace {

Settings settings(std::vector<const char*> args) {
  const char* const environment[] = {nullptr};
  auto loaded = config::load<Settings>({.args = args, .environment = environment});
  EXPECT_TRUE(loaded) << loaded.error().describe();
  return loaded ? *std::move(loaded) : Settings();
}

TEST(DatabaseOptions, are_what_the_settings_say) {
  const db::sqlite::DatabaseOptions options =
      sqlite_options(settings({"--database.path=x/y.db", "--database.synchronous=normal", "--database.group_max=3",
                               "--database.queue_max=77", "--database.cache_size_mb=2", "--database.buffer_size_kb=16",
                               "--database.timeout_sec=3", "--thread.pools=[{name: database, size: 6}]"}));

  EXPECT_EQ(options.path, "x/y.db");
  EXPECT_EQ(options.synchronous, db::sqlite::Synchronous::Normal);
  EXPECT_EQ(options.writer.group_max, 3);
  EXPECT_EQ(options.writer.queued_max, 77u);
  EXPECT_EQ(options.cache_kib, 2048);
  EXPECT_EQ(options.buffer_bytes, 16u * 1024);
  EXPECT_EQ(options.busy_timeout, 3_s);
  EXPECT_EQ(options.pool_size, 6);
  EXPECT_GT(options.loop_steps_max, 0);
  EXPECT_EQ(sqlite_options(settings({"--database.loop_reads=false"})).loop_steps_max, 0);
}

TEST(DatabaseOptions, are_by_default_those_of_a_database_without_settings) {
  const db::sqlite::DatabaseOptions set = sqlite_options(Settings());
  const db::sqlite::DatabaseOptions own;

  EXPECT_EQ(set.path, own.path);
  EXPECT_EQ(set.synchronous, own.synchronous);
  EXPECT_EQ(set.busy_timeout, own.busy_timeout);
  EXPECT_EQ(set.cache_kib, own.cache_kib);
  EXPECT_EQ(set.buffer_bytes, own.buffer_bytes);
  EXPECT_EQ(set.pool_size, own.pool_size);
  EXPECT_EQ(set.loop_steps_max, own.loop_steps_max);
  EXPECT_EQ(set.writer.group_max, own.writer.group_max);
  EXPECT_EQ(set.writer.queued_max, own.writer.queued_max);
}

TEST(OpenDatabase, makes_the_folder_and_says_which_setting_was_wrong) {
  const db::testing::Folder folder;
  Settings at = settings({"--database.migrations="});
  at.database.path = folder / "new/app.db";

  EXPECT_TRUE(open_database(at, Platform()));
  EXPECT_TRUE(std::filesystem::exists(at.database.path));

  folder.write("taken", "not a database, and long enough for the header of a file that would be one to be looked at\n" +
                            std::string(1024, 'x'));
  at.database.path = folder / "taken/app.db";
  const auto refused = open_database(at, Platform());
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().describe().starts_with("database.path: ")) << refused.error().describe();

  at.database.path = folder / "taken";
  const auto unreadable = open_database(at, Platform());
  ASSERT_FALSE(unreadable);
  EXPECT_TRUE(unreadable.error().describe().starts_with("database '" + at.database.path + "': "))
      << unreadable.error().describe();
}

}  // namespace
}  // namespace keel::app::internal::database_test
