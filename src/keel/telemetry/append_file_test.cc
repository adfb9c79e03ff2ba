#include "keel/telemetry/append_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

namespace keel::telemetry::append_file_test {
namespace {

class AppendFile : public ::testing::Test {
 protected:
  AppendFile() : folder_(::testing::TempDir() + "keel_append_XXXXXX") { EXPECT_NE(::mkdtemp(folder_.data()), nullptr); }
  ~AppendFile() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return folder_ + "/" + name; }
  // What is said of a path that is not opened.
  static std::string refusal(const std::string& path) {
    const Result<int> opened = open_append_file(path);
    if (!opened) {
      EXPECT_EQ(opened.error().code(), Code::FailedPrecondition);
      return std::string(opened.error().message());
    }
    ::close(*opened);
    return "opened";
  }

 private:
  std::string folder_;
};

TEST_F(AppendFile, makes_a_file_and_continues_one_that_is_there) {
  for (const char* line : {"first\n", "second\n"}) {
    const Result<int> opened = open_append_file(path("log"));
    ASSERT_TRUE(opened.has_value());
    EXPECT_EQ(::write(*opened, line, std::strlen(line)), static_cast<ssize_t>(std::strlen(line)));
    EXPECT_EQ(::fcntl(*opened, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    ::close(*opened);
  }
  EXPECT_EQ(std::filesystem::file_size(path("log")), 13u);
}

TEST_F(AppendFile, does_not_follow_a_link_that_another_user_planted) {
  if (::geteuid() != 0) GTEST_SKIP() << "root alone can give a link to another user";
  ASSERT_EQ(::symlink(path("precious").c_str(), path("log").c_str()), 0);
  ASSERT_EQ(::lchown(path("log").c_str(), 65534, 65534), 0);

  EXPECT_EQ(refusal(path("log")),
            "is a symbolic link of another user, which is not followed: remove it, or name its target");
  EXPECT_FALSE(std::filesystem::exists(path("precious")));
}

TEST_F(AppendFile, follows_links_of_its_own_user_to_a_file_that_it_makes) {
  ASSERT_EQ(::mkdir(path("volume").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("volume/current", path("log").c_str()), 0);
  ASSERT_EQ(::symlink(path("volume/today.log").c_str(), path("volume/current").c_str()), 0);
  ASSERT_EQ(::symlink("loop", path("loop").c_str()), 0);

  EXPECT_EQ(refusal(path("log")), "opened");
  EXPECT_TRUE(std::filesystem::is_regular_file(path("volume/today.log")));
  const Result<int> looped = open_append_file(path("loop"));
  ASSERT_FALSE(looped);
  EXPECT_EQ(looped.error().errno_value(), ELOOP);
}

// As containers have it: /var/log/app.log -> /dev/stdout -> /proc/self/fd/1, which may be a socket.
TEST_F(AppendFile, writes_to_a_descriptor_of_its_own_by_name_and_through_a_link) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const std::string number = std::to_string(pair[0]);
  ASSERT_EQ(::symlink(("/proc/self/fd/" + number).c_str(), path("log").c_str()), 0);

  for (const std::string& name : {path("log"), "/dev/fd/" + number, "/proc/self/fd/" + number}) {
    const Result<int> opened = open_append_file(name);
    ASSERT_TRUE(opened) << name << ": " << opened.error().describe();
    EXPECT_NE(*opened, pair[0]);
    EXPECT_EQ(::write(*opened, "x", 1), 1);
    char got = 0;
    EXPECT_EQ(::read(pair[1], &got, 1), 1);
    ::close(*opened);
  }
  EXPECT_EQ(refusal("/dev/stderr"), "opened");
  ::close(pair[0]);
  ::close(pair[1]);
  EXPECT_EQ(open_append_file("/dev/fd/" + number).error().errno_value(), EBADF);
}

TEST_F(AppendFile, waits_for_the_lease_of_another) {
  std::signal(SIGIO, SIG_IGN);  // The word that somebody waits.
  const int holder = ::open(path("log").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (::fcntl(holder, F_SETLEASE, F_WRLCK) != 0) {
    ::close(holder);
    GTEST_SKIP() << "no leases here: " << std::strerror(errno);
  }
  std::thread giver([holder] {
    ::usleep(30'000);
    ::fcntl(holder, F_SETLEASE, F_UNLCK);
  });

  EXPECT_EQ(refusal(path("log")), "opened");
  giver.join();
  ::close(holder);
}

TEST_F(AppendFile, does_not_wait_for_the_reader_of_a_fifo) {
  ASSERT_EQ(::mkfifo(path("log").c_str(), 0600), 0);
  EXPECT_EQ(
      refusal(path("log")),
      "is a socket, or a FIFO that no process reads: first start the process that reads it, or name another file");

  const int reader = ::open(path("log").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  const Result<int> opened = open_append_file(path("log"));
  ASSERT_TRUE(opened);
  EXPECT_NE(::fcntl(*opened, F_GETFL) & O_NONBLOCK, 0) << "nor for one that stops to read";
  ::close(*opened);
  ::close(reader);
}

TEST_F(AppendFile, refuses_a_socket) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(path("log").size(), sizeof address.sun_path);
  std::strcpy(address.sun_path, path("log").c_str());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);

  EXPECT_NE(refusal(path("log")).find("is a socket"), std::string::npos);
  ::close(fd);
}

TEST_F(AppendFile, opens_a_device_whose_writes_wait) {
  const Result<int> opened = open_append_file("/dev/null");
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(::fcntl(*opened, F_GETFL) & O_NONBLOCK, 0);
  ::close(*opened);
}

TEST_F(AppendFile, names_the_target_of_a_link_that_cannot_be_opened) {
  ASSERT_EQ(::symlink("no folder/log", path("link").c_str()), 0);
  const Result<int> opened = open_append_file(path("link"));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code(), Code::NotFound);
  EXPECT_NE(opened.error().describe().find(path("no folder/log")), std::string::npos) << opened.error().describe();
}

}  // namespace
}  // namespace keel::telemetry::append_file_test
