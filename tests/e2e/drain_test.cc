// SIGTERM: what was begun is answered, nothing new is taken, and the process ends in time.

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <thread>

#include "client.h"
#include "keel/base/host.h"
#include "keel/db/sqlite/connection.h"
#include "service.h"

namespace e2e::drain_test {
namespace {

using namespace keel;

class Drain : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_engine(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
  }
  void start(std::vector<std::string> more = {}) {
    more.push_back("--network.engine=" + GetParam());
    service_ = std::make_unique<Service>(folder_, std::move(more));
    ASSERT_TRUE(service_->is_ready()) << service_->errors();
  }
  bool becomes_unready() {
    for (int i = 0; i < 500; ++i) {
      const Reply reply = call(service_->admin(), "GET", "/readyz");
      if (reply.status == 503) {
        EXPECT_NE(reply.body.find("draining"), std::string::npos) << reply.body;
        return true;
      }
      if (reply.status != 200) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }
  bool stops_listening() {
    for (int i = 0; i < 500; ++i) {
      if (!Connection(service_->address()).is_connected()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }
  std::vector<std::map<std::string, std::string>> log() {
    std::vector<std::map<std::string, std::string>> records;
    for (const std::string& line : lines(read_file(folder_ / "service.log"))) {
      const auto fields = members(line);
      EXPECT_TRUE(fields.has_value()) << line;
      if (fields) records.push_back(*fields);
    }
    return records;
  }
  void expect_last_lines(const std::string& signal) {
    const auto records = log();
    ASSERT_GE(records.size(), 2u);
    EXPECT_EQ(records.back().at("message"), "stopped");
    bool announced = false;
    for (const auto& record : records) {
      announced = announced || (record.at("message") == "stopping" && record.at("signal") == signal);
    }
    EXPECT_TRUE(announced);
  }

  Folder folder_;
  std::unique_ptr<Service> service_;
};

INSTANTIATE_TEST_SUITE_P(Engines, Drain, ::testing::Values("uring", "epoll"), [](auto& test) { return test.param; });

TEST_P(Drain, a_request_in_progress_is_completed) {
  start();
  const std::string body = R"({"name":"Late","email":"late@example.com"})";
  const std::string wire = request("POST", "/api/users", body);
  Connection connection(service_->address());
  ASSERT_TRUE(connection.send(wire.substr(0, wire.size() - body.size() / 2)));
  ASSERT_EQ(call(service_->address(), "GET", "/health").status, 200);

  service_->signal(SIGTERM);
  EXPECT_TRUE(becomes_unready());
  EXPECT_TRUE(stops_listening());
  EXPECT_EQ(call(service_->admin(), "GET", "/healthz").status, 200) << "draining is not a reason to be restarted";
  EXPECT_EQ(service_->wait(300_ms), std::nullopt) << "it waits for the rest of the request";
  ASSERT_TRUE(connection.send(wire.substr(wire.size() - body.size() / 2)));
  const auto reply = connection.receive();

  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, 201) << reply->body;
  EXPECT_TRUE(reply->closes());
  EXPECT_TRUE(connection.ends_silently(5_s));
  EXPECT_EQ(service_->wait(5_s), 0) << service_->errors();
  expect_last_lines("SIGTERM");
  start();
  EXPECT_EQ(call(service_->address(), "GET", reply->field("Location")).body, reply->body) << "and it was stored";
}

TEST_P(Drain, an_idle_connection_ends_without_a_word) {
  start();
  Connection used(service_->address());
  Connection fresh(service_->address());
  ASSERT_TRUE(used.send(request("GET", "/health")));
  ASSERT_EQ(used.receive().value_or(Reply()).status, 200);

  const Instant began = Host::system().now();
  service_->signal(SIGINT);

  EXPECT_TRUE(used.ends_silently(5_s));
  EXPECT_TRUE(fresh.ends_silently(5_s));
  EXPECT_EQ(service_->wait(5_s), 0) << service_->errors();
  EXPECT_LT(Host::system().now() - began, KEEL_SANITIZED ? 5_s : 1500_ms);
  expect_last_lines("SIGINT");
}

TEST_P(Drain, a_second_signal_ends_it_at_once) {
  start();
  Connection connection(service_->address());
  ASSERT_TRUE(connection.send("POST /api/data HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{"));
  ASSERT_EQ(call(service_->address(), "GET", "/health").status, 200);
  service_->signal(SIGTERM);
  ASSERT_TRUE(becomes_unready());
  ASSERT_EQ(service_->wait(300_ms), std::nullopt);

  const Instant began = Host::system().now();
  service_->signal(SIGTERM);

  EXPECT_EQ(service_->wait(5_s), 128 + SIGTERM);
  EXPECT_LT(Host::system().now() - began, KEEL_SANITIZED ? 5_s : 500_ms);
  EXPECT_EQ(service_->errors(), "second signal while draining: exiting immediately\n");
}

// timeout(1) signals its child and then the group that both are in.
TEST_P(Drain, two_signals_within_200_ms_are_one) {
  start();
  const std::string body = R"({"name":"Twice","email":"twice@example.com"})";
  const std::string wire = request("POST", "/api/users", body);
  Connection connection(service_->address());
  ASSERT_TRUE(connection.send(wire.substr(0, wire.size() - body.size())));
  ASSERT_EQ(call(service_->address(), "GET", "/health").status, 200);

  service_->signal(SIGTERM);
  service_->signal(SIGTERM);
  ::usleep(20'000);
  service_->signal(SIGTERM);
  ASSERT_EQ(service_->wait(100_ms), std::nullopt);
  ASSERT_TRUE(connection.send(body));
  const auto reply = connection.receive();

  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, 201) << reply->body;
  EXPECT_EQ(service_->wait(5_s), 0) << service_->errors();
  expect_last_lines("SIGTERM");
}

TEST_P(Drain, what_takes_too_long_is_cut_off_at_the_deadline) {
  start({"--network.http.drain_timeout_sec=0.4"});
  Connection connection(service_->address());
  ASSERT_TRUE(connection.send("POST /api/data HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{"));
  ASSERT_EQ(call(service_->address(), "GET", "/health").status, 200);

  const Instant began = Host::system().now();
  service_->signal(SIGTERM);

  EXPECT_EQ(service_->wait(10_s), 1) << "the exit code says that a request was not answered";
  EXPECT_GE(Host::system().now() - began, 400_ms);
  EXPECT_LT(Host::system().now() - began, KEEL_SANITIZED ? 6_s : 2_s);
  bool told = false;
  for (const auto& record : log()) told = told || record.at("message") == "requests were aborted at the drain deadline";
  EXPECT_TRUE(told);
}

// Every request has a path of its own, so that the log tells which ones were read.
struct Load {
  std::mutex mutex;
  std::set<std::string> answered;
  std::set<std::string> unanswered;  // The connection ended before the first byte of a response.
  std::set<std::string> stored;      // Names of the users whose 201 has arrived.
  std::set<std::string> unstored;    // And of those without a response.
  std::vector<std::string> torn;     // A response that began and did not end, or came after one that said close.
  std::atomic<int> connections = 0;
  std::atomic<int> requests = 0;
};

// Requests until the service takes no more. `reuses`: keeps its connection as long as it may.
void keep_asking(const Address& address, int client, bool reuses, Load& load) {
  for (int n = 0; n < 1'000'000;) {
    Connection connection(address);
    if (!connection.is_connected()) return;
    ++load.connections;
    for (bool open = true; open; ++n) {
      const std::string token = std::to_string(client) + "-" + std::to_string(n);
      const bool posts = n % 4 == 0;
      const std::string wire =
          posts ? request("POST", "/api/users", R"({"name":"N)" + token + R"(","email":"e)" + token + R"(@load"})")
                : request("GET", "/unknown/" + token);
      const bool sent = connection.send(wire);
      const auto reply = connection.receive();
      ++load.requests;
      std::lock_guard lock(load.mutex);
      if (reply) {
        (posts ? load.stored : load.answered).insert(token);
        if (reply->status != (posts ? 201 : 404)) load.torn.push_back(token + ": " + reply->head + reply->body);
        open = reuses && !reply->closes();
      } else {
        if (!connection.unfinished().empty() || (sent && !connection.ended())) {
          load.torn.push_back(token + ": " + connection.unfinished());
        }
        (posts ? load.unstored : load.unanswered).insert(token);
        open = false;
      }
    }
  }
}

TEST_P(Drain, under_load_no_request_that_was_read_fails) {
  start();
  Load load;
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) clients.emplace_back([&, i] { keep_asking(service_->address(), i, true, load); });
  for (int i = 4; i < 8; ++i) clients.emplace_back([&, i] { keep_asking(service_->address(), i, false, load); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));

  const int before = load.requests;
  const Instant began = Host::system().now();
  service_->signal(SIGTERM);
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(service_->wait(10_s), 0) << "0: no request in progress was cut off";
  const Duration took = Host::system().now() - began;

  EXPECT_GT(before, 50) << "there was load";
  EXPECT_EQ(load.torn, std::vector<std::string>());
  EXPECT_LT(took, KEEL_SANITIZED ? 10_s : 3_s);
  // A client waits for one response at a time, and each of the two listeners closes once.
  EXPECT_LE(load.unanswered.size() + load.unstored.size(), 2 * clients.size());
  std::set<std::string> logged;
  int posts = 0;
  for (const auto& record : log()) {
    if (record.at("message") != "request") continue;
    const std::string& path = record.at("path");
    if (path.starts_with("/unknown/")) logged.insert(path.substr(9));
    else ++posts;
  }
  EXPECT_EQ(logged, load.answered) << "what was read was answered, and nothing else was read";
  EXPECT_EQ(posts, static_cast<int>(load.stored.size()));
  expect_last_lines("SIGTERM");

  std::set<std::string> rows;
  auto keep = [&](const db::Row& row) { rows.emplace(row.text(0).substr(1)); };
  auto connection = db::sqlite::Connection::open({.path = folder_ / "app.db"}).value();
  ASSERT_TRUE(connection->query("select name from users where email like '%@load'", keep).has_value());
  EXPECT_EQ(rows, load.stored) << "a row is there exactly when its 201 has arrived";
  std::printf(
      "%d requests on %d connections; after SIGTERM %d more, %zu of them on connections that ended unread; "
      "drained in %.0f ms\n",
      load.requests.load(), load.connections.load(), load.requests.load() - before,
      load.unanswered.size() + load.unstored.size(), took.count_seconds() * 1e3);
}

}  // namespace
}  // namespace e2e::drain_test
