#include "keel/io/readiness.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "keel/io/testing/loop_test.h"

namespace keel::io::readiness_test {
namespace {

class ReadinessTest : public testing::LoopTest {
 protected:
  void SetUp() override {
    LoopTest::SetUp();
    if (is_sim()) return;
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair_), 0);
  }
  void TearDown() override {
    LoopTest::TearDown();
    for (const int fd : pair_) {
      if (fd >= 0) ::close(fd);
    }
  }
  int ours() const { return pair_[0]; }
  int theirs() const { return pair_[1]; }
  int pair_[2] = {-1, -1};
};

Task<> wait_readable(int fd) { co_await readable(fd); }
Task<> wait_writable(int fd) { co_await writable(fd); }
Task<short> wait_ready(int fd, short events) { co_return co_await ready(fd, events); }
void ignore(StartCore&) noexcept {}

TEST_P(ReadinessTest, a_descriptor_is_readable_when_something_came_and_not_before) {
  if (is_sim()) GTEST_SKIP() << "nothing_is_foreign_in_a_simulation";
  // The same descriptor again and again: nothing is left of an earlier wait.
  for (int round = 0; round < 3; ++round) {
    Start<void> start;
    ASSERT_FALSE(start.begin(wait_readable(ours()), &ignore));
    settle();
    EXPECT_FALSE(start.has_ended());

    ASSERT_EQ(::write(theirs(), "x", 1), 1);
    ASSERT_TRUE(until([&] { return start.has_ended(); }));

    EXPECT_TRUE(start.take());
    char byte = 0;
    EXPECT_EQ(::read(ours(), &byte, 1), 1) << "what came is left to be read";
  }
}

TEST_P(ReadinessTest, a_descriptor_is_writable_when_there_is_room_again) {
  if (is_sim()) GTEST_SKIP() << "nothing_is_foreign_in_a_simulation";
  EXPECT_TRUE(run(wait_writable(ours())));
  const std::string much(64 * 1024, 'x');
  while (::write(ours(), much.data(), much.size()) > 0) {
  }
  Start<void> start;
  ASSERT_FALSE(start.begin(wait_writable(ours()), &ignore));
  settle();
  EXPECT_FALSE(start.has_ended());

  std::string into(much.size(), '\0');
  while (::read(theirs(), into.data(), into.size()) > 0) {
  }
  ASSERT_TRUE(until([&] { return start.has_ended(); }));
  EXPECT_TRUE(start.take());
}

// What closes a descriptor of which something is still to be told in this turn, and waits on the next of its number.
struct Closer final : Receive {
  Closer(Engine& on, int old, int unused) : Receive(&on_done), engine(on), closes(old), by_number(unused) {}
  static void on_done(Op& op) noexcept {
    auto& self = static_cast<Closer&>(static_cast<Receive&>(op));
    if (op.result <= 0 || self.closes < 0) return;
    self.engine.close(self.closes);
    self.engine.flush();
    EXPECT_EQ(::dup2(self.by_number, self.closes), self.closes);
    self.next.fd = std::exchange(self.closes, -1);
    self.next.events = POLLIN;
    EXPECT_FALSE(self.engine.submit(self.next));
  }
  struct Next final : Ready {
    Next() : Ready([](Op& op) noexcept { static_cast<Next&>(static_cast<Ready&>(op)).answers.push_back(op.result); }) {}
    std::vector<int> answers;
  };
  Engine& engine;
  int closes;
  const int by_number;
  Next next;
};
struct Silent final : Receive {
  Silent() : Receive([](Op&) noexcept {}) {}
};

TEST_P(ReadinessTest, an_event_of_a_closed_descriptor_is_not_told_to_the_next_of_its_number) {
  if (is_sim()) GTEST_SKIP() << "nothing_is_foreign_in_a_simulation";
  int first[2];
  int second[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, first), 0);
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, second), 0);
  // The second is known to the engine, and nothing waits on it any more.
  Silent earlier;
  earlier.fd = second[0];
  engine().submit(earlier);
  settle();
  engine().cancel(earlier);
  ASSERT_TRUE(until([&] { return earlier.is_idle(); }));
  Closer closer(engine(), second[0], ours());
  closer.fd = first[0];
  engine().submit(closer);
  settle();

  ASSERT_EQ(::write(first[1], "x", 1), 1);
  ASSERT_EQ(::write(second[1], "x", 1), 1);
  ASSERT_TRUE(until([&] { return closer.closes < 0; }));
  settle();

  EXPECT_EQ(closer.next.answers, std::vector<int>());
  ASSERT_EQ(::write(theirs(), "x", 1), 1);
  ASSERT_TRUE(until([&] { return closer.next.is_idle(); }));
  EXPECT_EQ(closer.next.answers, std::vector<int>{POLLIN});
  engine().cancel(closer);
  ASSERT_TRUE(until([&] { return closer.is_idle(); }));
  ::close(closer.next.fd);
  engine().close(first[0]);
  ::close(first[1]);
  ::close(second[1]);
}

