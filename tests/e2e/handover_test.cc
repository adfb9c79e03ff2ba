// Restarts in which nobody is rejected: by hand-over from a process to its successor, and by a service manager's
// sockets.

#include "keel/app/handover.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "client.h"
#include "keel/base/sanitizers.h"
#include "keel/db/sqlite/connection.h"
#include "service.h"

namespace e2e::handover_test {
namespace {

using namespace keel;

// What 64 clients see. Nothing is tried twice: a request fails when its connection cannot be made, or ends without an
// answer, or the response is another than it should be. A connection may only end behind a response that said so.
class Load {
 public:
  Load(const Address& address, int kept, int churning) : address_(address) {
    for (int i = 0; i < kept + churning; ++i) clients_.emplace_back([this, i, kept] { ask(i, i < kept); });
  }
  ~Load() { end(); }
  void end() {
    enough_ = true;
    for (std::thread& client : clients_) client.join();
    clients_.clear();
  }
  int answered() const { return answered_; }
  int connections() const { return connections_; }
  // After end():
  std::vector<std::string> failed;
  std::set<std::string> stored;  // Names of the users whose 201 has arrived.

 private:
  void ask(int client, bool keeps) {
    for (int n = 0; !enough_;) {
      Connection connection(address_);
      ++connections_;
      for (bool open = true; open && !enough_; ++n) open = ask_once(connection, client, n) && keeps;
      ::usleep(keeps ? 0 : 10'000);
    }
  }
  bool ask_once(Connection& connection, int client, int n) {
    const std::string name = std::to_string(client) + "-" + std::to_string(n);
    const bool posts = n % 4 == 0;
    const bool sent = connection.send(
        posts ? request("POST", "/api/users", R"({"name":")" + name + R"(","email":")" + name + R"(@load"})")
              : request("GET", "/api/users/1"));
    const auto reply = sent ? connection.receive(false, 30_s) : std::nullopt;
    const bool good = reply && reply->status == (posts ? 201 : 200);
    {
      std::lock_guard lock(mutex_);
      if (!good) {
        failed.push_back(name + ": " +
                         (!connection.is_connected() ? "no connection"
                          : !sent                    ? "not sent"
                                                     : "no answer") +
                         ", error " + std::to_string(connection.error()) + ", " + (reply ? reply->head : "nothing") +
                         connection.unfinished());
      }
      if (good && posts) stored.insert(name);
    }
    if (good) ++answered_;
    ::usleep(1000);
    return good && !reply->closes();
  }

  const Address address_;
  std::atomic<bool> enough_ = false;
  std::atomic<int> answered_ = 0;
  std::atomic<int> connections_ = 0;
  std::mutex mutex_;
  std::vector<std::thread> clients_;
};

class Restart : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_engine(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
  }
  std::unique_ptr<Service> start(std::vector<std::string> more = {}) {
    more.push_back("--network.engine=" + GetParam());
    more.push_back("--network.handover.path=" + path());
    return std::make_unique<Service>(folder_, std::move(more));
  }
  std::string path() const { return folder_ / "control"; }

