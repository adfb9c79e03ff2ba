// Descriptors that have run out, and accept and send that fail. The calls of epoll are made to fail by inject.c; those
// of io_uring do not go through the C library, so there the real causes are brought about.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "faults.h"

namespace faults::socket_test {
namespace {

using namespace keel;
using namespace e2e;

class Descriptors : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_engine(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
  }
  Folder folder_;
};

INSTANTIATE_TEST_SUITE_P(Engines, Descriptors, ::testing::Values("uring", "epoll"),
                         [](auto& test) { return test.param; });

int status_of(Connection& connection, Duration timeout = 10_s) {
  connection.send(request("GET", "/api/users/1"));
  return connection.receive(false, timeout).value_or(Reply()).status;
}

// From the start, because io_uring takes the limit that was there when accept was armed.
void allow_few_descriptors() {
  const rlimit few{.rlim_cur = 64, .rlim_max = 64};
  if (::setrlimit(RLIMIT_NOFILE, &few) != 0) ::_exit(125);
}

TEST_P(Descriptors, that_have_run_out_stop_only_new_connections) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "the sanitizer needs descriptors to look at memory";
  Service service(folder_, {"--network.engine=" + GetParam()}, &allow_few_descriptors);
  ASSERT_TRUE(service.is_ready()) << service.errors();
  const auto log_says = [&](const char* what) {
    return read_file(folder_ / "service.log").find(what) != std::string::npos;
  };
  std::vector<std::unique_ptr<Connection>> old;
  std::unique_ptr<Connection> waiting;
  while (old.size() < 64) {
    auto next = std::make_unique<Connection>(service.address());
    ASSERT_TRUE(next->is_connected()) << "the kernel takes it";
    if (status_of(*next, 500_ms) != 200) {
      waiting = std::move(next);
      break;
    }
    EXPECT_FALSE(log_says("cannot accept")) << "while there are descriptors";
    old.push_back(std::move(next));
  }
  ASSERT_TRUE(waiting != nullptr);
  EXPECT_GE(old.size(), 10u);
  EXPECT_TRUE(eventually([&] { return log_says("cannot accept"); }));
  EXPECT_FALSE(waiting->ended());

  for (auto& connection : old) EXPECT_EQ(status_of(*connection), 200);
  old.back()->send(request("POST", "/api/data", "{}"));
  EXPECT_EQ(old.back()->receive().value_or(Reply()).status, 201);
  EXPECT_FALSE(waiting->receive(false, 100_ms).has_value());

  // One that goes makes room for the one that waits.
  old.pop_back();
  EXPECT_EQ(waiting->receive(false, 20_s).value_or(Reply()).status, 200);
  old.clear();
  EXPECT_TRUE(eventually([&] { return call(service.address(), "GET", "/health").status == 200; }));
  EXPECT_GE(metric(service.admin(), "http_accept_pauses_total"), 1);
  EXPECT_EQ(service.stop(), 0) << service.errors();
}

class Calls : public ::testing::Test {
 protected:
  void SetUp() override {
    if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer has to be the first library";
    std::vector<std::string> flags = usual_flags(folder_);
    flags.push_back("--network.engine=epoll");
    service_.emplace(flags, injector_.environment());
    ASSERT_TRUE(service_->is_ready()) << service_->errors();
  }
  void TearDown() override {
    if (!service_) return;
    injector_.disarm(FAULT_ACCEPT);
    injector_.disarm(FAULT_SEND);
    EXPECT_EQ(service_->stop(), 0) << service_->errors();
  }
  Folder folder_;
  Injector injector_{folder_};
  std::optional<Service> service_;
};

TEST_F(Calls, that_accept_may_fail_for_a_while) {
  for (const int error : {ECONNABORTED, EINTR, EPROTO, EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
    injector_.arm(FAULT_ACCEPT, {.error = error, .strikes = 3});

    EXPECT_EQ(call(service_->address(), "GET", "/api/users/1").status, 200) << error;
    EXPECT_TRUE(eventually([&] {
      return call(service_->address(), "GET", "/health").status == 200 && injector_.struck(FAULT_ACCEPT) == 3;
    })) << error;
  }
}

TEST_F(Calls, that_send_one_byte_at_a_time_send_it_all) {
  const std::string body = call(service_->address(), "GET", "/api/users").body;
  ASSERT_GT(body.size(), 1000u);

  injector_.arm(FAULT_SEND, {.error = 0, .strikes = forever});
  EXPECT_EQ(call(service_->address(), "GET", "/api/users").body, body);
  EXPECT_GT(injector_.struck(FAULT_SEND), 1000);
}

TEST_F(Calls, that_send_may_fail_and_end_one_connection) {
  Connection other(service_->address());
  EXPECT_EQ(status_of(other), 200);
  int failures = 0;
  for (const int error : {EPIPE, ECONNRESET, ENOBUFS, ENOMEM}) {
    Connection connection(service_->address());
    EXPECT_EQ(status_of(connection), 200);
    injector_.arm(FAULT_SEND, {.error = error});

    EXPECT_EQ(status_of(connection, 20_s), 0) << error;
    EXPECT_TRUE(connection.ended()) << error;
    EXPECT_EQ(injector_.struck(FAULT_SEND), 1) << error;
    EXPECT_EQ(metric(service_->admin(), "http_aborted_total"), ++failures);
    EXPECT_EQ(status_of(other), 200) << error;
  }
}

// What send(2) meets when the peer resets, on both engines.
TEST_P(Descriptors, of_peers_that_reset_while_they_are_answered_are_closed) {
  Service service(folder_, {"--network.engine=" + GetParam()});
  ASSERT_TRUE(service.is_ready()) << service.errors();
  std::string many;
  for (int i = 0; i < 200; ++i) many += request("GET", "/api/users?limit=100");
  Connection other(service.address());
  ASSERT_EQ(status_of(other), 200);
  const std::size_t open_before = descriptors(service.pid());

  for (int i = 0; i < 20; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const linger abrupt{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &abrupt, sizeof abrupt);
    ASSERT_EQ(::connect(fd, service.address().system(), service.address().system_size()), 0);
    ASSERT_GT(::send(fd, many.data(), many.size(), MSG_NOSIGNAL), 0);
    char some[1024];
    ASSERT_GT(::recv(fd, some, sizeof some, 0), 0) << "it is being answered";
    ::close(fd);  // A reset.
  }

  EXPECT_TRUE(eventually([&] { return descriptors(service.pid()) <= open_before + 1; }));
  EXPECT_GT(metric(service.admin(), "http_aborted_total"), 0);
  EXPECT_EQ(status_of(other), 200);
  EXPECT_EQ(service.stop(), 0) << service.errors();
}

}  // namespace
}  // namespace faults::socket_test
