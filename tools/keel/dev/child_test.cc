#include "dev/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

#include "keel/base/host.h"
#include "keel/base/time.h"
#include "keel/db/testing/folder.h"

namespace keel::dev::child_test {
namespace {

// What is written to it can be read back.
class Output {
 public:
  Output() : fd_(::memfd_create("output", MFD_CLOEXEC)) {}
  ~Output() { ::close(fd_); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  int fd() const { return fd_; }
  std::string text() const {
    std::string text(65536, '\0');
    const ssize_t size = ::pread(fd_, text.data(), text.size(), 0);
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return text;
  }

 private:
  int fd_;
};

Launch shell(const std::string& script, bool has_descendants = false) {
  return {.words = {"sh", "-c", script}, .has_descendants = has_descendants};
}

template <class F>
bool comes_true(F condition) {
  for (const Instant end = Host::system().now() + 10_s; Host::system().now() < end; Host::system().sleep(5_ms)) {
    if (condition()) return true;
  }
  return condition();
}

bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0; }

TEST(Child, ends_with_the_code_of_its_program) {
  EXPECT_EQ(Child::start(shell("exit 7")).value().wait(), 7);
  EXPECT_EQ(Child::start(shell("kill -SEGV $$")).value().wait(), 128 + SIGSEGV);
  EXPECT_EQ(Child::start(shell("exit 7", true)).value().wait(), 7);
  EXPECT_EQ(Child::start(shell("kill -SEGV $$", true)).value().wait(), 128 + SIGSEGV);
}

TEST(Child, says_which_program_cannot_be_started) {
  for (const bool has_descendants : {false, true}) {
    const auto child = Child::start({.words = {"there/is/none"}, .has_descendants = has_descendants});

    ASSERT_FALSE(child);
    EXPECT_EQ(child.error().code(), Code::NotFound);
    EXPECT_NE(child.error().describe().find("cannot start there/is/none"), std::string::npos)
        << child.error().describe();
  }
}

TEST(Child, has_the_folder_environment_and_output_that_it_is_given) {
  db::testing::Folder folder;
  folder.write("here", "");
  Output output;
  ::setenv("DEV_CHILD", "inherited", 1);

  Launch launch = shell("ls; echo $DEV_CHILD; echo error >&2; cat");
  launch.folder = folder.path();
  launch.environment = {"DEV_CHILD=given"};
  launch.output = output.fd();
  EXPECT_EQ(Child::start(launch).value().wait(), 0) << "its standard input has nothing";

  EXPECT_EQ(output.text(), "here\ngiven\nerror\n");
}

TEST(Child, is_ended_with_its_owner) {
  pid_t pid = 0;
  {
    Child child = Child::start(shell("exec sleep 100")).value();
    pid = child.pid();
    EXPECT_EQ(child.ended(), std::nullopt);
  }
  EXPECT_FALSE(is_alive(pid));
}

TEST(Child, is_out_of_reach_of_the_terminals_signals) {
  Child child = Child::start(shell("exec sleep 100")).value();
  EXPECT_EQ(::getpgid(child.pid()), child.pid());
}

TEST(Child, passes_a_signal_on_to_all_that_it_started_and_waits_for_it) {
  Output output;
  // As ninja does when cmake has gone: the grandchild loses its parent, and cleans up.
  Launch launch =
      shell("sh -c 'trap \"sleep 0.2; echo cleaned up; exit\" TERM; sleep 100 & echo begun; wait' & wait", true);
  launch.output = output.fd();
  Child child = Child::start(launch).value();
  ASSERT_TRUE(comes_true([&] { return output.text() == "begun\n"; }));

  child.signal(SIGTERM);

  EXPECT_EQ(child.wait(), 128 + SIGTERM);
  EXPECT_EQ(output.text(), "begun\ncleaned up\n");
}

// In a process of its own, which starts a child and is killed.
void leaves_nothing_behind(bool has_descendants) {
  Output output;
  const pid_t owner = ::fork();
  if (owner == 0) {
    Launch launch =
        shell("sh -c 'echo $$; trap \"echo drained; exit\" TERM; sleep 100 & wait' & echo; wait", has_descendants);
    if (!has_descendants) launch = shell("echo $$; trap 'kill $!; echo drained; exit' TERM; sleep 100 & wait");
    launch.output = output.fd();
    auto child = Child::start(launch);
    ::pause();
    ::_exit(0);
  }
  const auto begun = [&] { return output.text().find_first_of("0123456789") != std::string::npos; };
  ASSERT_TRUE(comes_true(begun));
  Host::system().sleep(100_ms);
  const std::string said = output.text();
  const pid_t inner = static_cast<pid_t>(std::stol(said.substr(said.find_first_of("0123456789"))));

  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);

  EXPECT_TRUE(comes_true([&] { return output.text().ends_with("drained\n"); })) << output.text();
  EXPECT_TRUE(comes_true([&] { return !is_alive(inner); }));
}
TEST(Child, is_asked_to_end_when_its_owner_is_killed) { leaves_nothing_behind(false); }
TEST(Child, and_its_descendants_are_asked_to_end_when_its_owner_is_killed) { leaves_nothing_behind(true); }

}  // namespace
}  // namespace keel::dev::child_test
