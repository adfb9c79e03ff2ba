// Files that are undone, and files that are not in a transaction; and what a loss of power at any point leaves.

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "keel/base/host.h"
#include "keel/db/sqlite/connection.h"
#include "keel/db/sqlite/migrations.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/sim_vfs.h"
#include "keel/io/testing/disk.h"
#include "keel/io/testing/simulation.h"

namespace keel::db::sqlite::migrations_steps_test {
namespace {

// "a b": the tables, without those of the migrations themselves.
std::string tables_of(Connection& connection) {
  std::string tables;
  auto add = [&](const Row& row) { tables += (tables.empty() ? "" : " ") + std::string(row.text(0)); };
  EXPECT_TRUE(
      connection.query("select name from sqlite_schema where type = 'table' and name not like 'keel_%' and name "
                       "not like 'sqlite_%' order by name",
                       add));
  return tables;
}
std::int64_t number(Connection& connection, const char* sql) {
  std::int64_t found = -1;
  auto statement = connection.prepare(sql);
  Rows rows;
  if (!statement || !statement->run({}, rows)) return -1;
  auto keep = [&](const Row& row) { found = row.integer(0); };
  return rows.for_each(keep) ? found : -1;
}

class MigrationSteps : public ::testing::Test {
 protected:
  MigrationSteps() {
    file("0001_a.sql", "create table a (id integer primary key);");
    file("0001_a.down.sql", "drop table a;");
    file("0002_b.sql", "create table b (id integer primary key); insert into b values (1);");
  }
  void file(std::string_view name, std::string_view text) { folder.write(name, text); }
  std::string message(const auto& result) { return result ? "none" : std::string(result.error().message()); }

