// The history of a schema, on a target that only writes down what it is asked. sqlite/migrations_test.cc has the rest.

#include "keel/db/migrations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "keel/db/testing/folder.h"

namespace keel::db::migrations_test {
namespace {

class Notebook final : public MigrationTarget {
 public:
  struct Applied {
    int version;
    std::string name, checksum;
  };
  std::vector<std::string> notes;
  std::vector<Applied> applied;
  std::string refused;  // The file that does not run: "bad", at `refused_line`.
  int refused_line = 0;

  std::string kind;

  std::string_view database() const override { return kind; }
  Result<> prepare() override { return note("prepare"); }
  Result<> finish() override { return note("finish"); }
  Result<> begin() override { return note("begin"); }
  Result<> commit() override { return note("commit"); }
  Result<> roll_back() override { return note("roll back"); }
  Result<> for_each_applied(OnApplied on_applied) override {
    for (const Applied& one : applied) on_applied(one.version, one.name, one.checksum);
    return {};
  }
  Result<> set_checksum(const Migration& migration) override {
    applied[static_cast<std::size_t>(migration.version) - 1].checksum = migration.checksum;
    return note("set checksum of " + migration.name);
  }
  Result<> run(const Migration& migration, int& line) override {
    (void)note("run " + migration.text).is_ok();
    if (migration.name != refused) return {};
    line = refused_line;
    return fail(Code::InvalidArgument, "bad");
  }
  Result<> record(const Migration& migration, std::int64_t applied_at) override {
    EXPECT_GT(applied_at, 0);
    applied.push_back({migration.version, migration.name, migration.checksum});
    return note("record " + migration.name);
  }