  // Restarts under load, each successor with the next of `workers`.
  void restart(const std::vector<int>& workers, int kept, int churning) {
    auto running = start();
    ASSERT_TRUE(running->is_ready()) << running->errors();
    const Address address = running->address();
    const Address admin = running->admin();
    Load load(address, kept, churning);
    std::atomic<bool> enough = false;
    std::atomic<int> probes = 0;
    std::vector<std::string> unready;
    std::thread prober([&] {
      for (; !enough; ++probes, ::usleep(2000)) {
        const Reply reply = call(admin, "GET", "/readyz");
        if (reply.status != 200) unready.push_back(std::to_string(reply.status) + " " + reply.body);
      }
    });
    int before = 0;
    for (const int count : workers) {
      // Each one has answered something.
      for (int i = 0; i < 1000 && load.answered() < before + 100; ++i) ::usleep(10'000);
      before = load.answered();
      auto successor = start({"--network.workers=" + std::to_string(count)});
      EXPECT_TRUE(successor->is_ready()) << successor->errors();
      EXPECT_EQ(successor->address(), address);
      EXPECT_EQ(successor->admin(), admin);
      EXPECT_EQ(running->wait(30_s), 0) << running->errors();
      EXPECT_EQ(running->errors(), "");
      running = std::move(successor);
      if (HasFailure()) break;
    }
    load.end();
    enough = true;
    prober.join();
    EXPECT_EQ(unready, std::vector<std::string>()) << "whoever asked, one of the two was ready";
    EXPECT_GT(probes, static_cast<int>(workers.size()));
    EXPECT_EQ(running->stop(), 0) << running->errors();

    EXPECT_EQ(load.failed, std::vector<std::string>());
    std::map<std::string, int> rows;
    auto keep = [&](const db::Row& row) { ++rows[std::string(row.text(0))]; };
    auto connection = db::sqlite::Connection::open({.path = folder_ / "app.db"}).value();
    ASSERT_TRUE(connection->query("select name from users where email like '%@load'", keep).has_value());
    std::set<std::string> names;
    for (const auto& [name, count] : rows) {
      EXPECT_EQ(count, 1) << name;
      names.insert(name);
    }
    EXPECT_EQ(names, load.stored) << "a row is there exactly when its 201 has arrived";
    std::printf("%zu restarts, %d requests on %d connections, %zu users stored, %zu requests failed\n", workers.size(),
                load.answered(), load.connections(), load.stored.size(), load.failed.size());
  }

  Folder folder_;
};

INSTANTIATE_TEST_SUITE_P(Engines, Restart, ::testing::Values("uring", "epoll"), [](auto& test) { return test.param; });

TEST_P(Restart, twenty_times_under_64_connections_fails_no_request) {
  restart(std::vector<int>(KEEL_SANITIZED ? 5 : 20, 2), 32, 32);
}

TEST_P(Restart, with_another_number_of_workers_fails_no_request) { restart({4, 1, 3, 2}, 8, 8); }

TEST_P(Restart, that_fails_leaves_the_running_service_as_it_was) {
  auto running = start();
  ASSERT_TRUE(running->is_ready()) << running->errors();
  Connection connection(running->address());
  ASSERT_TRUE(connection.send(request("GET", "/health")));
  ASSERT_EQ(connection.receive().value_or(Reply()).status, 200);

  Load load(running->address(), 8, 8);
  for (int i = 0; i < 5; ++i) {
    // It gets the sockets, and then finds that its admin port is another's.
    auto failing = start({"--monitoring.metrics.export_port=" + std::to_string(running->address().port())});

    EXPECT_EQ(failing->wait(20_s), 1);
    EXPECT_NE(failing->errors().find("admin listener"), std::string::npos) << failing->errors();
  }
  load.end();
  EXPECT_EQ(load.failed, std::vector<std::string>());
  EXPECT_GT(load.answered(), 100);
  EXPECT_EQ(running->wait(200_ms), std::nullopt);
  ASSERT_TRUE(connection.send(request("GET", "/health")));
  const auto reply = connection.receive();
  ASSERT_TRUE(reply.has_value());
  EXPECT_FALSE(reply->closes());
  auto successor = start();
  ASSERT_TRUE(successor->is_ready()) << successor->errors();
  EXPECT_EQ(running->wait(20_s), 0) << running->errors();
  EXPECT_EQ(call(successor->address(), "GET", "/health").status, 200);
}

TEST_P(Restart, binds_what_the_new_configuration_has_elsewhere) {
  auto running = start();
  ASSERT_TRUE(running->is_ready()) << running->errors();
  const Address old = running->address();

  auto successor = start({"--network.http.address=127.0.0.2"});

  ASSERT_TRUE(successor->is_ready()) << successor->errors();
  EXPECT_EQ(running->wait(20_s), 0) << running->errors();
  EXPECT_EQ(successor->admin(), running->admin());
  EXPECT_NE(successor->address(), old);
  EXPECT_EQ(call(successor->address(), "GET", "/health").status, 200);
  EXPECT_FALSE(Connection(old).is_connected());
}

TEST_P(Restart, goes_on_without_the_predecessor_that_is_stopped_meanwhile) {
  auto running = start();
  ASSERT_TRUE(running->is_ready()) << running->errors();
  auto found = app::Predecessor::find(path(), "fullstack");
  ASSERT_TRUE(found && found->has_value());
  ASSERT_EQ((*found)->process(), running->pid());
  const auto sockets = (*found)->listeners().find("http");
  ASSERT_EQ(sockets.size(), 2u);

  EXPECT_EQ(running->stop(), 0) << running->errors();

  EXPECT_FALSE((*found)->leave());
  // Nothing has been done to the sockets: each of many connections waits in one of them.
  std::vector<std::unique_ptr<Connection>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<Connection>(running->address()));
    EXPECT_TRUE(clients.back()->is_connected());
  }
  std::size_t waiting = 0;
  for (const int socket : sockets) {
    pollfd wait{.fd = socket, .events = POLLIN, .revents = 0};
    while (::poll(&wait, 1, 100) > 0) {
      ::close(::accept(socket, nullptr, nullptr));
      ++waiting;
    }
  }
  EXPECT_EQ(waiting, clients.size());
}

TEST_P(Restart, is_refused_to_another_service_version_or_user_of_the_path) {
  auto running = start();
  ASSERT_TRUE(running->is_ready()) << running->errors();
  const auto found = app::Predecessor::find(path(), "accounts");
  ASSERT_FALSE(found);
  EXPECT_NE(std::string(found.error().message()).find("the running process is 'fullstack', another service"),
            std::string::npos);
  EXPECT_EQ(call(running->address(), "GET", "/health").status, 200);
  EXPECT_EQ(running->stop(), 0) << running->errors();
  EXPECT_EQ(::access(path().c_str(), F_OK), -1) << "the path is gone with its process";
}

// --- Sockets that somebody else has bound.

class Sockets : public Restart {
 protected:
  int listener(const Address& at = Address::parse("127.0.0.1:0").value()) {
    const int fd = ::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(fd, at.system(), at.system_size()), 0);
    EXPECT_EQ(::listen(fd, 128), 0);
    return fd;
  }
  static Address address_of(int fd) {
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size);
    return Address::from_system(reinterpret_cast<sockaddr*>(&storage), size);
  }
  std::unique_ptr<Service> activate(std::vector<int> sockets, std::vector<std::string> environment = {},
                                    std::vector<std::string> more = {}) {
    std::vector<std::string> flags = usual_flags(folder_);
    flags.push_back("--network.engine=" + GetParam());
    flags.insert(flags.end(), more.begin(), more.end());
    return std::make_unique<Service>(flags, std::move(environment), std::move(sockets));
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, Sockets, ::testing::Values("uring", "epoll"), [](auto& test) { return test.param; });