  testing::Folder folder;
  testing::Folder data;
  std::unique_ptr<Connection> connection = Connection::open({.path = data / "app.db"}).value();
};

TEST_F(MigrationSteps, are_undone_the_latest_first) {
  file("0002_b.down.sql", "drop table b;");
  ASSERT_TRUE(migrate(*connection, folder.path()));

  const auto one = migrate_down(*connection, folder.path());
  ASSERT_TRUE(one) << message(one);
  EXPECT_EQ(one->version, 1);
  EXPECT_EQ(tables_of(*connection), "a");
  EXPECT_EQ(migrate(*connection, folder.path())->applied, 1);

  const auto all = migrate_down(*connection, folder.path(), 5);
  EXPECT_EQ(all->applied, 2);
  EXPECT_EQ(all->version, 0);
  EXPECT_EQ(tables_of(*connection), "");
  EXPECT_EQ(migrate(*connection, folder.path())->applied, 2);
}

TEST_F(MigrationSteps, without_a_file_that_undoes_them_stay) {
  ASSERT_TRUE(migrate(*connection, folder.path()));

  const auto undone = migrate_down(*connection, folder.path());
  EXPECT_EQ(undone.error().code(), Code::FailedPrecondition);
  EXPECT_EQ(
      message(undone),
      "migrations: 0002_b.sql cannot be undone: there is no 0002_b.down.sql; write it, or undo the change in a new "
      "file (keel migrate new)");
  EXPECT_EQ(message(migrate_redo(*connection, folder.path())), message(undone));
  EXPECT_EQ(tables_of(*connection), "a b");
}

TEST_F(MigrationSteps, whose_undoing_fails_stay_whole) {
  file("0002_b.down.sql", "drop table b;\ndrop table c;");
  ASSERT_TRUE(migrate(*connection, folder.path()));

  EXPECT_EQ(message(migrate_down(*connection, folder.path())), "migrations: 0002_b.down.sql:2: no such table: c");
  EXPECT_EQ(tables_of(*connection), "a b");
  EXPECT_EQ(migration_status(*connection, folder.path())->back().is_applied, true);
}

TEST_F(MigrationSteps, that_were_edited_are_applied_anew_if_they_are_the_last) {
  file("0002_b.down.sql", "drop table b;");
  ASSERT_TRUE(migrate(*connection, folder.path()));
  file("0002_b.sql", "create table bb (id integer primary key);");

  EXPECT_NE(message(migrate(*connection, folder.path())).find("keel migrate redo"), std::string::npos);
  EXPECT_EQ(migrate_down(*connection, folder.path()).error().code(), Code::FailedPrecondition);
  const auto anew = migrate_redo(*connection, folder.path());
  ASSERT_TRUE(anew) << message(anew);
  EXPECT_EQ(anew->version, 2);
  EXPECT_EQ(tables_of(*connection), "a bb");
  EXPECT_EQ(migrate(*connection, folder.path())->applied, 0);

  file("0001_a.sql", "create table aa (id integer primary key);");
  EXPECT_NE(message(migrate_redo(*connection, folder.path())).find("0001_a.sql has changed"), std::string::npos);
}

TEST_F(MigrationSteps, that_were_edited_with_a_mistake_stay_applied_as_they_were) {
  file("0002_b.down.sql", "drop table b;");
  ASSERT_TRUE(migrate(*connection, folder.path()));
  ASSERT_TRUE(connection->run("insert into a values (7)"));
  file("0002_b.sql", "create tabel b;");

  EXPECT_EQ(message(migrate_redo(*connection, folder.path())),
            "migrations: 0002_b.sql:1: near \"tabel\": syntax error");
  EXPECT_EQ(tables_of(*connection), "a b");
  EXPECT_EQ(number(*connection, "select count(*) from b"), 1);
  file("0002_b.sql", "create table bb (id integer primary key);");
  const auto anew = migrate_redo(*connection, folder.path());
  ASSERT_TRUE(anew) << message(anew);
  EXPECT_EQ(anew->version, 2);
  EXPECT_EQ(tables_of(*connection), "a bb");
  EXPECT_EQ(number(*connection, "select id from a"), 7) << "the file before was not undone";
}

TEST_F(MigrationSteps, without_a_transaction_are_undone_before_they_are_applied_anew) {
  const std::string head = "-- keel: no transaction\n";
  file("0002_b.down.sql", "drop table b;");
  file("0002_b.sql", head + "create table b (id integer);");
  ASSERT_TRUE(migrate(*connection, folder.path()));
  file("0002_b.sql", head + "create tabel b;");

  EXPECT_EQ(
      message(migrate_redo(*connection, folder.path())),
      "migrations: 0002_b.sql:2: near \"tabel\": syntax error; the file is now undone: apply it with keel migrate up");
  EXPECT_EQ(tables_of(*connection), "a");
  file("0002_b.sql", head + "create table b (id integer); vacuum;");
  EXPECT_EQ(migrate(*connection, folder.path())->applied, 1);
  const auto anew = migrate_redo(*connection, folder.path());
  ASSERT_TRUE(anew) << message(anew);
  EXPECT_EQ(anew->version, 2);
  EXPECT_EQ(tables_of(*connection), "a b");
}

TEST_F(MigrationSteps, name_what_undoes_nothing) {
  file("0003_c.down.sql", "drop table c;");
  EXPECT_EQ(message(migrate(*connection, folder.path())),
            "migrations: 0003_c.down.sql undoes 0003_c.sql, which does not exist: rename it after the file that it "
            "should undo");
  std::filesystem::remove(folder / "0003_c.down.sql");
  file("0002_b.down.sql", "-- keel: no transaction\ndrop table b;");
  EXPECT_NE(message(migrate(*connection, folder.path()))
                .find("a file that undoes another one always runs in one transaction"),
            std::string::npos);
  EXPECT_EQ(message(migrate_redo(*connection, folder.path())), message(migrate(*connection, folder.path())));
}

TEST_F(MigrationSteps, of_a_database_and_a_folder_are_listed) {
  file("0003_c.sql", "-- keel: no transaction\ncreate table c (id integer); create table d (id integer); broken;");
  ASSERT_FALSE(migrate(*connection, folder.path()));
  file("0004_e.sql", "select 1;");

  const auto all = migration_status(*connection, folder.path()).value();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_TRUE(all[0].is_applied && all[0].has_down && all[0].applied_at > 0);
  EXPECT_TRUE(all[1].is_applied && !all[1].has_down);
  EXPECT_TRUE(!all[2].is_applied && all[2].steps_done == 2) << all[2].steps_done;
  EXPECT_TRUE(!all[3].is_applied && all[3].steps_done == 0 && all[3].applied_at == 0);
}

TEST_F(MigrationSteps, without_a_transaction_go_on_where_they_stopped) {
  file("0003_c.sql",
       "-- keel: no transaction\ncreate table c (id integer primary key);\ninsert into c values (1); -- "
       "one;\nvacuum;\n\n"
       "create trigger t after insert on c begin update c set id = id; select ';'; end;\ninsert into c\nvalues (1);\n");
  EXPECT_EQ(message(migrate(*connection, folder.path())), "migrations: 0003_c.sql:7: UNIQUE constraint failed: c.id");
  EXPECT_EQ(message(migrate(*connection, folder.path())), "migrations: 0003_c.sql:7: UNIQUE constraint failed: c.id");
  EXPECT_EQ(number(*connection, "select count(*) from c"), 1);
  EXPECT_EQ(number(*connection, "select count(*) from keel_migrations"), 2);

  const std::string text = "-- keel: no transaction\ncreate table c (id integer primary key);";
  file("0003_c.sql", text);
  EXPECT_EQ(message(migrate(*connection, folder.path())).substr(0, 94),
            "migrations: 0003_c.sql: has changed since the first 4 of its statements ran: restore the file,")
      << message(migrate(*connection, folder.path()));

  file("0003_c.sql",
       "-- keel: no transaction\ncreate table c (id integer primary key);\ninsert into c values (1); -- "
       "one;\nvacuum;\n\n"
       "create trigger t after insert on c begin update c set id = id; select ';'; end;\ninsert into c\nvalues (1);\n");
  ASSERT_TRUE(connection->run("delete from c"));
  const auto finished = migrate(*connection, folder.path());
  ASSERT_TRUE(finished) << message(finished);
  EXPECT_EQ(finished->applied, 1);
  EXPECT_EQ(number(*connection, "select count(*) from keel_migration_steps"), 0);
  EXPECT_EQ(migrate(*connection, folder.path())->applied, 0);
}

TEST_F(MigrationSteps, without_a_transaction_take_no_transaction_of_their_own) {
  file("0003_c.sql", "-- keel: no transaction\ncreate table c (id integer);\nbegin;\n");
  EXPECT_EQ(message(migrate(*connection, folder.path())),
            "migrations: 0003_c.sql:3: this SQL text must not contain a statement that changes transactions, settings "
            "or files");
}

TEST_F(MigrationSteps, wait_for_another_process_no_longer_than_is_said) {
  ASSERT_TRUE(connection->run_script("begin immediate"));
  auto late = Connection::open({.path = data / "app.db", .busy_timeout = 20_ms}).value();
  EXPECT_EQ(migrate(*late, folder.path()).error().code(), Code::Unavailable);
  ASSERT_TRUE(connection->run_script("commit"));
  EXPECT_EQ(migrate(*late, folder.path())->applied, 2);
}

// Starters on threads of their own, each with its connection.
TEST_F(MigrationSteps, are_applied_once_by_starters_that_meet) {
  for (int i = 3; i < 10; ++i) {
    file("000" + std::to_string(i) + "_n.sql",
         (i % 2 == 0 ? "-- keel: no transaction\n" : "") + std::string("create table n") + std::to_string(i) +
             " (id integer primary key); insert into n" + std::to_string(i) + " values (1);");
  }
  std::vector<std::thread> starters;
  std::vector<std::string> results(4);
  for (int i = 0; i < 4; ++i) {
    starters.emplace_back([this, &result = results[static_cast<std::size_t>(i)]] {
      auto own = Connection::open({.path = data / "app.db", .busy_timeout = 20_s});
      const auto migrated = migrate(**own, folder.path());
      result = migrated ? "version " + std::to_string(migrated->version) : message(migrated);
    });
  }
  for (std::thread& starter : starters) starter.join();
  for (const std::string& result : results) EXPECT_EQ(result, "version 9");
  EXPECT_EQ(number(*connection, "select count(*) from keel_migrations"), 9);
  EXPECT_EQ(number(*connection, "select count(*) from n8"), 1);
}

// Calls a function when a connection is about to run `vacuum` for the first time, which it does without a lock.
class BeforeVacuum {
 public:
  BeforeVacuum(Connection& connection, std::function<void()> call)
      : handle_(connection.handle()), call_(std::move(call)) {
    sqlite3_trace_v2(handle_, SQLITE_TRACE_STMT, &on_statement, this);
  }
  ~BeforeVacuum() { sqlite3_trace_v2(handle_, 0, nullptr, nullptr); }
  BeforeVacuum(const BeforeVacuum&) = delete;
  BeforeVacuum& operator=(const BeforeVacuum&) = delete;

