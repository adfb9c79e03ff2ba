#include "keel/app/checks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "keel/db/sqlite/database.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/own_loop.h"
#include "keel/db/testing/trace_vfs.h"
#include "keel/observe/log_ring.h"

namespace keel::app::checks_test {
namespace {

bool until(auto done) {
  for (int i = 0; i < 10'000; ++i) {
    if (done()) return true;
    ::usleep(1000);
  }
  return false;
}

class Checks : public ::testing::Test {
 protected:
  Checks() {
    EXPECT_TRUE(runtime_->start());
    health_.start_complete();
  }
  // Ends what was added, and the loops that have read from a database: in the test, before what they refer to.
  struct Until {
    Checks& test;
    ~Until() {
      test.checks_.clear();
      test.runtime_->stop();
    }
  };
  bool is_ready() {
    Buffer out;
    const bool ready = health_.ready(out);
    body_ = out.view();
    return ready;
  }
  bool shows(std::string_view text) {
    is_ready();
    return body_.find(text) != std::string::npos;
  }

  std::unique_ptr<io::Runtime> runtime_ = io::Runtime::make({.workers = 2, .engine = io::EngineKind::Epoll}).value();
  Health health_;
  std::vector<Health::Check> checks_;
  std::string body_;
};

TEST_F(Checks, workers_are_alive_while_their_loops_turn) {
  const Until end{*this};
  checks_ = check_workers(health_, *runtime_, 50_ms);
  health_.start(5_ms);
  ASSERT_TRUE(health_.wait_checked(10_s));
  Buffer out;
  EXPECT_TRUE(health_.live(out)) << out.view();
  EXPECT_NE(out.view().find("worker 1"), std::string_view::npos);

  runtime_->each([&](io::Loop& loop) {
    if (loop.index() != 1) return;
    EXPECT_TRUE(until([&] {
      out.clear();
      return !health_.live(out);
    }));
  });

  EXPECT_NE(out.view().find(R"("worker 1","status":"failing")"), std::string_view::npos) << out.view();
  EXPECT_NE(out.view().find(R"("worker 0","status":"ok")"), std::string_view::npos) << out.view();
  EXPECT_TRUE(until([&] {
    Buffer again;
    return health_.live(again);
  }));
}

TEST_F(Checks, a_full_disk_degrades_and_does_not_end_readiness) {
  db::testing::Folder folder;
  std::filesystem::create_directory(folder / "migrations");
  folder.write("migrations/0001_rows.sql", "create table rows (token text not null)");
  db::sqlite::TraceVfs vfs;
  auto database =
      db::sqlite::Database::open({.path = folder / "app.db", .migrations = folder / "migrations", .vfs = vfs.name()})
          .value();
  const Until end{*this};
  checks_ = check_workers(health_, *runtime_, 10_s);
  for (auto& check : check_database(health_, *database, runtime_->loop(0), 5_s)) checks_.push_back(std::move(check));
  health_.start(5_ms);
  ASSERT_TRUE(health_.wait_checked(10_s));
  EXPECT_TRUE(shows(R"({"status":"ok")")) << body_;
  const std::uint64_t writes = database->stats().writer.writes;

  vfs.fill_disk(true);
  ::usleep(20'000);
  EXPECT_TRUE(shows(R"({"status":"ok")")) << "nobody has written: " << body_;
  EXPECT_EQ(database->stats().writer.writes, writes) << "while all is well the check writes nothing";
  db::testing::OwnLoop loop;
  EXPECT_FALSE(loop.run(database->execute("insert into rows values ('x')")));
  EXPECT_TRUE(until([&] { return shows(R"("database writes","status":"degraded")"); })) << body_;
  EXPECT_TRUE(is_ready()) << body_;
  EXPECT_NE(body_.find(R"("database","status":"ok")"), std::string::npos) << "reads go on: " << body_;

  vfs.fill_disk(false);
  EXPECT_TRUE(until([&] { return shows(R"({"status":"ok")"); })) << "without anybody's write: " << body_;
}

TEST_F(Checks, little_disk_space_degrades) {
  EXPECT_TRUE(disk_space("/", config::ByteSize{1}));
  const Result<> little = disk_space("/", config::ByteSize{std::uint64_t{1} << 60});
  ASSERT_FALSE(little);
  EXPECT_TRUE(little.error().describe().starts_with("/ has ")) << little.error().describe();
  EXPECT_FALSE(disk_space("/nowhere", config::ByteSize{1}));

  const Until end{*this};
  checks_.push_back(check_disk_space(health_, {"/", "/"}, config::ByteSize{std::uint64_t{1} << 60}, 5_s));
  health_.start(1_h);
  ASSERT_TRUE(health_.wait_checked(10_s));
  EXPECT_TRUE(is_ready());
  EXPECT_NE(body_.find(R"("disk space","status":"degraded")"), std::string::npos) << body_;
}

TEST_F(Checks, lost_log_lines_degrade_until_none_are_lost) {
  if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  telemetry::LogWriterOptions options;
  options.mode = telemetry::LogWriterOptions::Mode::Manual;
  options.sinks.resize(1);
  options.sinks[0].to = telemetry::LogSink::To::File;
  options.sinks[0].path = "/dev/full";
  auto writer = telemetry::LogWriter::make(std::move(options)).value();
  writer->flush();  // What was recorded before.
  const Until end{*this};
  checks_.push_back(check_log(health_, *writer));
  log::Logger("checks").info("lost");
  writer->flush();

  health_.start(100_ms);

  EXPECT_TRUE(until([&] { return shows("1 lines were lost since the last check"); })) << body_;
  EXPECT_TRUE(until([&] { return shows(R"({"status":"ok")"); })) << body_;
}

}  // namespace
}  // namespace keel::app::checks_test
