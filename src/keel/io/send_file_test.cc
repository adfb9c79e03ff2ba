#include "keel/io/send_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <thread>
#include <utility>

#include "keel/io/testing/loop_test.h"

namespace keel::io::send_file_test {
namespace {

void ignore(Op&) noexcept {}

class SendFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair_), 0);
    file_ = memfd_create("sent", MFD_CLOEXEC);
    ASSERT_EQ(::write(file_, text_.data(), text_.size()), static_cast<ssize_t>(text_.size()));
    op_.fd = pair_[0];
    op_.file = file_;
  }
  void TearDown() override {
    for (const int fd : {pair_[0], pair_[1], file_}) {
      if (fd >= 0) ::close(fd);
    }
  }
  std::string received() {
    std::string got;
    char into[64 * 1024];
    for (ssize_t size = 0; (size = recv(pair_[1], into, sizeof into, 0)) > 0;)
      got.append(into, static_cast<std::size_t>(size));
    return got;
  }
  const std::string text_ = testing::pattern(1 << 20);
  SendFile op_{&ignore};
  std::uint64_t calls_ = 0;
  int pair_[2] = {-1, -1};
  int file_ = -1;
};

TEST_F(SendFileTest, a_share_ends_when_the_socket_is_full_or_256_kib_are_sent) {
  const int bytes = 8 << 20;  // As much as the system grants.
  setsockopt(pair_[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  op_.size = text_.size();
  std::string got;
  Share share = Share::More;
  for (std::uint64_t before = 0; share != Share::Last; before = op_.sent) {
    share = send_share(op_, calls_);
    EXPECT_LE(op_.sent - before, 256u * 1024);
    EXPECT_GT(op_.sent, before);
    got += received();
  }
  EXPECT_EQ(op_.result, 1 << 20);
  EXPECT_TRUE(got == text_);
  EXPECT_GE(calls_, 12u);
}

TEST_F(SendFileTest, a_part_from_an_offset_and_no_more_than_there_is) {
  op_.offset = text_.size() - 100;
  op_.size = 60;
  EXPECT_EQ(send_share(op_, calls_), Share::Last);
  EXPECT_EQ(op_.result, 60);
  op_.size = 1000;
  op_.sent = 0;
  EXPECT_EQ(send_share(op_, calls_), Share::Last);
  EXPECT_EQ(op_.result, 40);
  EXPECT_TRUE(received() == text_.substr(text_.size() - 100));
}

TEST_F(SendFileTest, a_broken_connection_is_an_error_and_no_signal) {
  struct sigaction action{};
  struct sigaction before{};
  static volatile std::sig_atomic_t signals;
  signals = 0;
  action.sa_handler = [](int) { signals = signals + 1; };
  ASSERT_EQ(sigaction(SIGPIPE, &action, &before), 0);
  ::close(std::exchange(pair_[1], -1));
  op_.size = 10;

  EXPECT_EQ(send_share(op_, calls_), Share::Last);
  EXPECT_EQ(op_.result, -EPIPE);
  EXPECT_EQ(signals, 0);
  EXPECT_EQ(::write(pair_[0], "x", 1), -1);  // Without it there would be one.
  EXPECT_EQ(signals, 1);
  sigaction(SIGPIPE, &before, nullptr);
}

// It breaks while a call waits that has sent a part: then the part is told, and the signal comes beside it.
TEST_F(SendFileTest, a_connection_that_breaks_behind_a_part_is_no_signal_either) {
  static volatile std::sig_atomic_t signals;
  signals = 0;
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) { signals = signals + 1; };
  ASSERT_EQ(sigaction(SIGPIPE, &action, &before), 0);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const Address any = Address::parse("127.0.0.1:0").value();
  ASSERT_EQ(bind(listener, any.system(), any.system_size()), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  const Address at = system_local_address(listener);
  for (int round = 0; round < 20; ++round) {
    op_.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(connect(op_.fd, at.system(), at.system_size()), 0);
    const int peer = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    ASSERT_GE(peer, 0);
    std::thread breaking([fd = op_.fd] {
      pollfd room{fd, POLLOUT, 0};
      while (poll(&room, 1, 0) > 0) std::this_thread::yield();
      ::shutdown(fd, SHUT_RDWR);
    });
    op_.offset = op_.sent = 0;
    op_.size = text_.size();

    Share share = Share::More;
    while (share == Share::More || op_.sent == op_.size) {
      if (op_.sent == op_.size) op_.offset = op_.sent = 0;  // From the beginning, until there is no room.
      share = send_share(op_, calls_);
    }

    breaking.join();
    EXPECT_EQ(share, Share::Last);
    EXPECT_EQ(op_.result, -EPIPE);
    ::close(op_.fd);
    ::close(peer);
  }
  EXPECT_EQ(signals, 0);
  ::close(listener);
  sigaction(SIGPIPE, &before, nullptr);
}

TEST_F(SendFileTest, a_folder_or_a_pipe_is_no_file) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const int folder = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  op_.size = 10;
  op_.file = ends[0];
  EXPECT_EQ(send_share(op_, calls_), Share::Last);
  EXPECT_EQ(op_.result, -ESPIPE);
  op_.file = folder;
  EXPECT_EQ(send_share(op_, calls_), Share::Last);
  EXPECT_EQ(op_.result, -EINVAL);
  for (const int fd : {ends[0], ends[1], folder}) ::close(fd);
}

}  // namespace
}  // namespace keel::io::send_file_test
