// The program as its users meet it: what it prints, and how it ends.

#include "migrate/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "keel/base/host.h"
#include "keel/db/postgres/testing/real_server.h"
#include "keel/db/testing/folder.h"
#include "postgres/link.h"

namespace keel::migrate::migrate_command_test {
namespace {

struct Ran {
  int code = -1;
  std::string out;  // Both streams.
};

class MigrateCommand : public ::testing::Test {
 protected:
  MigrateCommand() {
    std::filesystem::create_directories(folder_ / "db/migrations");
    folder_.write("db/migrations/0001_users.sql", "create table users (id integer primary key);\n");
    folder_.write("db/migrations/0002_orders.sql", "create table orders (id integer primary key);\n");
    folder_.write("db/migrations/0002_orders.down.sql", "drop table orders;\n");
  }
  Ran keel(const std::string& arguments) {
    Ran ran;
    std::FILE* pipe =
        popen(("cd " + folder_.path() + " && " KEEL_PROGRAM " migrate " + arguments + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return ran;
    char part[4096];
    while (const std::size_t size = std::fread(part, 1, sizeof part, pipe)) ran.out.append(part, size);
    const int status = pclose(pipe);
    if (WIFEXITED(status)) ran.code = WEXITSTATUS(status);
    return ran;
  }
  void expect(const std::string& arguments, int code, const std::string& out) {
    const Ran ran = keel(arguments);
    EXPECT_EQ(ran.code, code) << arguments;
    EXPECT_EQ(ran.out, out) << arguments;
  }

  db::testing::Folder folder_;
};

TEST_F(MigrateCommand, applies_undoes_and_says_what_is_applied) {
  expect("status", 0,
         "0001_users.sql                           not applied, cannot be undone\n"
         "0002_orders.sql                          not applied\n"
         "keel migrate: data/app.db is at version 0000, 2 files not applied\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "data")) << "status makes nothing";
  expect("up --to 1", 0, "keel migrate: 1 file applied, data/app.db is at version 0001\n");
  expect("up", 0, "keel migrate: 1 file applied, data/app.db is at version 0002\n");
  expect("up", 0, "keel migrate: 0 files applied, data/app.db is at version 0002\n");
  expect("down", 0, "keel migrate: 1 file undone, data/app.db is at version 0001\n");
  expect("up", 0, "keel migrate: 1 file applied, data/app.db is at version 0002\n");
  expect("redo", 0, "keel migrate: 1 file applied anew, data/app.db is at version 0002\n");
  expect(
      "down --steps 2", 1,
      "keel migrate: migrations: 0001_users.sql cannot be undone: there is no 0001_users.down.sql; write it, or undo "
      "the change in a new file (keel migrate new)\n");
  const Ran status = keel("status");
  EXPECT_EQ(status.out.substr(0, 51), "0001_users.sql                           applied 20");
}

TEST_F(MigrateCommand, makes_folders_that_only_its_user_can_enter) {
  expect("up --to 1 --database sub/below/data/app.db", 0,
         "keel migrate: 1 file applied, sub/below/data/app.db is at version 0001\n");
  for (const char* folder : {"sub", "sub/below", "sub/below/data"}) {
    EXPECT_EQ(std::filesystem::status(folder_ / folder).permissions(), std::filesystem::perms::owner_all) << folder;
  }
}

TEST_F(MigrateCommand, checks_the_files_and_the_database) {
  expect("check", 0, "keel migrate: 2 files of db/migrations good\n");
  expect("check --database none.db", 2, "keel migrate: none.db: there is no such database\n");
  ASSERT_EQ(keel("up --to 1").code, 0);
  expect("check", 1,
         "keel migrate: 1 file of db/migrations not applied to data/app.db: keel migrate up applies them\n");
  ASSERT_EQ(keel("up").code, 0);
  expect("check", 0, "keel migrate: 2 files of db/migrations good, and applied to data/app.db\n");

  folder_.write("db/migrations/0002_orders.down.sql", "drop table order;\n");
  expect("check", 1, "keel migrate: migrations: 0002_orders.down.sql:1: near \"order\": syntax error\n");
  folder_.write("db/migrations/0002_orders.down.sql", "drop table users;\n");
  expect("check", 1, "keel migrate: migrations: 0002_orders.sql:1: table orders already exists\n");
  folder_.write("db/migrations/0002_orders.sql", "create table orders (id integer);\n");
  folder_.write("db/migrations/0002_orders.down.sql", "drop table orders;\n");
  const Ran edited = keel("check");
  EXPECT_EQ(edited.code, 1);
  EXPECT_NE(edited.out.find("0002_orders.sql has changed since it was applied"), std::string::npos) << edited.out;
}

TEST_F(MigrateCommand, makes_the_next_file) {
  expect("new add_notes", 0, "db/migrations/0003_add_notes.sql\n");
  expect("new more --down --json", 0,
         "{\"version\":0,\"applied\":null,\"undone\":null,\"pending\":null,\"file\":\"db/migrations/0004_more.sql\","
         "\"migrations\":null,\"error\":null}\n");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "db/migrations/0004_more.down.sql"));
  expect("new 'a b'", 1,
         "keel migrate: migrations: a b: a name must consist of a-z, 0-9 and '_', such as "
         "add_orders\n");
  EXPECT_EQ(keel("up").code, 0) << "empty files are applied";
}

TEST_F(MigrateCommand, speaks_json) {
  expect("up --to 1 --json", 0,
         "{\"version\":1,\"applied\":1,\"undone\":null,\"pending\":null,\"file\":null,\"migrations\":null,\"error\":"
         "null}\n");
  const Ran status = keel("status --json");
  EXPECT_NE(status.out.find("\"pending\":1,\"file\":null,\"migrations\":[{\"version\":1,\"name\":\"0001_users.sql\","
                            "\"applied\":true,\"applied_at\":\"20"),
            std::string::npos)
      << status.out;
  EXPECT_NE(
      status.out.find("{\"version\":2,\"name\":\"0002_orders.sql\",\"applied\":false,\"applied_at\":null,\"down\":true,"
                      "\"steps_done\":0}]"),
      std::string::npos)
      << status.out;
  const Ran refused = keel("down --json");
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.out.find("\"error\":\"migrations: 0001_users.sql cannot be undone"), std::string::npos)
      << refused.out;
}

TEST_F(MigrateCommand, speaks_json_of_what_is_wrong_with_its_use_too) {
  const std::string head =
      "{\"version\":0,\"applied\":null,\"undone\":null,\"pending\":null,\"file\":null,\"migrations\":null,"
      "\"error\":\"";
  expect("up --frob --json", 2, head + "--frob: there is no such option; keel migrate --help lists them\"}\n");
  setenv("KEEL_DATABASE__TYPE", "none", 1);
  expect("up --json", 2, head + "KEEL_DATABASE__TYPE none: expected sqlite or postgres\"}\n");
  unsetenv("KEEL_DATABASE__TYPE");
}

TEST_F(MigrateCommand, wrong_use_ends_with_2_and_one_line) {
  expect("", 2,
         "keel migrate: expected: keel migrate status, up, down, redo, check or new; keel migrate --help says more\n");
  expect("upp", 2,
         "keel migrate: expected: keel migrate status, up, down, redo, check or new; keel migrate --help says more\n");
  expect("up --database", 2, "keel migrate: --database: needs a value\n");
  expect("down --to 3", 2, "keel migrate: --to: belongs to keel migrate up\n");
  expect("up --to x", 2, "keel migrate: --to x: expected a number from 1 to 9999\n");
  expect("up --frob", 2, "keel migrate: --frob: there is no such option; keel migrate --help lists them\n");
  expect("up now", 2, "keel migrate: now: unexpected argument; keel migrate --help lists the arguments\n");
  expect("new", 2, "keel migrate: expected: keel migrate new NAME, such as add_orders\n");
  expect("down --database none.db", 2, "keel migrate: none.db: there is no such database\n");
  expect("up --migrations none", 2, "keel migrate: migrations: none: No such file or directory\n");
  expect("up --to 3", 1,
         "keel migrate: migrations: db/migrations has no file number 0003: its last file is number 0002\n");
}

// No other database is migrated than the one that a service would use.
TEST_F(MigrateCommand, makes_no_file_where_the_environment_says_postgres) {
  setenv("KEEL_DATABASE__TYPE", "postgres", 1);
  setenv("PGHOST", "/nowhere", 1);
  setenv("PGUSER", "app", 1);
  EXPECT_EQ(keel("up").code, 2) << "its server is away";
  setenv("KEEL_DATABASE__URL", "host=/nowhere user=app dbname=shop", 1);
  EXPECT_EQ(keel("up").code, 2);
  setenv("KEEL_DATABASE__URL", "postgres://app@db:port/shop", 1);
  EXPECT_NE(keel("up").out.find("keel migrate: KEEL_DATABASE__URL: connection to PostgreSQL: "), std::string::npos);
  unsetenv("KEEL_DATABASE__URL");
  setenv("KEEL_DATABASE__URL_FILE", "url", 1);
  expect("up", 2,
         "keel migrate: KEEL_DATABASE__URL_FILE: url cannot be opened: No such file or directory; name a file that "
         "this process may read\n");
  setenv("KEEL_DATABASE__URL_FILE", "db", 1);
  expect("up", 2,
         "keel migrate: KEEL_DATABASE__URL_FILE: db is not a regular file; only a regular file can be read again\n");
  setenv("KEEL_DATABASE__URL_FILE", "url", 1);
  folder_.write("url", "postgres://app@%2Fnowhere/shop\n");
  const Ran up = keel("up");
  EXPECT_EQ(up.code, 2);
  EXPECT_NE(up.out.find("/nowhere"), std::string::npos) << up.out;
  // As in a unit of systemd, which passes this as it is.
  setenv("KEEL_DATABASE__URL_FILE", "$CREDENTIALS_DIRECTORY/url", 1);
  setenv("CREDENTIALS_DIRECTORY", folder_.path().c_str(), 1);
  EXPECT_NE(keel("up").out.find("/nowhere"), std::string::npos);
  unsetenv("CREDENTIALS_DIRECTORY");
  EXPECT_NE(keel("up").out.find("there is no variable CREDENTIALS_DIRECTORY"), std::string::npos);
  setenv("KEEL_DATABASE__TYPE", "postgresql", 1);
  expect("up", 2, "keel migrate: KEEL_DATABASE__TYPE postgresql: expected sqlite or postgres\n");
  for (const char* const name : {"KEEL_DATABASE__TYPE", "KEEL_DATABASE__URL_FILE", "PGHOST", "PGUSER"}) unsetenv(name);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "data"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "host=/nowhere user=app dbname=shop"));
}