TEST_P(ReadinessTest, ready_says_which_event_holds) {
  if (is_sim()) GTEST_SKIP() << "nothing_is_foreign_in_a_simulation";
  EXPECT_EQ(*run(wait_ready(ours(), POLLIN | POLLOUT)), POLLOUT);
  ASSERT_EQ(::write(theirs(), "x", 1), 1);
  EXPECT_EQ(*run(wait_ready(ours(), POLLIN | POLLOUT)), POLLIN | POLLOUT);
  EXPECT_EQ(*run(wait_ready(ours(), POLLIN)), POLLIN);
}

TEST_P(ReadinessTest, a_peer_that_went_away_counts_as_ready) {
  if (is_sim()) GTEST_SKIP() << "nothing_is_foreign_in_a_simulation";
  Start<short> start;
  ASSERT_FALSE(start.begin(wait_ready(ours(), POLLIN), &ignore));
  settle();

  ::close(std::exchange(pair_[1], -1));
  ASSERT_TRUE(until([&] { return start.has_ended(); }));

  const auto events = start.take();
  ASSERT_TRUE(events);
  EXPECT_NE(*events & POLLHUP, 0);
}

TEST_P(ReadinessTest, a_stopped_wait_ends_and_the_descriptor_can_be_waited_for_again) {
  if (is_sim()) GTEST_SKIP() << "nothing_is_foreign_in_a_simulation";
  for (const bool at_once : {true, false}) {
    Start<void> start;
    ASSERT_FALSE(start.begin(wait_readable(ours()), &ignore));
    if (!at_once) settle();
    start.stop();
    ASSERT_TRUE(until([&] { return start.has_ended(); }));
    EXPECT_EQ(start.take().error().code(), Code::Cancelled);
  }
  Start<void> late;
  EXPECT_TRUE(late.begin(wait_readable(ours()), &ignore, {.deadline = loop().now() - 1_ms}));
  EXPECT_EQ(late.take().error().code(), Code::DeadlineExceeded);

  ASSERT_EQ(::write(theirs(), "x", 1), 1);
  EXPECT_TRUE(run(wait_readable(ours())));
}

// epoll has one place for each descriptor, io_uring has not.
TEST_P(ReadinessTest, a_second_wait_on_a_descriptor_ends_with_an_error_or_as_the_first) {
  if (is_sim()) GTEST_SKIP() << "nothing_is_foreign_in_a_simulation";
  Start<void> first;
  Start<void> second;
  ASSERT_FALSE(first.begin(wait_readable(ours()), &ignore));
  ASSERT_FALSE(second.begin(wait_readable(ours()), &ignore));
  if (GetParam() == testing::Which::Epoll) {
    ASSERT_TRUE(until([&] { return second.has_ended(); }));
    const Result<> refused = second.take();
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().is_bug());
    EXPECT_FALSE(first.has_ended());
  }

  ASSERT_EQ(::write(theirs(), "x", 1), 1);
  ASSERT_TRUE(until([&] { return first.has_ended(); }));
  EXPECT_TRUE(first.take());
  if (GetParam() == testing::Which::Epoll) return;
  ASSERT_TRUE(until([&] { return second.has_ended(); }));
  EXPECT_TRUE(second.take());
}

Task<> wait_with_limit(int fd) { co_await with_timeout(20_ms, wait_readable(fd)); }

TEST_P(ReadinessTest, a_wait_ends_with_its_time_limit) {
  if (is_sim()) GTEST_SKIP() << "nothing_is_foreign_in_a_simulation";
  EXPECT_EQ(run(wait_with_limit(ours())).error().code(), Code::DeadlineExceeded);
}

// Its owner closes it after the wait, and the number is given to somebody else.
TEST_P(ReadinessTest, a_descriptor_that_was_closed_and_opened_again_is_waited_for_anew) {
  if (is_sim()) GTEST_SKIP() << "nothing_is_foreign_in_a_simulation";
  ASSERT_EQ(::write(theirs(), "x", 1), 1);
  EXPECT_TRUE(run(wait_readable(ours())));
  int other[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, other), 0);
  ASSERT_EQ(dup2(other[0], ours()), ours());
  Start<void> start;
  ASSERT_FALSE(start.begin(wait_readable(ours()), &ignore));
  settle();
  EXPECT_FALSE(start.has_ended());
  ASSERT_EQ(::write(other[1], "y", 1), 1);
  EXPECT_TRUE(until([&] { return start.has_ended(); }));
  EXPECT_TRUE(start.take());
  ::close(other[0]);
  ::close(other[1]);
}

TEST_P(ReadinessTest, a_descriptor_that_is_not_open_is_an_error_and_a_file_is_always_ready) {
  if (is_sim()) GTEST_SKIP() << "nothing_is_foreign_in_a_simulation";
  const int closed = dup(ours());
  ::close(closed);
  const auto bad = run(wait_readable(closed));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().errno_value(), EBADF);
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_TRUE(run(wait_readable(file)));
  ::close(file);
}

TEST_P(ReadinessTest, nothing_is_foreign_in_a_simulation) {
  if (!is_sim()) GTEST_SKIP() << "for the simulation";
  EXPECT_EQ(run(wait_readable(0)).error().code(), Code::Unsupported);
}

INSTANTIATE_TEST_SUITE_P(Io, ReadinessTest, testing::every_engine(), testing::name_of_engine);

}  // namespace
}  // namespace keel::io::readiness_test
