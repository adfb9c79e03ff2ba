#include "dev/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

namespace keel::dev {
namespace {

constexpr int not_started = 127;
constexpr int times_asked = 5;  // A build gets this many SIGTERM signals, one a second, before it is killed.

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  const auto name = [](std::string_view variable) { return variable.substr(0, variable.find('=')); };
  std::vector<std::string> variables = added;
  for (char** at = environ; *at != nullptr; ++at) {
    const bool is_replaced = std::ranges::any_of(added, [&](const auto& one) { return name(one) == name(*at); });
    if (!is_replaced) variables.emplace_back(*at);
  }
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> made;
  for (std::string& word : words) made.push_back(word.data());
  made.push_back(nullptr);
  return made;
}

// Everything needed to start a child, prepared before the fork: after the fork only system calls are safe.
struct Prepared {
  std::vector<std::string> words;
  std::vector<std::string> variables;
  std::vector<char*> argv;
  std::vector<char*> envp;
  const char* folder;
  int output;
  int failed;  // The descriptor to which errno is written if exec fails; a successful exec closes it.
};

[[noreturn]] void fail_child(const Prepared& prepared) {
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(prepared.failed, &error, sizeof error);
  ::_exit(not_started);
}

// Makes the kernel send SIGTERM to this process when its parent ends; also ends this process if the parent ended before
// the call.
void end_with(pid_t parent, const Prepared& prepared) {
  if (::prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) fail_child(prepared);
  if (::getppid() != parent) ::_exit(not_started);
}

[[noreturn]] void become(const Prepared& prepared) {
  if (prepared.folder != nullptr && ::chdir(prepared.folder) != 0) fail_child(prepared);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0) fail_child(prepared);
  if (prepared.output >= 0) {
    if (::dup2(prepared.output, STDOUT_FILENO) < 0 || ::dup2(prepared.output, STDERR_FILENO) < 0) fail_child(prepared);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvpe(prepared.argv[0], prepared.argv.data(), prepared.envp.data());
  fail_child(prepared);
}

// The guard: a process between keel dev and a build, which passes signals on to the build's process group, and ends
// when all processes of the build have ended. A process that loses its parent, such as ninja when cmake is killed,
// becomes a child of the guard.
[[noreturn]] void guard(const Prepared& prepared) {
  sigset_t awaited;
  ::sigemptyset(&awaited);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGALRM}) ::sigaddset(&awaited, number);
  ::sigprocmask(SIG_SETMASK, &awaited, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t command = ::fork();
  if (command < 0) fail_child(prepared);
  if (command == 0) become(prepared);
  ::close(prepared.failed);

  int code = not_started;
  int asked = 0;
  while (true) {
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (ended == command) code = code_of(status);
    }
    if (ended < 0) ::_exit(asked > 0 && code == 0 ? 128 + SIGTERM : code);
    int number = 0;
    ::sigwait(&awaited, &number);
    if (number == SIGCHLD || (number != SIGALRM && asked > 0))
      continue;  // The guard leads the group, so it also receives the signals that it sends to the group.
    // The signal is sent again, because a process between fork and exec may have missed the first signal.
    ::kill(0, asked++ < times_asked ? SIGTERM : SIGKILL);
    ::alarm(1);
  }
}

}  // namespace

Result<Child> Child::start(const Launch& launch) {
  Prepared prepared{.words = launch.words,
                    .variables = environment_with(launch.environment),
                    .argv = {},
                    .envp = {},
                    .folder = launch.folder.empty() ? nullptr : launch.folder.c_str(),
                    .output = launch.output,
                    .failed = -1};
  prepared.argv = pointers(prepared.words);
  prepared.envp = pointers(prepared.variables);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno("pipe", errno);
  prepared.failed = ends[1];
  const pid_t parent = ::getpid();

  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    end_with(parent, prepared);
    launch.has_descendants ? guard(prepared) : become(prepared);
  }
  const int fork_error = errno;
  ::close(ends[1]);
  int error = 0;
  ssize_t got = 0;
  while (pid > 0 && (got = ::read(ends[0], &error, sizeof error)) < 0 && errno == EINTR) {
  }
  ::close(ends[0]);
  if (pid < 0) return Error::from_errno("fork", fork_error);
  if (got != sizeof error) return Child(pid, launch.has_descendants);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return Error::from_errno("exec", error).because("cannot start " + launch.words.front());
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), has_descendants_(other.has_descendants_), code_(other.code_) {}

Child& Child::operator=(Child&& other) noexcept {
  if (this == &other) return *this;
  end();
  pid_ = std::exchange(other.pid_, -1);
  has_descendants_ = other.has_descendants_;
  code_ = other.code_;
  return *this;
}

Child::~Child() { end(); }

void Child::end() noexcept {
  if (pid_ < 0 || code_) return;
  signal(has_descendants_ ? SIGTERM : SIGKILL);
  wait();
}

void Child::signal(int number) const noexcept {
  if (pid_ > 0 && !code_) ::kill(pid_, number);
}

std::optional<int> Child::ended() noexcept {
  if (code_ || pid_ < 0) return code_;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) code_ = code_of(status);
  return code_;
}

int Child::wait() noexcept {
  while (!code_) {
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, 0);
    if (ended == pid_) code_ = code_of(status);
    if (ended < 0 && errno != EINTR) code_ = not_started;
  }
  return *code_;
}

}  // namespace keel::dev
