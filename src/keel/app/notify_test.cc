#include "keel/app/notify.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "keel/app/internal/supervisor_test.h"
#include "keel/base/host.h"

namespace keel::app::notify_test {
namespace {

class Notifications : public ::testing::TestWithParam<bool> {
 protected:
  Supervisor supervisor{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Sockets, Notifications, ::testing::Values(false, true),
                         [](auto& test) { return test.param ? "abstract" : "path"; });

TEST_P(Notifications, are_what_the_protocol_says) {
  Notify notify = Notify::from_environment().value();
  ASSERT_TRUE(notify.is_on());

  EXPECT_TRUE(notify.extend(90_s));
  EXPECT_EQ(supervisor.next(), "EXTEND_TIMEOUT_USEC=90000000");
  EXPECT_TRUE(notify.status("opening the database"));
  EXPECT_EQ(supervisor.next(), "STATUS=opening the database");
  EXPECT_TRUE(notify.ready("serving"));
  EXPECT_EQ(supervisor.next(), "READY=1\nSTATUS=serving");
  EXPECT_TRUE(notify.main_pid(4711));
  EXPECT_EQ(supervisor.next(), "MAINPID=4711");
  EXPECT_TRUE(notify.beat());
  EXPECT_EQ(supervisor.next(), "WATCHDOG=1");
  EXPECT_TRUE(notify.stopping("draining"));
  EXPECT_EQ(supervisor.next(), "STOPPING=1\nSTATUS=draining");
}

TEST_P(Notifications, of_a_reload_carry_the_monotonic_time) {
  Notify notify = Notify::from_environment().value();
  const std::int64_t before = Host::system().now().ns() / 1000;

  EXPECT_TRUE(notify.reloading());

  const std::string message = supervisor.next();
  const std::string head = "RELOADING=1\nMONOTONIC_USEC=";
  ASSERT_TRUE(message.starts_with(head)) << message;
  const std::int64_t at = std::stoll(message.substr(head.size()));
  EXPECT_GE(at, before);
  EXPECT_LE(at, Host::system().now().ns() / 1000);
}

TEST_P(Notifications, have_one_line_of_status) {
  Notify notify = Notify::from_environment().value();

  EXPECT_TRUE(notify.status("bad\nMAINPID=1\r\n"));

  EXPECT_EQ(supervisor.next(), "STATUS=bad MAINPID=1  ");
}

TEST_P(Notifications, move_with_their_socket) {
  Notify first = Notify::from_environment().value();
  Notify second = std::move(first);
  Notify third;
  third = std::move(second);

  EXPECT_TRUE(third.beat());

  EXPECT_EQ(supervisor.next(), "WATCHDOG=1");
}

TEST_P(Notifications, to_a_supervisor_that_is_gone_are_errors) {
  Notify notify = Notify::from_environment().value();
  supervisor.close();

  const auto sent = notify.beat();

  ASSERT_FALSE(sent);
  EXPECT_TRUE(sent.error().describe().starts_with("notifying the service manager: sendto: "))
      << sent.error().describe();
}

TEST_P(Notifications, to_a_supervisor_that_does_not_read_are_errors_in_time) {
  Notify notify = Notify::from_environment().value();

  Result<> sent;
  for (int i = 0; i < 10'000 && sent; ++i) sent = notify.status(std::string(2000, 'x'));

  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().errno_value(), EAGAIN) << sent.error().describe();
}

class Environment : public ::testing::Test {
 protected:
  ~Environment() override {
    for (const char* const name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) ::unsetenv(name);
  }
};

TEST_F(Environment, without_a_supervisor_everything_succeeds_silently) {
  Notify notify = Notify::from_environment().value();

  EXPECT_FALSE(notify.is_on());
  EXPECT_EQ(notify.watchdog(), Duration());
  EXPECT_TRUE(notify.ready("serving"));
  EXPECT_TRUE(Notify().beat());
}

TEST_F(Environment, with_an_address_that_is_none_is_an_error) {
  const std::string too_long = "/" + std::string(200, 'x');
  for (const std::string& address : {std::string(), std::string("@"), std::string("/"), std::string("relative"),
                                     std::string("vsock:2:1234"), too_long}) {
    ::setenv("NOTIFY_SOCKET", address.c_str(), 1);
    const auto made = Notify::from_environment();
    ASSERT_FALSE(made) << address;
    EXPECT_EQ(made.error().code(), Code::InvalidArgument);
    EXPECT_NE(made.error().describe().find("NOTIFY_SOCKET: \"" + address + '"'), std::string::npos);
  }
}

TEST_F(Environment, with_a_watchdog_says_how_often_it_is_fed) {
  Supervisor supervisor(true);
  ::setenv("WATCHDOG_USEC", "30000000", 1);
  EXPECT_EQ(Notify::from_environment().value().watchdog(), 30_s);

  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  EXPECT_EQ(Notify::from_environment().value().watchdog(), 30_s);

  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(Notify::from_environment().value().watchdog(), Duration()) << "it is for somebody else";
}

TEST_F(Environment, with_a_watchdog_that_is_not_a_time_is_an_error) {
  Supervisor supervisor(true);
  for (const char* const text : {"", "0", "-1", "30s", "99999999999999999999"}) {
    ::setenv("WATCHDOG_USEC", text, 1);
    EXPECT_EQ(Notify::from_environment().error().code(), Code::InvalidArgument) << text;
  }
  ::setenv("WATCHDOG_USEC", "1000000", 1);
  ::setenv("WATCHDOG_PID", "me", 1);
  EXPECT_EQ(Notify::from_environment().error().code(), Code::InvalidArgument);
}

}  // namespace
}  // namespace keel::app::notify_test
