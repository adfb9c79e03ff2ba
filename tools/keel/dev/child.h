// dev/child.h — a child process that ends when this process ends.
//
//   KEEL_TRY(Child service, Child::start({.words = {"build/dev/shop", "--config", "service.yaml"}}));
//   service.signal(SIGTERM);
//   const int code = service.wait();
//
// A child has its own process group, so a Ctrl-C in the terminal does not reach the child; the caller decides which
// signals to send to it. When this process is killed, the kernel sends the child SIGTERM.
//
// Errors:  start() returns the errors of fork and exec, with the program's name.
// Threads: one thread, which must live as long as the child, because the kernel sends SIGTERM to the child when the
//          thread that started the child ends.

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "keel/base/result.h"

namespace keel::dev {

struct Launch {
  std::vector<std::string> words = {};  // The program, which is searched for in PATH, and its arguments.
  std::string folder = {};              // The folder in which the program runs; if empty, the current folder.
  // Each text, "NAME=value", sets a variable, and overrides an inherited variable of the same name.
  std::vector<std::string> environment = {};
  // The descriptor for standard output and standard error; if -1, the child uses the standard output and standard error
  // of this process.
  int output = -1;
  // Includes the child's descendants, as is necessary for a build: the child counts as ended only when all descendants
  // have ended, and signal() reaches the whole process group.
  bool has_descendants = false;
};

class Child {
 public:
  static Result<Child> start(const Launch& launch);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();  // Sends SIGKILL (SIGTERM if descendants are included), and waits until the child has ended.

  pid_t pid() const noexcept { return pid_; }
  void signal(int number) const noexcept;
  // The exit code, or 128 + the number of the signal that ended the child; nothing while the child runs. Call this
  // function after each SIGCHLD.
  std::optional<int> ended() noexcept;
  int wait() noexcept;

 private:
  Child(pid_t pid, bool has_descendants) : pid_(pid), has_descendants_(has_descendants) {}
  void end() noexcept;

  pid_t pid_;
  bool has_descendants_;
  std::optional<int> code_;
};

}  // namespace keel::dev
