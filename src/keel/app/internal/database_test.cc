#include "keel/app/internal/database.h"

#include <gtest/gtest.h>

#include <fstream>

#include "keel/db/postgres/testing/real_server.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/own_loop.h"

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

TEST(DatabaseOptions, of_postgres_are_what_the_settings_say) {
  const db::postgres::DatabaseOptions options = postgres_options(
      settings({"--database.type=postgres", "--database.url=postgres://app@db/shop", "--database.connections=5",
                "--database.wait_max_sec=2", "--database.statement_timeout_sec=7", "--database.pooler=true",
                "--database.queue_max=77", "--database.hold_max_sec=3", "--database.migrations=m"}));

  EXPECT_EQ(options.url, "postgres://app@db/shop");
  EXPECT_EQ(options.connections, 5);
  EXPECT_EQ(options.wait_max, 2_s);
  EXPECT_EQ(options.statement_timeout, 7_s);
  EXPECT_TRUE(options.pooler);
  EXPECT_EQ(options.waiting_max, 77u);
  EXPECT_EQ(options.hold_max, 3_s);
  EXPECT_EQ(options.migrations, "m");
}

TEST(OpenDatabase, says_why_postgres_cannot_be_had) {
  const Settings nobody =
      settings({"--database.type=postgres",
                "--database.migrations=", "--database.url=postgres://app@127.0.0.1:1/shop?sslmode=disable"});
  const auto refused = open_database(nobody, Platform());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::Unavailable);
  EXPECT_TRUE(refused.error().describe().starts_with("database.url: the database cannot be reached: 127.0.0.1:1: "))
      << refused.error().describe();

  const Settings wrong = settings({"--database.type=postgres", "--database.url=postgres://app@db/shop?sslmod=disable"});
  const auto unknown = open_database(wrong, Platform());
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), Code::InvalidArgument);
}

TEST(OpenDatabase, reads_and_writes_on_postgres) {
  using db::postgres::testing::RealServer;
  if (!RealServer::is_installed()) GTEST_SKIP() << RealServer::missing;
  const RealServer server;
  const db::testing::Folder folder;
  folder.write("0001_users.sql", "create table users (name text primary key)");
  Settings at = settings({"--database.type=postgres"});
  at.database.url = config::Secret(server.url());
  at.database.migrations = folder.path();

  auto opened = open_database(at, Platform());

  ASSERT_TRUE(opened) << opened.error().describe();
  db::testing::OwnLoop loop;
  EXPECT_TRUE((*opened)->attach(loop.loop));
  EXPECT_TRUE(loop.run((*opened)->execute("insert into users values ('ada')")));
  EXPECT_TRUE(loop.run((*opened)->check_reads()));
  (*opened)->detach(loop.loop);
  while (!(*opened)->is_detached()) loop.turn();
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
  EXPECT_TRUE(unreadable.error().describe().starts_with("database.path: " + at.database.path + ": "))
      << unreadable.error().describe();
}

}  // namespace
}  // namespace keel::app::internal::database_test
