// The program as its users meet it, with a cmake that is a shell script: it copies examples/greeting. With the real
// one, and a compiler: tests/consume/new_test.py.

#include "dev/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "dev/child.h"
#include "keel/base/host.h"
#include "keel/db/testing/folder.h"

namespace keel::dev::dev_command_test {
namespace {

namespace fs = std::filesystem;

// It answers as CMake does, and its build does what the file `source` says.
constexpr const char* cmake = R"(#!/bin/sh
if [ "$1" = -S ]; then
  reply=build/dev/.cmake/api/v1/reply
  mkdir -p $reply
  touch build/dev/CMakeCache.txt
  echo '{"configurations":[{"targets":[{"name":"app","jsonFile":"app.json"}]}]}' >$reply/codemodel-v2-1.json
  echo '{"type":"EXECUTABLE","artifacts":[{"path":"app"}]}' >$reply/app.json
  [ ! -e slow_configure ] || sleep 0.5
  echo configured >>.configures
else
  case $(cat source) in
    broken) echo "$PWD/source:1:7: error: it is broken"; exit 1 ;;
    slow) sleep 100 ;;
    same) ;;
    *) cp SERVICE build/dev/app.new; cat source >>build/dev/app.new; mv build/dev/app.new build/dev/app ;;
  esac
fi
)";

class DevCommand : public ::testing::Test {
 protected:
  DevCommand() {
    std::string script = cmake;
    script.replace(script.find("SERVICE"), 7, KEEL_DEV_SERVICE);
    fs::create_directory(folder_ / ".bin");
    folder_.write(".bin/cmake", script);
    fs::permissions(folder_ / ".bin/cmake", fs::perms::owner_all);
    folder_.write("CMakeLists.txt", "");
    folder_.write("keel.yaml",
                  "dev:\n  target: app\n  arguments: [--network.http.port=0, --monitoring.enabled=false]\n");
    save("source", "1");
  }
  ~DevCommand() override {
    if (HasFailure()) std::fputs(text().c_str(), stderr);
    ::close(output_);
  }

  void start(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {KEEL_PROGRAM, "dev"};
    words.insert(words.end(), more.begin(), more.end());
    dev_.emplace(Child::start({.words = words,
                               .folder = folder_.path(),
                               .environment = {"PATH=" + folder_ / ".bin" + ":" + std::getenv("PATH")},
                               .output = output_})
                     .value());
  }
  void save(const std::string& name, const std::string& content) {
    folder_.write(name + "~", content);
    fs::rename(folder_ / (name + "~"), folder_ / name);
  }
  std::string text() const {
    std::string text(1 << 20, '\0');
    const ssize_t size = ::pread(output_, text.data(), text.size(), 0);
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return text;
  }
  // Whether it says so within ten seconds, behind what was said before.
  bool says(const std::string& words) {
    for (const Instant end = Host::system().now() + 10_s; Host::system().now() < end; Host::system().sleep(5_ms)) {
      const std::string said = text();
      const std::size_t at = said.find(words, seen_);
      if (at == std::string::npos) continue;
      seen_ = at + words.size();
      return true;
    }
    return false;
  }
  // The process that it has told to serve last.
  pid_t serving() const {
    const std::string said = text();
    const std::size_t at = said.rfind(" is serving on ");
    const std::size_t begin = said.rfind(' ', at - 1) + 1;
    return static_cast<pid_t>(std::stol(said.substr(begin, at - begin)));
  }
  int end(int number) {
    dev_->signal(number);
    return dev_->wait();
  }

  db::testing::Folder folder_;
  int output_ = ::memfd_create("output", MFD_CLOEXEC);
  std::size_t seen_ = 0;
  std::optional<Child> dev_;
};

bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0; }

TEST_F(DevCommand, builds_serves_and_hands_over_to_what_is_saved) {
  start();
  ASSERT_TRUE(says("keel dev: builds app in build/dev; the log is build/dev/keel-dev.log\n"));
  ASSERT_TRUE(says("keel dev: built in "));
  ASSERT_TRUE(says("after the start: save a file to build it again\n"));
  const pid_t first = serving();

  save("source", "2");
  ASSERT_TRUE(says("keel dev: source changed\n"));
  ASSERT_TRUE(says("after the change: it has taken over; the previous process drains\n"));

  const pid_t second = serving();
  EXPECT_NE(second, first);
  EXPECT_EQ(end(SIGINT), 0);
  EXPECT_FALSE(is_alive(first));
  EXPECT_FALSE(is_alive(second));
}