// The same commands on a PostgreSQL server.
class MigrateOnPostgres : public MigrateCommand {
 protected:
  using RealServer = db::postgres::testing::RealServer;
  using Link = tool::PostgresLink;

  void SetUp() override {
    if (!RealServer::is_installed()) GTEST_SKIP() << RealServer::missing;
    static RealServer server({.access = {"local all keel_guest trust"}});
    // In these tests names have no spaces, and the program is asked as a service is.
    setenv("KEEL_DATABASE__TYPE", "postgres", 1);
    setenv("KEEL_DATABASE__URL", server.url().c_str(), 1);
    setenv("KEEL_SCRATCH_POSTGRES_URL", server.url().c_str(), 1);
    link_ = Link::open(server.url()).value();
    empty();
    folder_.write("db/migrations/0001_users.sql", "create table users (id integer primary key);\n");
    where_ = "keel@" + server.folder() + ":5432/postgres";
  }
  void TearDown() override {
    for (const char* const name :
         {"KEEL_DATABASE__TYPE", "KEEL_DATABASE__URL", "KEEL_DATABASE__POOLER", "KEEL_SCRATCH_POSTGRES_URL"}) {
      unsetenv(name);
    }
  }
  void empty() { EXPECT_TRUE(link_->query("drop schema public cascade; create schema public")); }
  std::string value(const std::string& sql) {
    const auto rows = link_->query(sql);
    return !rows ? rows.error().describe() : rows->empty() ? "nothing" : (*rows)[0][0];
  }
  // `keel migrate up`, which is killed after this long.
  void start_and_kill(Duration after) const {
    const pid_t child = fork();
    if (child == 0) {
      const int none = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      dup2(none, 1);
      dup2(none, 2);
      if (chdir(folder_.path().c_str()) == 0) execl(KEEL_PROGRAM, "keel", "migrate", "up", nullptr);
      _exit(127);
    }
    Host::system().sleep(after);
    ::kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
  }

