// The small examples as a newcomer meets them: programs, sockets, SIGINT. What they do on a bad network is
// tests/sim/examples_sim_test.cc.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/sanitizers.h"
#include "keel/io/address.h"
#include "keel/io/engine.h"

namespace keel::examples_test {
namespace {

// A program that says where it listens; killed at the end, when it still runs.
class Program {
 public:
  explicit Program(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    if (::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) != 0) pid_ = -1;
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    char bytes[256];
    while (said_.find('\n') == std::string::npos) {
      const ssize_t got = ::read(ends[0], bytes, sizeof bytes);
      if (got <= 0) break;
      said_.append(bytes, static_cast<std::size_t>(got));
    }
    ::close(ends[0]);
  }
  ~Program() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    end();
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const std::string& said() const { return said_; }
  Address address() const {
    constexpr std::string_view before = "listening on ";
    if (!said_.starts_with(before)) return {};
    return Address::parse(said_.substr(before.size(), said_.find('\n') - before.size())).value();
  }
  void signal(int number) const { ::kill(pid_, number); }
  // VmRSS of proc_pid_status(5).
  long resident_kib() const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) return std::atol(line.c_str() + 6);
    }
    return -1;
  }
  // The exit code, or 128 + the signal that ended it. A test that waits for ever is ended by ctest.
  int end() {
    if (pid_ <= 0) return code_;
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  int code_ = -1;
  std::string said_;
};

// A peer that waits at most 20 s for anything.
class Peer {
 public:
  explicit Peer(const Address& to) : fd_(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    int connected = 0;
    while ((connected = ::connect(fd_, to.system(), to.system_size())) != 0 && errno == EINTR) {
    }
    is_connected_ = connected == 0 || errno == EISCONN;
  }
  ~Peer() { ::close(fd_); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  bool is_connected() const { return is_connected_; }
  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EINTR) return false;
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void finish_writing() { ::shutdown(fd_, SHUT_WR); }
  std::string read(std::size_t count) {
    std::string text;
    char bytes[64 * 1024];
    while (text.size() < count) {
      const ssize_t got = receive(bytes, std::min(sizeof bytes, count - text.size()));
      if (got <= 0) break;
      text.append(bytes, static_cast<std::size_t>(got));
    }
    return text;
  }
  // Whether the stream ends now, well.
  bool has_ended() {
    char byte = 0;
    return receive(&byte, 1) == 0;
  }

 private:
  // A ring that this process had (choose_engine) may end in the middle of it: a call with a timeout is not restarted.
  ssize_t receive(char* into, std::size_t size) const {
    ssize_t got = 0;
    while ((got = ::recv(fd_, into, size, 0)) < 0 && errno == EINTR) {
    }
    return got;
  }

  int fd_;
  bool is_connected_ = false;
};

class Examples : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string_view("uring") && !io::choose_engine(io::EngineKind::Uring)) {
      GTEST_SKIP() << "no io_uring here";
    }
  }
  static std::vector<std::string> flags(const char* program, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {program, "--listen=127.0.0.1:0", std::string("--engine=") + GetParam()};
    for (std::string& word : more) words.push_back(std::move(word));
    return words;
  }
};
INSTANTIATE_TEST_SUITE_P(, Examples, ::testing::Values("uring", "epoll"),
                         [](const auto& engine) { return std::string(engine.param); });

TEST_P(Examples, echo_sends_back_what_comes_and_ends_with_its_peer) {
  Program echo(flags(KEEL_EXAMPLE_ECHO));
  Peer one(echo.address());
  Peer two(echo.address());

  ASSERT_TRUE(one.write("hello") && two.write("world"));
  EXPECT_EQ(one.read(5), "hello");
  EXPECT_EQ(two.read(5), "world");
  one.finish_writing();

  EXPECT_TRUE(one.has_ended());
  echo.signal(SIGINT);
  EXPECT_EQ(echo.end(), 0);
  EXPECT_TRUE(two.has_ended());
}

