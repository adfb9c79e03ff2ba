// Every 201 is sent after an fsync of the WAL that began after its row was written: the service's own handlers on a
// watched disk, 64 real connections.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "api/api.h"
#include "client.h"
#include "data.h"
#include "health.h"
#include "keel/db/sqlite/database.h"
#include "keel/db/testing/trace_vfs.h"
#include "keel/http/server/server.h"
#include "keel/io/runtime.h"
#include "service.h"
#include "users.h"

namespace e2e::order_test {
namespace {

using namespace keel;

constexpr int clients = 64;
constexpr int posts_each = 4;

class Order : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_engine(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
  }
  // Each client marks the moment at which it has the whole response. The number of 201.
  int post_users(db::sqlite::Synchronous synchronous) {
    auto opened = db::sqlite::Database::open({.path = folder_ / "app.db",
                                              .migrations = KEEL_E2E_MIGRATIONS,
                                              .synchronous = synchronous,
                                              .vfs = vfs_.name()});
    EXPECT_TRUE(opened.has_value()) << opened.error().describe();
    db::sqlite::Database& database = **opened;
    auto runtime = io::Runtime::make(
                       {.workers = 2, .engine = GetParam() == "uring" ? io::EngineKind::Uring : io::EngineKind::Epoll})
                       .value();
    EXPECT_TRUE(runtime->start());
    std::atomic<int> created = 0;
    {
      Data data(database);
      Health health;
      Users users(database);
      http::Router router;
      api::mount(router, data, health, users);
      http::ServerOptions options;
      options.address = Address::parse("127.0.0.1:0").value();
      options.access_log = false;
      http::Server server(router, std::move(options));
      EXPECT_TRUE(server.start(*runtime));
      vfs_.clear();
      std::vector<std::thread> threads;
      for (int client = 0; client < clients; ++client) {
        threads.emplace_back([&, client] {
          Connection connection(server.address());
          for (int i = 0; i < posts_each; ++i) {
            const std::string token = "<client " + std::to_string(client) + " row " + std::to_string(i) + ">";
            const std::string email = "c" + std::to_string(client) + "r" + std::to_string(i) + "@example.com";
            connection.send(
                i % 2 == 0 ? request("POST", "/api/users", R"({"name":")" + token + R"(","email":")" + email + "\"}")
                           : request("POST", "/api/data", R"({"token":")" + token + "\"}"));
            const auto reply = connection.receive();
            if (!reply || reply->status != 201) return;
            vfs_.mark(token);
            ++created;
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      EXPECT_TRUE(server.drain(10_s));
      groups_ = database.stats().writer.groups;
    }
    database.close();
    runtime->stop();
    return created;
  }

  Folder folder_;
  db::sqlite::TraceVfs vfs_;
  std::uint64_t groups_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Engines, Order, ::testing::Values("uring", "epoll"), [](auto& test) { return test.param; });

TEST_P(Order, every_201_follows_an_fsync_that_began_after_its_row_was_written) {
  EXPECT_EQ(post_users(db::sqlite::Synchronous::Full), clients * posts_each);

  EXPECT_EQ(vfs_.violations(), std::vector<std::string>());
  EXPECT_GE(vfs_.syncs(), groups_) << "one fsync a group";
  EXPECT_LT(groups_, std::uint64_t{clients * posts_each}) << "connections share fsyncs";
}

TEST_P(Order, the_same_check_is_red_without_syncs) {
  EXPECT_EQ(post_users(db::sqlite::Synchronous::Off), clients * posts_each);

  EXPECT_EQ(vfs_.violations().size(), std::size_t{clients * posts_each});
}

}  // namespace
}  // namespace e2e::order_test
