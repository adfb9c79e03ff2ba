#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <vector>

#include "keel/base/check.h"

namespace conformance {

using namespace keel;

Process::Process(const std::string& engine, const std::string& data, const std::string& certificate) {
  // Everything is made before the fork: after it only system calls are safe. What it logs is appended beside its file,
  // because rejecting is what it does all day.
  const std::string log = data + ".log";
  std::vector<const char*> words = {"server",   "--port",       "0",      "--describe-port", "0",
                                    "--engine", engine.c_str(), "--data", data.c_str()};
  if (!certificate.empty()) words.insert(words.end(), {"--certificate", certificate.c_str()});
  words.push_back(nullptr);
  int ends[2];
  KEEL_CHECK(::pipe2(ends, O_CLOEXEC) == 0, "a test can make a pipe");
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  KEEL_CHECK(pid_ >= 0, "a test can fork");
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(126);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600), STDERR_FILENO);
    ::execv(KEEL_CONFORMANCE_SERVER, const_cast<char* const*>(words.data()));
    ::_exit(127);
  }
  ::close(ends[1]);
  read_ports(ends[0]);
  ::close(ends[0]);
}

Process::~Process() {
  if (ended_) return;
  signal(SIGKILL);
  wait(10_s);
}

void Process::read_ports(int from) {
  std::string line;
  pollfd readable{.fd = from, .events = POLLIN, .revents = 0};
  while (!line.ends_with('\n')) {
    const int ready = ::poll(&readable, 1, 20'000);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return;
    char bytes[256];
    const ssize_t got = ::read(from, bytes, sizeof bytes);
    if (got <= 0) return;
    line.append(bytes, static_cast<std::size_t>(got));
  }
  unsigned port = 0;
  unsigned describe_port = 0;
  if (std::sscanf(line.c_str(), "listening on port %u, describing on port %u", &port, &describe_port) != 2) return;
  port_ = static_cast<std::uint16_t>(port);
  describe_port_ = static_cast<std::uint16_t>(describe_port);
}

void Process::signal(int number) const {
  if (!ended_) ::kill(pid_, number);
}

std::optional<int> Process::wait(Duration timeout) {
  if (ended_) return ended_;
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  pollfd ended{.fd = handle, .events = POLLIN, .revents = 0};
  while (::poll(&ended, 1, static_cast<int>(timeout.count_ns() / 1'000'000)) < 0 && errno == EINTR) {
  }
  ::close(handle);
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) {
    ended_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return ended_;
}

}  // namespace conformance