TEST_P(Examples, an_idle_server_takes_less_than_8_mb) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer has memory of its own";
  Program echo(flags(KEEL_EXAMPLE_ECHO));
  Peer peer(echo.address());
  ASSERT_TRUE(peer.write("hello"));
  ASSERT_EQ(peer.read(5), "hello");

  const long resident_kib = echo.resident_kib();

  std::printf("resident with one worker, %s: %ld KiB\n", GetParam(), resident_kib);
  EXPECT_GT(resident_kib, 500);
  EXPECT_LT(resident_kib * 1024, 8'000'000);
  echo.signal(SIGINT);
  EXPECT_EQ(echo.end(), 0);
}

TEST_P(Examples, the_forwarder_passes_both_directions_and_the_end) {
  Program echo(flags(KEEL_EXAMPLE_ECHO));
  Program forwarder(flags(KEEL_EXAMPLE_FORWARDER, {"--to=" + echo.address().to_string()}));
  Peer peer(forwarder.address());
  const std::string text(100'000, 'f');

  ASSERT_TRUE(peer.write(text));
  peer.finish_writing();

  EXPECT_EQ(peer.read(text.size()), text);
  EXPECT_TRUE(peer.has_ended());
  forwarder.signal(SIGTERM);
  EXPECT_EQ(forwarder.end(), 0);
}

TEST_P(Examples, the_forwarder_closes_when_nobody_is_there_and_goes_on) {
  Program forwarder(flags(KEEL_EXAMPLE_FORWARDER, {"--to=unix:/nowhere/socket"}));

  for (int i = 0; i < 3; ++i) {
    Peer peer(forwarder.address());
    EXPECT_TRUE(peer.is_connected());
    EXPECT_TRUE(peer.has_ended());
  }
  forwarder.signal(SIGINT);
  EXPECT_EQ(forwarder.end(), 0);
}

TEST_P(Examples, the_chat_tells_everybody_and_a_slow_member_holds_up_nobody) {
  Program chat(flags(KEEL_EXAMPLE_CHAT));
  Peer ada(chat.address());
  // Each hears himself when he is in the room.
  ASSERT_TRUE(ada.write("ada\n"));
  ASSERT_EQ(ada.read(4), "ada\n");
  Peer slow(chat.address());
  ASSERT_TRUE(slow.write("slow\n"));
  ASSERT_EQ(slow.read(5), "slow\n");
  ASSERT_EQ(ada.read(5), "slow\n");
  Peer bob(chat.address());
  ASSERT_TRUE(bob.write("bob\n"));
  ASSERT_EQ(bob.read(4), "bob\n");
  ASSERT_EQ(ada.read(4), "bob\n");

  // More than the system's buffers and the room's list hold for the one who does not read.
  for (int i = 0; i < 5'000; ++i) {
    const std::string line = "line " + std::to_string(i) + std::string(900, '.') + "\n";
    ASSERT_TRUE(ada.write(line));
    ASSERT_EQ(ada.read(line.size()), line);
    ASSERT_EQ(bob.read(line.size()), line);
  }
  chat.signal(SIGINT);
  EXPECT_EQ(chat.end(), 0);
}

TEST_P(Examples, say_what_is_wrong) {
  Program taken(flags(KEEL_EXAMPLE_ECHO));
  Program second({KEEL_EXAMPLE_ECHO, "--listen=" + taken.address().to_string()});
  EXPECT_EQ(second.end(), 1);
  EXPECT_NE(second.said().find("in use"), std::string::npos) << second.said();

  Program unknown({KEEL_EXAMPLE_ECHO, "--colour=red"});
  EXPECT_EQ(unknown.end(), 2);
  EXPECT_NE(unknown.said().find("not a flag: --colour=red"), std::string::npos) << unknown.said();

  // Also behind those that are known.
  for (const char* wrong : {"--colour=red", "--engine=steam"}) {
    Program late(flags(KEEL_EXAMPLE_ECHO, {wrong}));
    ASSERT_NE(late.said().find(std::string("not a flag: ") + wrong), std::string::npos) << late.said();
    EXPECT_EQ(late.end(), 2);
  }
}

}  // namespace
}  // namespace keel::examples_test
