// The example that the container wires, in a process of its own.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "client.h"
#include "service.h"

namespace e2e::wiring_test {
namespace {

using namespace keel;

class Wiring : public ::testing::Test {
 protected:
  ~Wiring() override {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    if (out_ >= 0) ::close(out_);
  }

  // Reads what the program says until it is ready, or ends.
  void start(std::vector<std::string> flags) {
    flags.insert(flags.begin(),
                 {KEEL_E2E_WIRING, "--network.http.port=0", "--monitoring.metrics.export_port=0", "--network.workers=1",
                  "--logging.sinks=[{type: file, path: '" + folder_ / "service.log" + "'}]"});
    std::vector<char*> argv;
    for (std::string& flag : flags) argv.push_back(flag.data());
    argv.push_back(nullptr);
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    out_ = ends[0];
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    const int error = ::posix_spawn(&pid_, KEEL_E2E_WIRING, &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    ASSERT_EQ(error, 0);
    char bytes[4096];
    while (output_.find("\n  engine ") == std::string::npos) {
      const ssize_t got = ::read(out_, bytes, sizeof bytes);
      if (got <= 0) break;
      output_.append(bytes, static_cast<std::size_t>(got));
    }
  }
  Address address_behind(std::string_view word) const {
    const std::size_t at = output_.find(word);
    if (at == std::string::npos) return {};
    const std::size_t begin = output_.find("http://", at) + 7;
    return Address::parse(output_.substr(begin, output_.find_first_of(" \n", begin) - begin)).value();
  }
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  Folder folder_;
  pid_t pid_ = -1;
  int out_ = -1;
  std::string output_;
};

TEST_F(Wiring, serves_with_an_object_for_each_request_and_shows_its_graph) {
  start({});
  const Address service = address_behind("  service  ");
  const Address admin = address_behind("  admin    ");
  ASSERT_NE(service.port(), 0) << output_;

  const Reply first = call(service, "GET", "/greet/Ada");
  const Reply second = call(service, "GET", "/greet/Grace%20H");

  EXPECT_EQ(first.status, 200);
  EXPECT_TRUE(first.body.ends_with(", Ada. You are guest 1.\n")) << first.body;
  EXPECT_TRUE(second.body.ends_with(", Grace H. You are guest 2.\n")) << second.body;
  const Reply json = call(admin, "GET", "/admin/graph");
  EXPECT_EQ(json.field("Content-Type"), "application/json");
  EXPECT_NE(json.body.find(R"("name":"Visit","implementation":"Visit","lifetime":"scoped")"), std::string::npos);
  EXPECT_NE(json.body.find(R"("needs":["keel::http::Request","Guestbook","Greeter"])"), std::string::npos) << json.body;
  const Reply tree = call(admin, "GET", "/admin/graph?format=text");
  EXPECT_TRUE(tree.field("Content-Type").starts_with("text/plain"));
  EXPECT_NE(tree.body.find("    Clock: SystemClock "), std::string::npos) << tree.body;
  EXPECT_NE(call(admin, "GET", "/admin/start").body.find(R"("name":"Guestbook")"), std::string::npos);
  EXPECT_NE(call(admin, "GET", "/metrics").body.find(R"(events_published_total{event="GuestSigned"} 2)"),
            std::string::npos);
  EXPECT_EQ(call(service, "GET", "/admin/graph").status, 404);

  ::kill(pid_, SIGTERM);
  EXPECT_EQ(wait(), 0);
  const std::string log = read_file(folder_ / "service.log");
  EXPECT_NE(log.find(R"("message":"the guest book is open")"), std::string::npos) << log;
  EXPECT_NE(log.find(R"("message":"the guest book is closed","guests":2)"), std::string::npos) << log;
  EXPECT_NE(log.find(R"("message":"a guest has signed","guest":"Grace H","number":2)"), std::string::npos) << log;
}

TEST_F(Wiring, says_which_service_could_not_be_made_and_who_needs_it) {
  start({"--network.http.max_request_line=128B"});

  EXPECT_EQ(wait(), 1);
  EXPECT_NE(output_.find("Visit needs Greeter needs Phrases: names need 256 bytes"), std::string::npos) << output_;
}

}  // namespace
}  // namespace e2e::wiring_test
