#include "dev/session.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "keel/base/host.h"

namespace keel::dev {
namespace {

Instant now() { return Host::system().now(); }

void say(const std::string& text) {
  std::printf("keel dev: %s\n", text.c_str());
  std::fflush(stdout);
}

std::string seconds(Duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", time.count_seconds());
  return text;
}

std::string how_it_ended(int code) {
  if (code <= 128) return "ended with exit code " + std::to_string(code);
  const char* const name = ::sigabbrev_np(code - 128);
  return "was ended by " + (name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(code - 128));
}

std::string list(const std::set<std::string>& files) {
  constexpr std::size_t most = 3;
  if (files.size() > most) return std::to_string(files.size()) + " files changed";
  std::string text;
  for (const std::string& file : files) text += (text.empty() ? "" : ", ") + (file == "." ? "something" : file);
  return text + " changed";
}

sigset_t taken_signals() {
  sigset_t taken;
  ::sigemptyset(&taken);
  for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&taken, number);
  return taken;
}

}  // namespace

Result<std::unique_ptr<Session>> Session::make(Project project, std::vector<std::string> arguments) {
  KEEL_TRY(auto watcher, Watcher::make(project.folder(), Ignored(project.ignored())));
  KEEL_TRY(Generations generations, Generations::make());
  std::unique_ptr<Session> made(
      new Session(std::move(project), std::move(arguments), std::move(generations), std::move(watcher)));
  const sigset_t taken = taken_signals();
  ::sigprocmask(SIG_BLOCK, &taken, nullptr);
  made->signals_ = ::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
  if (made->signals_ < 0) return Error::from_errno("signalfd", errno);
  return made;
}

Session::Session(Project project, std::vector<std::string> arguments, Generations generations,
                 std::unique_ptr<Watcher> watcher)
    : project_(std::move(project)),
      arguments_(std::move(arguments)),
      generations_(std::move(generations)),
      watcher_(std::move(watcher)),
      builder_(project_.folder(), project_.log()) {}

Session::~Session() {
  if (signals_ >= 0) ::close(signals_);
}

Session::Identity Session::identify(const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return {};
  return {.inode = facts.st_ino,
          .size = facts.st_size,
          .changed_ns = facts.st_mtim.tv_sec * 1'000'000'000LL + facts.st_mtim.tv_nsec};
}

Result<int> Session::run() {
  saved_ = now();
  say("builds " + project_.settings().target + " in " + project_.build() + "; the log is " + builder_.log());
  KEEL_TRY_VOID(build({}));
  while (stops_asked_ == 0 || !generations_.is_empty()) {
    KEEL_TRY_VOID(wait());
    KEEL_TRY_VOID(take_signals());
    for (const Generations::Event& event : generations_.events(now())) tell(event);
    if (stops_asked_ > 0) continue;
    KEEL_TRY(const std::optional<Built> built, builder_.ended(now()));
    if (built) KEEL_TRY_VOID(take_build(*built));
    KEEL_TRY(const auto changed, watcher_->changes());
    changes_.add(changed, now());
    if (changes_.is_due(now())) KEEL_TRY_VOID(build(changes_.take()));
  }
  return code_;
}

// Waits until a signal, a saved file or a message arrives, or until the next deadline.
Result<> Session::wait() {
  pollfd awaited[] = {{.fd = signals_, .events = POLLIN, .revents = 0},
                      {.fd = generations_.fd(), .events = POLLIN, .revents = 0},
                      {.fd = watcher_->fd(), .events = POLLIN, .revents = 0}};
  std::optional<Instant> due = changes_.due();
  if (const auto deadline = generations_.deadline(); deadline && (!due || *deadline < *due)) due = deadline;
  int timeout_ms = -1;
  if (due) timeout_ms = static_cast<int>(std::max<std::int64_t>((*due - now()).count_ns() / 1'000'000 + 1, 0));
  const nfds_t count = stops_asked_ > 0 ? 2 : 3;  // Files that are saved during the shutdown are ignored.
  if (::poll(awaited, count, timeout_ms) < 0 && errno != EINTR) return Error::from_errno("poll", errno);
  return {};
}

Result<> Session::take_signals() {
  signalfd_siginfo info;
  while (::read(signals_, &info, sizeof info) == sizeof info) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number == SIGQUIT) generations_.signal(SIGQUIT);  // On SIGQUIT, the service logs its tasks and stacks.
    if (number == SIGINT || number == SIGTERM || number == SIGHUP) stop();
  }
  return {};
}

