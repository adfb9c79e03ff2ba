#include "service.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "keel/base/host.h"
#include "keel/io/engine.h"

namespace e2e {
namespace {

using namespace keel;

Address address_behind(const std::string& text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return {};
  std::string_view rest = std::string_view(text).substr(at + word.size());
  if (rest.starts_with("http://")) rest.remove_prefix(7);
  return Address::parse(rest.substr(0, rest.find_first_of(" \n"))).value();
}

Program fullstack() { return Program(KEEL_E2E_PROGRAM); }

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

}  // namespace

std::vector<std::string> usual_flags(const Folder& folder) {
  return {"--database.path=" + folder / "app.db",
          std::string("--database.migrations=") + KEEL_E2E_MIGRATIONS,
          "--network.http.port=0",
          "--monitoring.metrics.export_port=0",
          "--network.workers=2",
          "--logging.sinks=[{type: file, path: '" + folder / "service.log" + "'}]"};
}

Service::Service(const Folder& folder, std::vector<std::string> more, void (*in_child)()) {
  std::vector<std::string> flags = usual_flags(folder);
  flags.insert(flags.end(), more.begin(), more.end());
  start(fullstack(), flags, {}, in_child, {});
}

Service::Service(std::vector<std::string> flags, std::vector<std::string> environment, void (*in_child)()) {
  start(fullstack(), flags, std::move(environment), in_child, {});
}

Service::Service(std::vector<std::string> flags, std::vector<std::string> environment, std::vector<int> sockets) {
  start(fullstack(), flags, std::move(environment), nullptr, sockets);
}

Service::Service(std::vector<std::string> flags, const Program& program) { start(program, flags, {}, nullptr, {}); }

void Service::start(const Program& program, const std::vector<std::string>& flags, std::vector<std::string> environment,
                    void (*in_child)(), const std::vector<int>& sockets) {
  constexpr int first_passed = 3;
  constexpr int out_of_the_way = 100;
  if (!sockets.empty()) {
    environment.push_back("LISTEN_FDS=" + std::to_string(sockets.size()));
    environment.push_back("LISTEN_PID=0000000000");  // Written by the child, who knows.
  }
  // Everything is made before the fork: after it only system calls are safe.
  std::vector<std::string> words{program.path};
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    if (!std::string_view(*at).starts_with("KEEL_")) variables.emplace_back(*at);
  }
  variables.insert(variables.end(), environment.begin(), environment.end());
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(variables);
  char* const listen_pid = sockets.empty() ? nullptr : variables.back().data() + variables.back().size() - 10;
  int ends[2];
  KEEL_CHECK(::pipe2(ends, O_CLOEXEC) == 0, "a test can make a pipe");
  err_ = ::memfd_create("stderr", MFD_CLOEXEC);
  KEEL_CHECK(err_ >= 0, "a test can make a file in memory");
  const pid_t parent = ::getpid();

  pid_ = ::fork();
  KEEL_CHECK(pid_ >= 0, "a test can fork");
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(126);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(err_, STDERR_FILENO);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (in_child != nullptr) in_child();
    const int count = static_cast<int>(sockets.size());
    for (int i = 0; i < count; ++i) ::dup2(sockets[static_cast<std::size_t>(i)], out_of_the_way + i);
    for (int i = 0; i < count; ++i) ::dup2(out_of_the_way + i, first_passed + i);
    for (int i = 0; i < count; ++i) ::close(out_of_the_way + i);
    if (listen_pid != nullptr) {
      pid_t rest = ::getpid();
      for (int i = 9; i >= 0; --i, rest /= 10) listen_pid[i] = static_cast<char>('0' + rest % 10);
    }
    ::execve(program.path.c_str(), argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  out_ = ends[0];
  read_output();
  address_ = address_behind(output_, "  service  ");
  admin_ = address_behind(output_, "  admin    ");
}

Service::~Service() {
  if (!ended_) {
    ::kill(pid_, SIGKILL);
    wait(10_s);
  }
  ::close(out_);
  ::close(err_);
}

// Until the last of the lines that say it is ready, or the end.
void Service::read_output() {
  const Instant end = Host::system().now() + 20_s;
  pollfd readable{.fd = out_, .events = POLLIN, .revents = 0};
  while (!(output_.find("\n  data     ") != std::string::npos && output_.ends_with('\n'))) {
    const std::int64_t left_ms = (end - Host::system().now()).count_ns() / 1'000'000;
    if (left_ms <= 0 || ::poll(&readable, 1, static_cast<int>(left_ms)) <= 0) return;
    char bytes[65536];
    const ssize_t got = ::read(out_, bytes, sizeof bytes);
    if (got <= 0) return;
    output_.append(bytes, static_cast<std::size_t>(got));
  }
}

std::string Service::errors() const {
  std::string text(static_cast<std::size_t>(std::max<off_t>(::lseek(err_, 0, SEEK_END), 0)), '\0');
  const ssize_t got = ::pread(err_, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

void Service::signal(int number) const {
  if (!ended_) ::kill(pid_, number);
}

std::optional<int> Service::wait(Duration timeout) {
  if (ended_) return ended_;
  const Instant end = Host::system().now() + timeout;
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  pollfd ended{.fd = handle, .events = POLLIN, .revents = 0};
  ::poll(&ended, 1, static_cast<int>(timeout.count_ns() / 1'000'000));
  ::close(handle);
  int status = 0;
  pid_t waited = ::waitpid(pid_, &status, WNOHANG);
  // One that is traced has ended for its tracer first, and a moment later for us.
  for (; waited == 0 && ended.revents != 0 && Host::system().now() < end; waited = ::waitpid(pid_, &status, WNOHANG)) {
    Host::system().sleep(1_ms);
  }
  if (waited == pid_) ended_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended_;
}

std::optional<int> Service::stop() {
  signal(SIGTERM);
  return wait(20_s);
}

bool has_engine(const std::string& engine) {
  return keel::io::choose_engine(engine == "uring" ? io::EngineKind::Uring : io::EngineKind::Epoll).has_value();
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> list;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) list.push_back(line);
  return list;
}

}  // namespace e2e
