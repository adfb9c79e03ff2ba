#include "keel/db/testing/slow_vfs.h"

#include <gtest/gtest.h>

#include "keel/base/host.h"
#include "keel/db/sqlite/connection.h"
#include "keel/db/testing/folder.h"

namespace keel::db::sqlite::slow_vfs_test {
namespace {

Duration time_of_commits(const std::string& path, int commits) {
  auto connection = Connection::open({.path = path}).value();
  EXPECT_TRUE(connection->run_script("create table if not exists t (a integer)"));
  const Instant began = Host::system().precise_now();
  for (int i = 0; i < commits; ++i) EXPECT_TRUE(connection->run("insert into t values ($1)", i));
  return Host::system().precise_now() - began;
}

TEST(SlowVfs, delays_each_commit_by_a_sync_and_nothing_after_its_end) {
  db::testing::Folder folder;
  {
    SlowVfs vfs(5_ms);
    EXPECT_GE(time_of_commits(folder / "slow.db", 20), 100_ms);
  }
  auto connection = Connection::open({.path = folder / "slow.db"}).value();
  std::int64_t rows = 0;
  auto keep = [&](const Row& row) { rows = row.integer(0); };
  ASSERT_TRUE(connection->query("select count(*) from t", keep));
  EXPECT_EQ(rows, 20);
}

}  // namespace
}  // namespace keel::db::sqlite::slow_vfs_test
