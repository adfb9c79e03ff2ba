// Predecessor and successor in one process, over a real socket; and peers that do not keep to the protocol.

#include "keel/app/handover.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "keel/app/internal/no_threads_test.h"
#include "keel/base/host.h"

namespace keel::app::handover_test {
namespace {

int new_listener() {
  const Address any = Address::parse("127.0.0.1:0").value();
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::bind(fd, any.system(), any.system_size()), 0);
  EXPECT_EQ(::listen(fd, 8), 0);
  return fd;
}
Address address_of(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size);
  return Address::from_system(reinterpret_cast<sockaddr*>(&storage), size);
}
int connect_to(const Address& to) {
  const int fd = ::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, to.system(), to.system_size()) == 0) return fd;
  ::close(fd);
  return -1;
}
bool is_readable(int fd, int timeout_ms) {
  pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&wait, 1, timeout_ms) > 0;
}

// The other side, byte by byte.
class Raw {
 public:
  explicit Raw(int fd) : fd_(fd) {}
  explicit Raw(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    const Address at = Address::parse("unix:" + path).value();
    is_connected = ::connect(fd_, at.system(), at.system_size()) == 0;
  }
  Raw(Raw&& other) noexcept : is_connected(other.is_connected), fd_(std::exchange(other.fd_, -1)) {}
  ~Raw() {
    if (fd_ >= 0) ::close(fd_);
  }
  void say(const std::string& text) { ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL); }
  // The next message; "" at the end. Descriptors that come with it are dropped.
  std::string hear() {
    char bytes[1024];
    const ssize_t got = is_readable(fd_, 10'000) ? ::recv(fd_, bytes, sizeof bytes, 0) : -1;
    return got > 0 ? std::string(bytes, static_cast<std::size_t>(got)) : "";
  }
  bool is_connected = false;

 private:
  int fd_;
};