  bool was_called() const noexcept { return was_called_; }

 private:
  static int on_statement(unsigned, void* self, void*, void* text) {
    auto& before = *static_cast<BeforeVacuum*>(self);
    if (!std::string_view(static_cast<const char*>(text)).starts_with("vacuum")) return 0;
    if (!std::exchange(before.was_called_, true)) before.call_();
    return 0;
  }

  sqlite3* handle_;
  std::function<void()> call_;
  bool was_called_ = false;
};

constexpr const char* counting_around_a_vacuum =
    "-- keel: no transaction\ncreate table c (n integer);\ninsert into c values (0);\n"
    "vacuum;\nupdate c set n = n + 1;\n";

TEST_F(MigrationSteps, skip_none_when_another_process_records_the_same_vacuum) {
  file("0003_c.sql", counting_around_a_vacuum);
  auto peer = Connection::open({.path = data / "app.db"}).value();
  BeforeVacuum before(*connection, [&] {
    EXPECT_TRUE(peer->run_script("vacuum"));
    EXPECT_TRUE(peer->run("update keel_migration_steps set done = done + 1"));
  });

  const auto migrated = migrate(*connection, folder.path());
  ASSERT_TRUE(migrated) << message(migrated);
  EXPECT_TRUE(before.was_called());
  EXPECT_EQ(number(*connection, "select n from c"), 1);
  EXPECT_EQ(number(*connection, "select count(*) from keel_migration_steps"), 0);
}

TEST_F(MigrationSteps, leave_no_trace_when_another_process_finishes_the_file_during_a_vacuum) {
  file("0003_c.sql", counting_around_a_vacuum);
  auto peer = Connection::open({.path = data / "app.db"}).value();
  BeforeVacuum before(*connection, [&] { EXPECT_EQ(migrate(*peer, folder.path())->version, 3); });

  const auto migrated = migrate(*connection, folder.path());
  ASSERT_TRUE(migrated) << message(migrated);
  EXPECT_TRUE(before.was_called());
  EXPECT_EQ(migrated->version, 3);
  EXPECT_EQ(number(*connection, "select n from c"), 1);
  EXPECT_EQ(number(*connection, "select count(*) from keel_migration_steps"), 0);
}

// The power goes at every change of the disk in turn; whatever was there then is finished by the next start.
TEST_F(MigrationSteps, resume_after_a_loss_of_power_at_any_point) {
  file("0002_b.down.sql", "drop table b;");
  file("0003_c.sql",
       "-- keel: no transaction\ncreate table c (id integer primary key, n integer);\ninsert into c values (1, 0);\n"
       "update c set n = n + 1;\nvacuum;\nupdate c set n = n + 1;\n");
  file("0004_d.sql",
       "create table d (id integer primary key);\ninsert into d select id from c;\nupdate c set n = n + 1;\n");
  const char* const wanted = std::getenv("KEEL_MIGRATION_KILLS");
  const int points_min = wanted == nullptr ? 200 : std::atoi(wanted);
  int points = 0;
  // What of the last change reaches the disk depends on the seed.
  for (std::uint64_t change = 1, round = 0; !HasFailure(); ++change) {
    sim::Simulation simulation;
    Host* const before = Host::set_current(&simulation);
    bool was_cut = false;
    {
      sim::Disk disk{change + 1000 * round};
      SimVfs vfs{disk, change};
      {
        disk.power_off_after(change);
        auto own = Connection::open({.path = "/app.db", .vfs = vfs.name()});
        if (own) {
          const auto applied = migrate(**own, folder.path());
          EXPECT_TRUE(applied || !disk.is_on()) << message(applied);
        }
      }
      was_cut = !disk.is_on();
      disk.power_off_after(0);
      if (was_cut) disk.power_on();
      auto own = Connection::open({.path = "/app.db", .vfs = vfs.name()});
      EXPECT_TRUE(own) << message(own);
      if (own) {
        const auto resumed = migrate(**own, folder.path());
        EXPECT_TRUE(resumed) << "change " << change << ": " << message(resumed);
        EXPECT_EQ(tables_of(**own), "a b c d") << change;
        EXPECT_EQ(number(**own, "select n from c"), 3) << "each statement once, at change " << change;
        EXPECT_EQ(number(**own, "select count(*) from d"), 1) << change;
        EXPECT_EQ(number(**own, "select count(*) from keel_migrations"), 4) << change;
        EXPECT_EQ(migrate(**own, folder.path())->applied, 0);
      }
    }
    Host::set_current(before);
    if (was_cut) {
      ++points;
    } else if (points >= points_min) {
      break;
    } else {
      ++round;
      change = 0;
    }
  }
  EXPECT_GE(points, points_min);
  std::printf("power lost at %d points, and migrated from each\n", points);
}

}  // namespace
}  // namespace keel::db::sqlite::migrations_steps_test