  std::unique_ptr<Link> link_;
  std::string where_;
};

TEST_F(MigrateOnPostgres, applies_undoes_looks_and_checks) {
  folder_.write("db/migrations/0002_orders.postgres.sql", "create table orders (id bigint primary key);\n");
  const Ran status = keel("status");
  EXPECT_EQ(status.code, 0) << status.out;
  EXPECT_NE(status.out.find("0002_orders.postgres.sql                 not applied\n"), std::string::npos) << status.out;
  EXPECT_NE(status.out.find("/postgres is at version 0000, 2 files not applied\n"), std::string::npos) << status.out;
  EXPECT_EQ(value("select to_regclass('keel_migrations') is null"), "t") << "status makes nothing";
  EXPECT_EQ(keel("up --to 1").code, 0);
  EXPECT_EQ(keel("check").code, 1) << "one is not applied";
  EXPECT_EQ(keel("up").code, 0);
  EXPECT_EQ(value("select pg_typeof(id)::text from (select max(id) as id from orders) as o"), "bigint");
  const Ran check = keel("check");
  EXPECT_EQ(check.code, 0) << check.out;
  EXPECT_EQ(value("select count(*) from pg_database where datname like 'keel_scratch%'"), "0");
  EXPECT_EQ(keel("redo").code, 0);
  EXPECT_EQ(keel("down").code, 0);
  EXPECT_EQ(value("select to_regclass('orders') is null"), "t");
  EXPECT_EQ(keel("down").code, 1) << "it has no file for that";
  const Ran unreachable = keel("status --database postgres://keel:secret@127.0.0.1:1/shop");
  EXPECT_EQ(unreachable.code, 2);
  EXPECT_NE(unreachable.out.find("127.0.0.1:1"), std::string::npos) << unreachable.out;
  EXPECT_EQ(unreachable.out.find("secret"), std::string::npos) << unreachable.out;
}