class Handovers : public ::testing::Test {
 protected:
  Handovers() {
    std::string pattern = (std::filesystem::temp_directory_path() / "keel-handover-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ + "/control";
  }
  ~Handovers() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Handover> run(Listeners listeners, std::atomic<int>& taken, const std::string& service = "shop") {
    auto made = Handover::make(path_, service, [&taken] { ++taken; });
    EXPECT_TRUE(made) << made.error().describe();
    EXPECT_TRUE((*made)->publish(std::move(listeners)));
    return *std::move(made);
  }
  std::unique_ptr<Handover> run(std::atomic<int>& taken) {
    Listeners listeners;
    EXPECT_TRUE(listeners.add("http", new_listener(), false));
    return run(std::move(listeners), taken);
  }
  // A running process that answers with `messages`, and then ends the connection or, with `stays`, does not.
  std::thread impostor(std::vector<std::string> messages, bool stays = false) {
    const Address at = Address::parse("unix:" + path_).value();
    const int listener = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(listener, at.system(), at.system_size()), 0);
    EXPECT_EQ(::listen(listener, 1), 0);
    return std::thread([listener, messages, stays] {
      Raw peer(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
      peer.hear();
      for (const std::string& message : messages) peer.say(message);
      if (stays) peer.hear();
      ::close(listener);
    });
  }
  std::string refusal(const std::string& greeting) {
    Raw raw(path_);
    raw.say(greeting);
    return raw.hear();
  }

  std::string folder_;
  std::string path_;
};

TEST_F(Handovers, are_not_published_when_no_thread_can_be_started) {
  auto made = Handover::make(path_, "shop", [] {});
  ASSERT_TRUE(made) << made.error().describe();
  Result<> published;
  {
    const NoThreads none;
    published = (*made)->publish(Listeners());
  }

  EXPECT_FALSE(published);
  EXPECT_FALSE(std::filesystem::exists(path_)) << "no successor finds a socket that nobody reads";
}

TEST_F(Handovers, give_a_successor_every_socket_and_end_when_it_is_ready) {
  const int http = new_listener();
  const int admin = new_listener();
  const Address http_at = address_of(http);
  const Address admin_at = address_of(admin);
  Listeners listeners;
  ASSERT_TRUE(listeners.add("http", http, false));
  ASSERT_TRUE(listeners.add("admin", admin, true));
  std::atomic<int> taken = 0;
  auto running = run(std::move(listeners), taken);

  auto found = Predecessor::find(path_, "shop");
  ASSERT_TRUE(found) << found.error().describe();
  ASSERT_TRUE(found->has_value());
  Predecessor& predecessor = **found;
  ASSERT_EQ(predecessor.listeners().entries().size(), 2u);
  const int client = connect_to(http_at);
  EXPECT_EQ(taken, 0);
  EXPECT_EQ(predecessor.process(), ::getpid());
  EXPECT_TRUE(predecessor.leave());
  EXPECT_EQ(running->end(), Handover::State::Taken);

  EXPECT_EQ(taken, 1);
  EXPECT_EQ(running->successor(), ::getpid());
  const auto& entries = predecessor.listeners().entries();
  EXPECT_EQ(address_of(entries[0].fd), http_at);
  EXPECT_EQ(address_of(entries[1].fd), admin_at);
  EXPECT_EQ(entries[0].name + entries[1].name, "httpadmin");
  EXPECT_FALSE(entries[0].kept);
  EXPECT_TRUE(entries[1].kept);
  // Who connected before has not noticed that the socket is another process's now.
  const int accepted = ::accept(entries[0].fd, nullptr, nullptr);
  EXPECT_GE(accepted, 0);
  ::close(accepted);
  ::close(client);
}

TEST_F(Handovers, give_each_successor_the_secret_of_the_moment) {
  std::atomic<int> asked = 0;
  auto running = Handover::make(path_, "shop", [] {}).value();
  ASSERT_TRUE(running->publish({}, [&asked] { return std::string(10'000, 'x') + std::to_string(++asked); }));
  for (int i = 1; i <= 2; ++i) {
    const auto found = Predecessor::find(path_, "shop");
    ASSERT_TRUE(found && found->has_value());
    EXPECT_EQ((*found)->secret(), std::string(10'000, 'x') + std::to_string(i));
  }
}

TEST_F(Handovers, give_no_secret_that_is_empty_or_too_long) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{16} * 1024 + 1, std::size_t{1} << 20}) {
    auto running = Handover::make(path_, "shop", [] {}).value();
    ASSERT_TRUE(running->publish({}, [size] { return std::string(size, 'x'); }));
    const auto found = Predecessor::find(path_, "shop");
    ASSERT_TRUE(found && found->has_value());
    EXPECT_EQ((*found)->secret(), "") << size;
  }
}

// A process of an earlier version.
TEST_F(Handovers, do_without_a_secret_where_the_running_process_has_none_to_give) {
  std::thread running = impostor({"listeners 0"}, true);
  {
    const auto found = Predecessor::find(path_, "shop");
    ASSERT_TRUE(found && found->has_value());
    EXPECT_EQ((*found)->secret(), "");
  }
  running.join();
}

TEST_F(Handovers, go_on_when_the_successor_ends_before_it_is_ready) {
  std::atomic<int> taken = 0;
  auto running = run(taken);
  for (int i = 0; i < 3; ++i) {
    auto found = Predecessor::find(path_, "shop");
    ASSERT_TRUE(found && found->has_value()) << i;
  }

  auto found = Predecessor::find(path_, "shop");

  ASSERT_TRUE(found && found->has_value());
  EXPECT_EQ(taken, 0);
  EXPECT_TRUE((*found)->leave());
  EXPECT_EQ(running->end(), Handover::State::Taken);
}

TEST_F(Handovers, that_end_first_leave_the_sockets_to_the_successor) {
  std::atomic<int> taken = 0;
  auto running = run(taken);
  auto found = Predecessor::find(path_, "shop");
  ASSERT_TRUE(found && found->has_value());
  const int listener = (*found)->listeners().entries()[0].fd;

  EXPECT_EQ(running->end(), Handover::State::Given);
  running.reset();

  EXPECT_FALSE((*found)->leave());
  const int client = connect_to(address_of(listener));
  EXPECT_GE(client, 0);
  EXPECT_TRUE(is_readable(listener, 5000));
  EXPECT_EQ(taken, 0);
  ::close(client);
}

TEST_F(Handovers, that_nobody_asked_for_close_the_sockets_and_remove_the_path) {
  const int listener = new_listener();
  const Address at = address_of(listener);
  Listeners listeners;
  ASSERT_TRUE(listeners.add("http", listener, false));
  std::atomic<int> taken = 0;
  auto running = run(std::move(listeners), taken);
  struct stat status;
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);

  EXPECT_EQ(running->end(), Handover::State::Kept);

  EXPECT_EQ(connect_to(at), -1);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Handovers, are_found_at_the_path_of_the_last_one_published) {
  std::atomic<int> first_taken = 0;
  std::atomic<int> second_taken = 0;
  auto first = run(first_taken);
  auto second = run(second_taken);

  auto found = Predecessor::find(path_, "shop");
  ASSERT_TRUE(found && found->has_value());
  EXPECT_TRUE((*found)->leave());
  EXPECT_EQ(first->end(), Handover::State::Kept);
  EXPECT_TRUE(std::filesystem::exists(path_)) << "it is not the first one's to remove";
  EXPECT_EQ(second->end(), Handover::State::Taken);  // Only now has its thread told of it for sure.

  EXPECT_EQ(first_taken, 0);
  EXPECT_EQ(second_taken, 1);
}

TEST_F(Handovers, are_not_there_where_nobody_listens) {
  EXPECT_EQ(Predecessor::find(path_, "shop").value().has_value(), false);
  std::atomic<int> taken = 0;
  if (const pid_t child = ::fork(); child == 0) {
    auto running = run(taken);
    ::_exit(0);  // As by a crash: the path stays.
  } else {
    ::waitpid(child, nullptr, 0);
  }
  ASSERT_TRUE(std::filesystem::exists(path_));
  EXPECT_EQ(Predecessor::find(path_, "shop").value().has_value(), false);
  auto running = run(taken);
  EXPECT_TRUE(Predecessor::find(path_, "shop").value().has_value());
}

TEST_F(Handovers, refuse_what_they_do_not_understand_and_go_on) {
  std::atomic<int> taken = 0;
  auto running = run(taken);

  EXPECT_EQ(refusal("GET / HTTP/1.1\r\n\r\n"), "refused: the successor does not speak the hand-over protocol");
  EXPECT_EQ(refusal(std::string(100'000, '\0')), "refused: the successor does not speak the hand-over protocol");
  EXPECT_EQ(refusal("keel-handover 2 shop"),
            "refused: the successor's version of the hand-over protocol differs from version 1, which the running "
            "process uses: stop the running process first");
  EXPECT_EQ(refusal("keel-handover 1 cart"), "refused: the running process is 'shop', another service");
  {
    Raw silent(path_);
  }
  Raw mumbling(path_);
  mumbling.say("keel-handover 1 shop");
  EXPECT_EQ(mumbling.hear(), "listeners 1");
  EXPECT_EQ(mumbling.hear(), "listener http");
  mumbling.say("reday");
  EXPECT_EQ(mumbling.hear(), "") << "a successor that says anything but ready is none";

  auto found = Predecessor::find(path_, "shop");
  ASSERT_TRUE(found && found->has_value());
  EXPECT_TRUE((*found)->leave());
}

TEST_F(Handovers, do_not_wait_for_long_for_one_who_says_nothing) {
  std::atomic<int> taken = 0;
  auto running = run(taken);
  Raw silent(path_);
  ASSERT_TRUE(silent.is_connected);

  auto found = Predecessor::find(path_, "shop");
  ASSERT_TRUE(found && found->has_value()) << found.error().describe();
  Raw another_silent(path_);
  EXPECT_EQ(running->end(), Handover::State::Given) << "and an end does not wait for it at all";
}

TEST_F(Handovers, serve_one_successor_at_a_time) {
  std::atomic<int> taken = 0;
  auto running = run(taken);
  auto first = Predecessor::find(path_, "shop");
  ASSERT_TRUE(first && first->has_value());

  auto second = Predecessor::find(path_, "shop");

  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Code::FailedPrecondition);
  const std::string self = std::to_string(::getpid());
  EXPECT_EQ(second.error().message(), "process " + self + " at '" + path_ + "' rejects the hand-over: process " + self +
                                          " is taking over from process " + self);
  EXPECT_TRUE((*first)->leave());
}

TEST_F(Handovers, refuse_processes_of_other_users) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  std::atomic<int> taken = 0;
  auto running = run(taken);
  ::chmod(folder_.c_str(), 0777);
  const auto as_nobody = [&](auto check) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(::setuid(65534) == 0 && check() ? 0 : 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  EXPECT_TRUE(as_nobody([&] { return !Raw(path_).is_connected && errno == EACCES; }));
  ::chmod(path_.c_str(), 0666);

  EXPECT_TRUE(as_nobody([&] {
    Raw raw(path_);
    return raw.is_connected && raw.hear() == "refused: the successor is a process of another user";
  }));
}

TEST_F(Handovers, find_out_what_is_no_predecessor) {
  const auto error = [&](std::vector<std::string> messages) {
    std::thread other = impostor(std::move(messages));
    auto found = Predecessor::find(path_, "shop");
    other.join();
    std::filesystem::remove(path_);
    if (found) return found->has_value() ? std::string("a predecessor") : std::string("nobody");
    std::string text(found.error().message());
    const std::size_t at = text.find(path_);
    return at == std::string::npos ? text : text.substr(at + path_.size() + 2);
  };
  const std::string strange = "does not support version 1 of the hand-over protocol (it sent '";
  EXPECT_EQ(error({}), "nobody") << "it crashed";
  EXPECT_EQ(error({"listeners 2"}), "nobody") << "it crashed";
  EXPECT_EQ(error({"hello"}), strange + "hello'): stop it first");
  EXPECT_EQ(error({"listeners 1000000"}), strange + "listeners 1000000'): stop it first");
  EXPECT_EQ(error({"listeners 1", "listener http"}), strange + "listener http'): stop it first") << "without a socket";
  EXPECT_EQ(error({"refused: it is late"}), "rejects the hand-over: it is late");
  EXPECT_EQ(error({"listeners 0"}), "a predecessor") << "that listens nowhere";

  const Address at = Address::parse("unix:" + path_).value();
  const int stream = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(stream, at.system(), at.system_size()), 0);
  ASSERT_EQ(::listen(stream, 1), 0);
  EXPECT_EQ(Predecessor::find(path_, "shop").error().message(),
            "'" + path_ + "' is not the hand-over socket of a service");
  ::close(stream);
}

// A socket would be put in its place: a database, say, would be gone.
TEST_F(Handovers, leave_a_file_that_is_no_socket_alone) {
  std::ofstream(path_) << "precious";
  EXPECT_EQ(Predecessor::find(path_, "shop").error().message(),
            "'" + path_ + "' is not the hand-over socket of a service");
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_EQ(Predecessor::find(path_, "shop").error().code(), Code::FailedPrecondition);
  std::filesystem::remove(path_);
}

TEST_F(Handovers, do_not_wait_for_ever_for_a_predecessor_that_hangs) {
  std::thread other = impostor({}, true);

  const auto found = Predecessor::find(path_, "shop");

  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::Unavailable);
  EXPECT_TRUE(std::string(found.error().message()).ends_with("does not respond")) << found.error().describe();
  other.join();
}

TEST_F(Handovers, need_a_folder_that_may_be_written_to_and_a_short_path) {
  const auto error = [](const std::string& path) {
    auto made = Handover::make(path, "shop", [] {});
    return made ? std::string() : made.error().describe();
  };
  EXPECT_EQ(error(folder_ + "/none/control"),
            "the folder of '" + folder_ +
                "/none/control' must exist, and this user must be able to write there: bind: No "
                "such file or directory");
  EXPECT_NE(error(folder_ + "/" + std::string(200, 'x')).find("a Unix socket path must have 1 to 107 bytes"),
            std::string::npos);
}

}  // namespace
}  // namespace keel::app::handover_test
