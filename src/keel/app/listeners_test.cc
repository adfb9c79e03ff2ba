// Sockets passed by LISTEN_FDS, to a child process of the test that has them at descriptor 3 and on.

#include "keel/app/listeners.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

namespace keel::app::listeners_test {
namespace {

const Address any_port = Address::parse("127.0.0.1:0").value();

int new_socket(int type = SOCK_STREAM) {
  const int fd = ::socket(AF_INET, type, 0);
  EXPECT_EQ(::bind(fd, any_port.system(), any_port.system_size()), 0);
  return fd;
}
int new_listener() {
  const int fd = new_socket();
  EXPECT_EQ(::listen(fd, 8), 0);
  return fd;
}
Address address_of(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size);
  return Address::from_system(reinterpret_cast<sockaddr*>(&storage), size);
}
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

struct Passed {
  std::vector<int> sockets;  // To descriptor 3 and on.
  std::string count;         // LISTEN_FDS
  std::string names;         // LISTEN_FDNAMES
  bool to_another = false;   // LISTEN_PID is another process.
};

// What `look` says in a process that was passed the sockets.
std::string in_child(const Passed& passed, const std::function<std::string(Result<Listeners>)>& look) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const int answer = ::fcntl(ends[1], F_DUPFD, 200);
    int high = 100;
    for (const int fd : passed.sockets) ::dup2(fd, high++);
    for (int i = 0; i < 20; ++i) ::close(3 + i);
    for (std::size_t i = 0; i < passed.sockets.size(); ++i) ::dup2(100 + static_cast<int>(i), 3 + static_cast<int>(i));
    ::setenv("LISTEN_PID", std::to_string(passed.to_another ? ::getppid() : ::getpid()).c_str(), 1);
    ::setenv("LISTEN_FDS", passed.count.c_str(), 1);
    if (!passed.names.empty()) ::setenv("LISTEN_FDNAMES", passed.names.c_str(), 1);
    std::string said = look(Listeners::from_environment());
    for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) {
      if (::getenv(name) != nullptr) said += std::string(" and ") + name + " is left";
    }
    [[maybe_unused]] const ssize_t written = ::write(answer, said.data(), said.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string said(4096, '\0');
  const ssize_t got = ::read(ends[0], said.data(), said.size());
  said.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  for (const int fd : passed.sockets) ::close(fd);
  return said;
}

std::string what(Result<Listeners> listeners) {
  if (!listeners) return listeners.error().describe();
  std::string text;
  for (const Listeners::Entry& entry : listeners->entries()) {
    text += entry.name + "=" + std::to_string(entry.fd) + (entry.kept ? " " : "! ");
    if ((::fcntl(entry.fd, F_GETFD) & FD_CLOEXEC) == 0) text += "(is inherited by children) ";
  }
  return text;
}

TEST(Listeners, are_none_without_the_variables) {
  ::unsetenv("LISTEN_PID");
  ::unsetenv("LISTEN_FDS");
  const auto listeners = Listeners::from_environment();
  ASSERT_TRUE(listeners);
  EXPECT_TRUE(listeners->entries().empty());
}

TEST(Listeners, are_for_the_servers_they_are_named_for) {
  EXPECT_EQ(in_child({{new_listener(), new_listener(), new_listener()}, "3", "admin:http:http"}, what),
            "admin=3 http=4 http=5 ");
}

TEST(Listeners, are_all_for_http_when_no_name_is_known) {
  EXPECT_EQ(in_child({{new_listener()}, "1", ""}, what), "http=3 ");
  EXPECT_EQ(in_child({{new_listener(), new_listener()}, "2", "shop.socket:shop.socket"}, what), "http=3 http=4 ");
}

TEST(Listeners, of_another_process_are_left_alone) { EXPECT_EQ(in_child({{new_listener()}, "1", "", true}, what), ""); }

TEST(Listeners, that_do_not_fit_are_refused_with_a_reason) {
  const std::string expected = ": expected a TCP or Unix stream socket that listens";
  EXPECT_EQ(in_child({{new_listener()}, "x", ""}, what), "LISTEN_FDS: 'x' is not a number from 0 to 1024");
  EXPECT_EQ(in_child({{new_listener()}, "-1", ""}, what), "LISTEN_FDS: '-1' is not a number from 0 to 1024");
  EXPECT_EQ(in_child({{new_listener()}, "1", "http:admin"}, what),
            "LISTEN_FDNAMES: 2 names for 1 descriptors (LISTEN_FDS)");
  EXPECT_EQ(in_child({{new_listener(), new_listener()}, "2", "http:metrics"}, what),
            "LISTEN_FDNAMES: 'metrics' is not the name of a server of this service: expected http, https, admin, "
            "probes or messages "
            "(systemd: FileDescriptorName=)");
  EXPECT_EQ(in_child({{}, "1", ""}, what), "LISTEN_FDS: descriptor 3 (http) is not open" + expected);
  EXPECT_EQ(in_child({{::open("/dev/null", O_RDONLY)}, "1", ""}, what),
            "LISTEN_FDS: descriptor 3 (http) is not a socket" + expected);
  EXPECT_EQ(in_child({{new_socket(SOCK_DGRAM)}, "1", ""}, what),
            "LISTEN_FDS: descriptor 3 (http) is not a stream socket" + expected);
  EXPECT_EQ(in_child({{new_listener(), new_socket()}, "2", "http:admin"}, what),
            "LISTEN_FDS: descriptor 4 (admin) does not listen (systemd: Accept=no)" + expected);
}

TEST(Listeners, are_found_by_name_and_address) {
  Listeners listeners;
  const int first = new_listener();
  const int second = new_listener();
  const int kept = new_listener();
  const Address at = address_of(first);
  ASSERT_TRUE(listeners.add("http", first, false));
  ASSERT_TRUE(listeners.add("http", second, false));
  ASSERT_TRUE(listeners.add("admin", kept, true));

  EXPECT_EQ(listeners.find("http"), (std::vector{first, second}));
  EXPECT_EQ(listeners.find("http", at), std::vector{first});
  EXPECT_EQ(listeners.find("http", any_port), (std::vector{first, second}));
  EXPECT_EQ(listeners.find("http", Address::parse("127.0.0.2:0").value()), std::vector<int>());
  EXPECT_EQ(listeners.find("admin", at), std::vector{kept}) << "who keeps it chose where";
  EXPECT_FALSE(listeners.is_kept("http"));
  EXPECT_TRUE(listeners.is_kept("admin"));
}

TEST(Listeners, close_what_they_own_and_what_they_refuse) {
  const int good = new_listener();
  const int bad = new_socket();
  {
    Listeners listeners;
    EXPECT_TRUE(listeners.add("http", good, false));
    EXPECT_FALSE(listeners.add("http", bad, false));
    EXPECT_FALSE(is_open(bad));
    Listeners moved = std::move(listeners);
    EXPECT_TRUE(is_open(good));
  }
  EXPECT_FALSE(is_open(good));
}

}  // namespace
}  // namespace keel::app::listeners_test