TEST_F(DevCommand, shows_the_first_error_of_a_build_and_keeps_what_runs) {
  start();
  ASSERT_TRUE(says("is serving on"));
  const pid_t first = serving();

  save("source", "broken");

  ASSERT_TRUE(says("process " + std::to_string(first) + " still serves\nsource:1:7: error: it is broken\n"));
  ASSERT_TRUE(says("the whole log is build/dev/keel-dev.log\n"));
  EXPECT_TRUE(is_alive(first));
  EXPECT_EQ(end(SIGTERM), 0);
}

TEST_F(DevCommand, starts_a_program_again_that_is_the_same_for_its_configuration_alone) {
  start();
  ASSERT_TRUE(says("is serving on"));
  save("source", "same");
  ASSERT_TRUE(says("source changed"));

  save("service.yaml", "");

  ASSERT_TRUE(says("restarts the program: it is unchanged, but a file that it reads has changed\n"));
  ASSERT_TRUE(says("it has taken over"));
  EXPECT_EQ(end(SIGINT), 0);
}

TEST_F(DevCommand, keeps_what_runs_when_the_new_program_does_not_start) {
  start();
  ASSERT_TRUE(says("is serving on"));
  const std::string first = std::to_string(serving());

  // It is written into the build folder, which is not watched. Beside the sources, it would cause a build of its own.
  folder_.write("build/dev/fails", "#!/bin/sh\nexit 3\n");
  fs::permissions(folder_ / "build/dev/fails", fs::perms::owner_all);
  fs::rename(folder_ / "build/dev/fails", folder_ / "build/dev/app");
  save("source", "same");

  ASSERT_TRUE(says("ended with exit code 3 before it was ready; process " + first + " still serves\n"));
  EXPECT_EQ(end(SIGINT), 0);
}

TEST_F(DevCommand, says_how_the_service_has_ended_and_starts_it_with_the_next_save) {
  start();
  ASSERT_TRUE(says("is serving on"));

  ::kill(serving(), SIGKILL);
  ASSERT_TRUE(says("was ended by SIGKILL; it starts again when a file is saved\n"));
  save("source", "same");

  ASSERT_TRUE(says("is serving on"));
  EXPECT_EQ(end(SIGINT), 0);
}

TEST_F(DevCommand, ends_a_build_for_the_next_save_and_with_itself) {
  save("source", "slow");
  start();
  ASSERT_TRUE(says("the log is"));
  Host::system().sleep(200_ms);

  save("source", "2");

  ASSERT_TRUE(says("source changed: the build starts again\n"));
  ASSERT_TRUE(says("is serving on"));
  save("source", "slow");
  ASSERT_TRUE(says("source changed\n"));
  const Instant begin = Host::system().now();
  EXPECT_EQ(end(SIGINT), 0);
  EXPECT_LT(Host::system().now() - begin, 10_s);
}

TEST_F(DevCommand, runs_cmake_again_for_changed_presets_though_a_save_has_interrupted_it) {
  const auto configures = [&] { return fs::file_size(folder_ / ".configures") / std::string("configured\n").size(); };
  folder_.write("slow_configure", "");
  start();
  ASSERT_TRUE(says("is serving on"));
  EXPECT_EQ(configures(), 1u);

  save("CMakePresets.json", "{}");
  ASSERT_TRUE(says("CMakePresets.json changed"));
  save("source", "2");

  ASSERT_TRUE(says("source changed"));
  ASSERT_TRUE(says("it has taken over"));
  EXPECT_EQ(configures(), 2u);
  save("source", "3");
  ASSERT_TRUE(says("it has taken over"));
  EXPECT_EQ(configures(), 2u);
  EXPECT_EQ(end(SIGINT), 0);
}

TEST_F(DevCommand, passes_arguments_on_and_says_what_is_wrong_with_its_own) {
  const auto ran = [&](std::vector<std::string> more) {
    seen_ = text().size();
    start(std::move(more));
    return dev_->wait();
  };
  EXPECT_EQ(ran({"--quick"}), 2);
  EXPECT_TRUE(says("keel dev: --quick: there is no such option; write the program's own options after --\n"));
  EXPECT_EQ(ran({"--target"}), 2);
  EXPECT_TRUE(says("keel dev: --target: needs a value\n"));
  EXPECT_EQ(ran({"--help"}), 0);
  EXPECT_TRUE(says("keel dev [--preset NAME]"));
  fs::remove(folder_ / "keel.yaml");
  EXPECT_EQ(ran({}), 2);
  EXPECT_TRUE(says("target: NAME"));

  start({"--target", "app", "--", "--network.http.prot=1"});
  ASSERT_TRUE(says("ended with exit code 2 before it was ready; the service does not run until this is fixed\n"));
  EXPECT_EQ(end(SIGINT), 0);
}

}  // namespace
}  // namespace keel::dev::dev_command_test