TEST_P(Sockets, of_a_service_manager_are_served_and_outlive_the_service) {
  const int http = listener();
  const int admin = listener();
  // From before the service runs.
  Connection early(address_of(http));
  ASSERT_TRUE(early.send(request("GET", "/health")));
  auto first = activate({admin, http}, {"LISTEN_FDNAMES=admin:http"});
  ASSERT_TRUE(first->is_ready()) << first->errors();
  EXPECT_EQ(first->address(), address_of(http));
  EXPECT_EQ(first->admin(), address_of(admin));
  EXPECT_EQ(early.receive().value_or(Reply()).status, 200);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(call(address_of(http), "GET", "/health").status, 200) << i;
  EXPECT_EQ(call(address_of(admin), "GET", "/readyz").status, 200);

  EXPECT_EQ(first->stop(), 0) << first->errors();
  Connection between(address_of(http));
  ASSERT_TRUE(between.is_connected()) << "the service manager listens";
  ASSERT_TRUE(between.send(request("GET", "/health")));
  auto second = activate({http});

  ASSERT_TRUE(second->is_ready()) << second->errors();
  EXPECT_EQ(between.receive().value_or(Reply()).status, 200);
  EXPECT_EQ(second->stop(), 0) << second->errors();
  ::close(http);
  ::close(admin);
}

