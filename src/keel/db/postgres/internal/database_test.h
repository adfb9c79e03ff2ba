// keel/db/postgres/internal/database_test.h — for tests: a database of a real server on each engine that has sockets.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "keel/db/postgres/database.h"
#include "keel/db/postgres/testing/real_server.h"
#include "keel/io/testing/loop_test.h"
#include "keel/task/scope.h"

namespace keel::db::postgres::testing {

// One server for all tests of a program.
inline RealServer& shared_server() {
  static RealServer server({.settings = {"max_connections = 60"},
                            .access = {"local all speaks scram-sha-256", "host all speaks 127.0.0.1/32 scram-sha-256"},
                            .has_tcp = true});
  return server;
}

class RealDatabaseTest : public io::testing::LoopTest {
 protected:
  void SetUp() override {
    if (!RealServer::is_installed()) GTEST_SKIP() << RealServer::missing;
    LoopTest::SetUp();
  }
  void TearDown() override {
    close();
    LoopTest::TearDown();
  }
  Database& open(DatabaseOptions options = {}) {
    close();
    if (options.url.empty()) options.url = shared_server().url();
    options.uses_environment = false;
    // Starting a server may have taken seconds since the loop read the clock, and statements wait by its time.
    loop().turn(Instant());
    auto made = Database::make(std::move(options));
    EXPECT_TRUE(made) << made.error().describe();
    database_ = *std::move(made);
    return *database_;
  }
  void close() {
    if (database_ == nullptr) return;
    database_->detach(loop());
    EXPECT_TRUE(until([&] { return database_->is_detached(); }));
    database_.reset();
  }
  // The first column of the first row.
  std::int64_t integer(Sql sql) {
    std::int64_t value = -1;
    auto keep = [&](const Row& row) { value = row.integer(0); };
    const auto read = run(query_rows(sql, keep));
    EXPECT_TRUE(read) << read.error().describe();
    return value;
  }
  Task<> query_rows(Sql sql, FunctionRef<void(const Row&)> on_row) {
    SqlFor<0> text("");
    static_cast<Sql&>(text) = sql;
    co_await database_->query(text, on_row);
  }
  void script(std::string text) {
    const auto done = run(database_->run_script(std::move(text)));
    EXPECT_TRUE(done) << done.error().describe();
  }

  std::unique_ptr<Database> database_;
};

inline auto real_engines() { return ::testing::Values(io::testing::Which::Uring, io::testing::Which::Epoll); }

}  // namespace keel::db::postgres::testing