TEST_F(MigrateOnPostgres, ends_with_1_for_what_the_server_does_not_allow) {
  const auto refuses = [&](const char* sql, const char* reason) {
    folder_.write("db/migrations/0002_orders.sql", sql);
    const Ran ran = keel("up");
    EXPECT_EQ(ran.code, 1) << ran.out;
    EXPECT_NE(ran.out.find(reason), std::string::npos) << ran.out;
  };
  refuses("create view ids as select id from users;\nalter table users alter id type bigint;\n", "(0A000)");
  refuses("create role keel_nobody;\nset local role keel_nobody;\nselect rolname from pg_authid;\n", "(42501)");
  EXPECT_TRUE(link_->query("create role keel_guest login"));
  const std::string url = std::getenv("KEEL_DATABASE__URL");
  ASSERT_TRUE(url.ends_with("user=keel")) << url;
  setenv("KEEL_DATABASE__URL", (url + "_guest").c_str(), 1);
  empty();
  EXPECT_TRUE(link_->query("grant usage on schema public to public"));
  const Ran forbidden = keel("up");
  EXPECT_EQ(forbidden.code, 1) << forbidden.out;
  EXPECT_NE(forbidden.out.find("(42501)"), std::string::npos) << forbidden.out;
  EXPECT_TRUE(link_->query("drop role keel_guest"));
}

TEST_F(MigrateOnPostgres, refuses_behind_a_pooler_what_needs_the_server_itself) {
  folder_.write("db/migrations/0002_orders.sql", "-- keel: no transaction\nupdate users set id = id;\n");
  const std::string refused =
      "keel migrate: migrations: 0002_orders.sql: a file that runs without a transaction cannot be applied through a "
      "pooler: apply the file directly to the server, with keel migrate up --database and the server's URL\n";
  setenv("KEEL_DATABASE__POOLER", "true", 1);
  expect("up", 1, refused);
  setenv("KEEL_DATABASE__POOLER", "false", 1);
  expect("up --pooler", 1, refused);
  expect("up", 0, "keel migrate: 1 file applied, " + where_ + " is at version 0002\n");
}

// Killed at one moment after the other; whatever was there then is finished by the next start.
TEST_F(MigrateOnPostgres, resumes_after_it_was_killed_at_any_time) {
  folder_.write("db/migrations/0002_orders.sql",
                "create table orders (id integer primary key, n integer);\n"
                "insert into orders select i, 0 from generate_series(1, 2000) as i;\n");
  folder_.write("db/migrations/0003_more.sql",
                "-- keel: no transaction\nupdate orders set n = n + 1;\n"
                "create index concurrently if not exists orders_by_n on orders (n);\nvacuum orders;\n"
                "update orders set n = n + 1;\n");
  folder_.write("db/migrations/0004_last.sql", "update orders set n = n + 1;\ncreate table last (id integer);\n");
  const char* const wanted = std::getenv("KEEL_MIGRATION_KILLS");
  const int kills = wanted == nullptr ? 20 : std::atoi(wanted);
  std::map<std::string, int> found;  // How often a version was reached when it was killed.
  for (int i = 0; i < kills && !HasFailure(); ++i) {
    empty();
    start_and_kill(Duration::microseconds(5'000 + 120'000 * static_cast<std::int64_t>(i) / kills));
    const bool has_table = value("select to_regclass('keel_migrations') is not null") == "t";
    ++found[has_table ? value("select coalesce(max(version), 0) from keel_migrations") : "0"];
    const Ran resumed = keel("up --timeout 60");
    EXPECT_EQ(resumed.code, 0) << resumed.out;
    EXPECT_EQ(value("select string_agg(version::text, ' ' order by version) from keel_migrations"), "1 2 3 4");
    EXPECT_EQ(value("select min(n) || ' ' || max(n) || ' ' || count(*) from orders"), "3 3 2000")
        << "each statement once";
    EXPECT_EQ(value("select indisvalid from pg_index where indexrelid = 'orders_by_n'::regclass"), "t");
    EXPECT_EQ(value("select count(*) from keel_migration_steps"), "0");
  }
  std::printf("killed %d times, at version", kills);
  for (const auto& [version, times] : found) std::printf(" %s (%d)", version.c_str(), times);
  std::printf(", and migrated from each\n");
}

TEST_F(MigrateCommand, helps_itself) {
  const Ran ran = keel("--help");
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("--migrations DIR"), std::string::npos);
}

}  // namespace
}  // namespace keel::migrate::migrate_command_test