TEST_P(Sockets, of_a_service_manager_are_handed_over_too) {
  const int http = listener();
  const std::string handover = "--network.handover.path=" + path();
  auto running = activate({http}, {}, {handover});
  ASSERT_TRUE(running->is_ready()) << running->errors();

  auto successor = start();  // Its configuration says another address; the service manager has chosen.

  ASSERT_TRUE(successor->is_ready()) << successor->errors();
  EXPECT_EQ(successor->address(), address_of(http));
  EXPECT_EQ(running->wait(20_s), 0) << running->errors();
  EXPECT_EQ(successor->stop(), 0) << successor->errors();
  EXPECT_TRUE(Connection(address_of(http)).is_connected()) << "and the service manager still listens";
  ::close(http);
}

TEST_P(Sockets, that_do_not_fit_stop_the_start) {
  const int stream = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  auto service = activate({stream});

  EXPECT_EQ(service->wait(20_s), 1);
  EXPECT_EQ(service->errors(),
            "fullstack: LISTEN_FDS: descriptor 3 (http) does not listen (systemd: Accept=no): expected a TCP or Unix "
            "stream socket that listens\n");
  ::close(stream);
}

TEST_P(Sockets, in_the_file_system_have_the_mode_that_is_configured) {
  const std::string file = folder_ / "http.sock";
  auto running = start({"--network.http.address=unix:" + file, "--network.http.socket_mode=0660"});
  ASSERT_TRUE(running->is_ready()) << running->errors();

  struct stat facts{};
  ASSERT_EQ(::stat(file.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0660u);
  EXPECT_EQ(call(Address::parse("unix:" + file).value(), "GET", "/health").status, 200);
  EXPECT_EQ(running->stop(), 0) << running->errors();
}

TEST_P(Sockets, in_the_file_system_are_served_handed_over_and_removed) {
  const std::string file = folder_ / "http.sock";
  const std::string flag = "--network.http.address=unix:" + file;
  const Address at = Address::parse("unix:" + file).value();
  auto running = start({flag});
  ASSERT_TRUE(running->is_ready()) << running->errors();
  EXPECT_EQ(running->address(), at);
  EXPECT_EQ(call(at, "GET", "/health").status, 200);

  auto successor = start({flag});
  ASSERT_TRUE(successor->is_ready()) << successor->errors();
  EXPECT_EQ(running->wait(20_s), 0) << running->errors();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(call(at, "GET", "/health").status, 200) << i;
  // Its path stays behind when it is killed, and does not keep the next one from starting.
  successor->signal(SIGKILL);
  ASSERT_EQ(successor->wait(20_s), 128 + SIGKILL);
  // The kernel ends a ring, and what it holds, a moment after the process.
  for (int i = 0; i < 1000 && Connection(at).is_connected(); ++i) ::usleep(5000);
  EXPECT_FALSE(Connection(at).is_connected());
  auto next = start({flag});
  ASSERT_TRUE(next->is_ready()) << next->errors();
  EXPECT_EQ(call(at, "GET", "/health").status, 200);

  EXPECT_EQ(next->stop(), 0) << next->errors();
  EXPECT_EQ(::access(file.c_str(), F_OK), -1);
}

}  // namespace
}  // namespace e2e::handover_test
