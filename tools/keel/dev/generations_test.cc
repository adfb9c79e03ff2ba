// With a real service, examples/greeting: it takes the listening sockets of the one before.

#include "dev/generations.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "keel/base/host.h"

namespace keel::dev::generations_test {
namespace {

using Kind = Generations::Event::Kind;

Instant now() { return Host::system().now(); }

class GenerationsTest : public ::testing::Test {
 protected:
  ~GenerationsTest() override { ::close(output_); }
  Launch greeting(std::vector<std::string> more = {}) const {
    Launch launch{.words = {KEEL_DEV_SERVICE, "--network.http.port=0", "--monitoring.enabled=false"}};
    launch.words.insert(launch.words.end(), more.begin(), more.end());
    launch.output = output_;
    return launch;
  }
  // The next thing that happens.
  Generations::Event next() {
    for (const Instant end = now() + 20_s; now() < end;) {
      const auto events = processes_.events(now());
      if (!events.empty()) {
        EXPECT_EQ(events.size(), 1u);
        return events.front();
      }
      pollfd said{.fd = processes_.fd(), .events = POLLIN, .revents = 0};
      ::poll(&said, 1, 10);
    }
    ADD_FAILURE() << "nothing happens";
    return {};
  }
  bool comes_to_one_process() {
    for (const Instant end = now() + 20_s; now() < end; Host::system().sleep(5_ms)) {
      processes_.events(now());
      if (processes_.count() == 1) return true;
    }
    return false;
  }

  int output_ = ::memfd_create("output", MFD_CLOEXEC);
  Generations processes_ = Generations::make().value();
};

TEST_F(GenerationsTest, serves_once_it_says_that_it_is_ready) {
  EXPECT_TRUE(processes_.is_empty());
  ASSERT_TRUE(processes_.start(greeting(), now()));
  EXPECT_TRUE(processes_.is_starting());
  EXPECT_EQ(processes_.serving(), 0);

  const auto ready = next();

  EXPECT_EQ(ready.kind, Kind::Ready);
  EXPECT_FALSE(ready.follows);
  EXPECT_TRUE(ready.status.starts_with("serving on 127.0.0.1:")) << ready.status;
  EXPECT_EQ(processes_.serving(), ready.process);
}

TEST_F(GenerationsTest, hands_over_to_a_successor_which_listens_at_the_same_port) {
  ASSERT_TRUE(processes_.start(greeting(), now()));
  const auto first = next();
  ASSERT_TRUE(processes_.start(greeting(), now()));

  const auto second = next();

  EXPECT_EQ(second.kind, Kind::Ready);
  EXPECT_TRUE(second.follows);
  EXPECT_NE(second.process, first.process);
  EXPECT_EQ(second.status, first.status) << "a port of the system's choice is the same one";
  EXPECT_TRUE(comes_to_one_process()) << "the first one has drained and ended by itself";
  EXPECT_EQ(processes_.serving(), second.process);
}

TEST_F(GenerationsTest, keeps_the_one_that_serves_when_a_successor_ends_before_it_is_ready) {
  ASSERT_TRUE(processes_.start(greeting(), now()));
  const pid_t first = next().process;
  ASSERT_TRUE(processes_.start(greeting({"--network.http.prot=1"}), now()));

  const auto failed = next();

  EXPECT_EQ(failed.kind, Kind::NotReady);
  EXPECT_EQ(failed.code, 2);
  EXPECT_EQ(processes_.serving(), first);
  EXPECT_FALSE(processes_.is_starting());
  EXPECT_EQ(::kill(first, 0), 0);
}

TEST_F(GenerationsTest, kills_a_successor_that_is_not_ready_in_time) {
  ASSERT_TRUE(processes_.start(greeting(), now()));
  const pid_t first = next().process;
  ASSERT_TRUE(processes_.start({.words = {"sleep", "100"}}, now()));
  EXPECT_TRUE(processes_.events(now()).empty());

  const auto events = processes_.events(now() + Generations::start_timeout);

  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events.front().kind, Kind::TooSlow);
  EXPECT_EQ(processes_.serving(), first);
}

TEST_F(GenerationsTest, says_that_nobody_serves_only_once_the_successor_of_one_that_left_has_failed) {
  ASSERT_TRUE(processes_.start(greeting(), now()));
  const pid_t first = next().process;
  ASSERT_TRUE(processes_.start({.words = {"sleep", "100"}}, now()));
  ::kill(first, SIGTERM);
  for (const Instant end = now() + 20_s; processes_.count() == 2 && now() < end; Host::system().sleep(5_ms)) {
    EXPECT_TRUE(processes_.events(now()).empty());
  }
  ASSERT_EQ(processes_.count(), 1u);

  const auto events = processes_.events(now() + Generations::start_timeout);

  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, Kind::TooSlow);
  EXPECT_EQ(events[1].kind, Kind::Ended);
  EXPECT_EQ(events[1].process, first);
  EXPECT_TRUE(processes_.is_empty());
}

TEST_F(GenerationsTest, follows_one_that_has_left_before_its_successor_is_ready) {
  ASSERT_TRUE(processes_.start(greeting(), now()));
  const pid_t first = next().process;
  ASSERT_TRUE(processes_.start({.words = {"sleep", "100"}}, now()));
  ::kill(first, SIGTERM);
  for (const Instant end = now() + 20_s; processes_.count() == 2 && now() < end; Host::system().sleep(5_ms)) {
    EXPECT_TRUE(processes_.events(now()).empty());
  }
  ASSERT_TRUE(processes_.start(greeting(), now()));

  const auto ready = next();

  EXPECT_EQ(ready.kind, Kind::Ready);
  EXPECT_TRUE(ready.follows);
}

TEST_F(GenerationsTest, says_how_the_one_that_serves_has_ended) {
  ASSERT_TRUE(processes_.start(greeting(), now()));
  const pid_t first = next().process;
  ::kill(first, SIGKILL);

  const auto ended = next();

  EXPECT_EQ(ended.kind, Kind::Ended);
  EXPECT_EQ(ended.code, 128 + SIGKILL);
  EXPECT_TRUE(processes_.is_empty());
  ASSERT_TRUE(processes_.start(greeting(), now()));
  EXPECT_EQ(next().kind, Kind::Ready) << "and another one can begin";
}

TEST_F(GenerationsTest, drains_on_sigterm) {
  ASSERT_TRUE(processes_.start(greeting(), now()));
  next();

  processes_.signal(SIGTERM);

  const auto ended = next();
  EXPECT_EQ(ended.kind, Kind::Ended);
  EXPECT_EQ(ended.code, 0);
}

}  // namespace
}  // namespace keel::dev::generations_test