void Session::stop() {
  ++stops_asked_;
  if (stops_asked_ == 1 && generations_.serving() != 0)
    say("stops: the service drains; another Ctrl-C ends it immediately");
  generations_.signal(stops_asked_ <= 2 ? SIGTERM : SIGKILL);
  builder_.cancel();
}

Result<> Session::build(const std::set<std::string>& changed) {
  has_to_configure_ = has_to_configure_ || !project_.is_configured();
  for (const std::string& file : changed) {
    const bool is_any = file == ".";  // The watcher lost some changes, so any file may have changed.
    has_to_configure_ = has_to_configure_ || is_any || project_.has_to_configure(file);
    if (file == "keel.yaml") {
      say("keel.yaml is read only when keel dev starts: restart keel dev");
    } else {
      has_to_start_ = has_to_start_ || is_any || project_.restarts_on(file);
    }
  }
  if (!changed.empty()) {
    say(list(changed) + (builder_.is_running() ? ": the build starts again" : ""));
    saved_ = now();
  }
  return builder_.start(project_.steps(has_to_configure_), now());
}

std::string Session::who_serves() const {
  const pid_t serving = generations_.serving();
  if (serving == 0) return "the service does not run until this is fixed";
  return "process " + std::to_string(serving) + " still serves";
}

void Session::tell_failure(const Built& built) const {
  say("the " + built.step + " failed after " + seconds(built.took) + "; " + who_serves());
  std::fputs(built.error.text.c_str(), stdout);
  const std::size_t more = built.error.count > 1 ? built.error.count - 1 : 0;
  const std::string others = more == 0 ? "" : std::to_string(more) + (more == 1 ? " more error; " : " more errors; ");
  say(others + "the whole log is " + builder_.log());
}

Result<> Session::take_build(const Built& built) {
  if (built.step != "configure") has_to_configure_ = false;
  if (!built.is_good) {
    tell_failure(built);
    return {};
  }
  auto program = project_.program();
  if (!program) {
    say(program.error().describe());
    return {};
  }
  const bool is_new = identify(*program) != started_;
  if (!is_new && !has_to_start_ && generations_.serving() != 0) return {};
  say(is_new ? "built in " + seconds(built.took)
             : "restarts the program: it is unchanged, but a file that it reads has changed");
  return start_program();
}

Result<> Session::start_program() {
  KEEL_TRY(const std::string program, project_.program());
  std::vector<std::string> words = {program};
  const DevSettings& settings = project_.settings();
  words.insert(words.end(), settings.arguments.begin(), settings.arguments.end());
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  started_ = identify(program);
  has_to_start_ = false;
  if (auto started = generations_.start({.words = words, .folder = project_.folder()}, now()); !started) {
    say(started.error().describe());
  }
  return {};
}

void Session::tell(const Generations::Event& event) {
  const std::string process = "process " + std::to_string(event.process);
  switch (event.kind) {
    case Generations::Event::Kind::Ready: {
      const char* const since = has_served_ ? " after the change: " : " after the start: ";
      has_served_ = true;
      code_ = 0;
      say(process + " is " + event.status + ", " + seconds(now() - saved_) + since +
          (event.follows ? "it has taken over; the previous process drains" : "save a file to build it again"));
      return;
    }
    case Generations::Event::Kind::NotReady:
      if (stops_asked_ == 0) say(process + " " + how_it_ended(event.code) + " before it was ready; " + who_serves());
      return;
    case Generations::Event::Kind::TooSlow:
      say(process + " was not ready within " + seconds(Generations::start_timeout) + " and was killed; " +
          who_serves());
      return;
    case Generations::Event::Kind::Ended:
      code_ = event.code;
      if (stops_asked_ == 0) say(process + " " + how_it_ended(event.code) + "; it starts again when a file is saved");
      return;
  }
}

}  // namespace keel::dev