 private:
  Result<> note(std::string text) {
    notes.push_back(std::move(text));
    return {};
  }
};

class MigrationTargets : public ::testing::Test {
 protected:
  MigrationTargets() {
    folder.write("0001_users.sql", "users");
    folder.write("0002_orders.sql", "orders");
  }
  std::string error() {
    auto migrated = migrate(target, folder.path());
    return migrated ? "none" : std::string(migrated.error().message());
  }
  using Notes = std::vector<std::string>;
  testing::Folder folder;
  Notebook target;
};

TEST_F(MigrationTargets, are_given_each_file_in_a_transaction_of_its_own) {
  const auto migrated = migrate(target, folder.path());

  ASSERT_TRUE(migrated);
  EXPECT_EQ(migrated->applied, 2);
  EXPECT_EQ(migrated->version, 2);
  EXPECT_EQ(target.notes, Notes({"prepare", "begin", "run users", "record 0001_users.sql", "commit", "roll back",
                                 "begin", "run orders", "record 0002_orders.sql", "commit", "roll back", "begin",
                                 "commit", "roll back", "finish"}));
  EXPECT_EQ(migrate(target, folder.path())->applied, 0) << "each once";
}

TEST_F(MigrationTargets, are_left_as_they_were_by_a_file_with_a_mistake) {
  target.refused = "0002_orders.sql";
  target.refused_line = 3;
  EXPECT_EQ(error(), "migrations: 0002_orders.sql:3: bad");
  EXPECT_EQ(Notes(target.notes.end() - 4, target.notes.end()), Notes({"begin", "run orders", "roll back", "finish"}));

  target.refused_line = 0;
  EXPECT_EQ(error(), "migrations: 0002_orders.sql: bad") << "of the file as a whole";
}

TEST_F(MigrationTargets, that_have_other_files_than_the_folder_are_refused) {
  ASSERT_EQ(error(), "none");

  target.applied[0].checksum = "another";
  EXPECT_NE(error().find("0001_users.sql has changed since it was applied"), std::string::npos) << error();
  target.applied[0].name = "0001_people.sql";
  EXPECT_EQ(
      error(),
      "migrations: 0001_people.sql was applied to this database, but its file is missing, and 0001_users.sql has the "
      "same number. If the second file is new, restore the missing file, and give the new file the next number: mv "
      "0001_users.sql 0003_users.sql");
  target.applied = {{3, "0003_later.sql", ""}};
  EXPECT_EQ(error(),
            "migrations: 0003_later.sql was applied to this database, but its file is missing: run a program that "
            "contains the file, or restore the file, for example with git checkout");
  EXPECT_EQ(target.notes.back(), "finish");
}

TEST_F(MigrationTargets, without_the_parts_for_it_say_that_they_cannot) {
  folder.write("0002_orders.down.sql", "no orders");
  ASSERT_EQ(error(), "none");
  EXPECT_EQ(migrate_down(target, folder.path()).error().code(), Code::Unsupported);

  folder.write("0003_slow.sql", "-- keel: no transaction\nslow");
  EXPECT_EQ(migrate(target, folder.path()).error().code(), Code::Unsupported);
  EXPECT_EQ(target.notes.back(), "finish");
}

TEST_F(MigrationTargets, are_taken_to_the_version_that_is_asked_for) {
  EXPECT_EQ(migrate(target, folder.path(), 1)->version, 1);
  EXPECT_EQ(migrate(target, folder.path(), 1)->applied, 0);
  EXPECT_EQ(migrate(target, folder.path(), 3).error().message(),
            "migrations: " + folder.path() + " has no file number 0003: its last file is number 0002");
  EXPECT_EQ(migrate(target, folder.path())->version, 2);
  EXPECT_EQ(migrate(target, folder.path(), 1)->version, 2) << "it undoes nothing";
}

TEST_F(MigrationTargets, take_the_files_that_are_for_their_database_in_the_place_of_the_common_ones) {
  folder.write("0002_orders.postgres.sql", "orders of postgres");
  folder.write("0002_orders.sqlite.down.sql", "no orders of sqlite");
  folder.write("0003_more.sqlite.sql", "more of sqlite");

  target.kind = "sqlite";
  ASSERT_EQ(error(), "none");
  EXPECT_NE(std::ranges::find(target.notes, "run orders"), target.notes.end());
  EXPECT_EQ(target.applied[2].name, "0003_more.sqlite.sql");
  EXPECT_EQ(read_migrations(folder.path(), "sqlite").value()[1].down_text, "no orders of sqlite");

  target = {};
  target.kind = "postgres";
  EXPECT_EQ(error(),
            "migrations: 0003_more.sqlite.sql is for another database, and there is no 0003_more.postgres.sql: write "
            "that file, even if it contains only a comment");
  folder.write("0003_more.postgres.sql", "-- nothing");
  ASSERT_EQ(error(), "none");
  EXPECT_EQ(target.applied[1].name, "0002_orders.postgres.sql");
  EXPECT_EQ(read_migrations(folder.path(), "postgres").value()[1].down_name, "");
  EXPECT_EQ(count_migrations(folder.path()).value(), 3);
}

TEST_F(MigrationTargets, may_get_a_file_of_their_own_with_the_same_text_later) {
  target.kind = "sqlite";
  ASSERT_EQ(error(), "none");
  folder.write("0001_users.sqlite.sql", "users");
  EXPECT_EQ(error(), "none") << "the number and the text are the same";
}

TEST(NewMigration, is_the_next_file) {
  const testing::Folder folder;
  EXPECT_EQ(new_migration(folder / "db/migrations", "users", false).value(), folder / "db/migrations/0001_users.sql");
  EXPECT_EQ(new_migration(folder / "db/migrations", "orders_2", true).value(),
            folder / "db/migrations/0002_orders_2.sql");
  EXPECT_TRUE(std::filesystem::exists(folder / "db/migrations/0002_orders_2.down.sql"));
  EXPECT_EQ(count_migrations(folder / "db/migrations").value(), 2);
  EXPECT_EQ(new_migration(folder / "db/migrations", "a/b", false).error().message(),
            "migrations: a/b: a name must consist of a-z, 0-9 and '_', such as add_orders");
}

// Those of an earlier version: FNV-1a, in 16 digits.
TEST_F(MigrationTargets, get_the_checksum_of_today_where_they_have_one_of_an_earlier_version) {
  target.applied = {{1, "0001_users.sql", "42288471628c3333"}};

  ASSERT_EQ(error(), "none");

  EXPECT_EQ(target.notes,
            Notes({"prepare", "begin", "set checksum of 0001_users.sql", "run orders", "record 0002_orders.sql",
                   "commit", "roll back", "begin", "commit", "roll back", "finish"}))
      << "once, and in the transaction that looked";
  EXPECT_EQ(target.applied[0].checksum, "7dfb4cf67742cb0660305e56ef816c53fcec892cae7f6ee39b75f34e659d672c");
}

TEST_F(MigrationTargets, that_have_an_old_checksum_of_another_text_are_refused_and_keep_it) {
  target.applied = {{1, "0001_users.sql", "42288471628c3333"}, {2, "0002_orders.sql", "00125d9250be8b4c"}};
  folder.write("0002_orders.sql", "other orders");

  const std::string said = error();

  EXPECT_NE(said.find("0002_orders.sql has changed since it was applied (its checksum is "), std::string::npos) << said;
  EXPECT_NE(said.find(", but was 00125d9250be8b4c): write a new file"), std::string::npos) << said;
  EXPECT_EQ(target.applied[0].checksum, "42288471628c3333");
  EXPECT_EQ(target.notes, Notes({"prepare", "begin", "roll back", "finish"}));
}

}  // namespace
}  // namespace keel::db::migrations_test
