// dev/child.h — a child process that ends when this process does.
//
//   KEEL_TRY(Child service, Child::start({.words = {"build/dev/shop", "--config", "service.yaml"}}));
//   service.signal(SIGTERM);
//   const int code = service.wait();
//
// A child has its own process group: a Ctrl-C in the terminal does not reach it; the caller decides which signals do.
// When this process is killed, the kernel sends the child SIGTERM.
//
// Errors:  start(): those of fork and exec, with the program's name.
// Threads: one; the thread that starts a child must live as long as the child: the kernel sends SIGTERM when that
//          thread ends.

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "keel/base/result.h"

namespace keel::dev {

struct Launch {
  std::vector<std::string> words = {};        // The program, which is searched for in PATH, and its arguments.
  std::string folder = {};                    // The folder in which the program runs; empty: the current one.
  std::vector<std::string> environment = {};  // NAME=value, replaces the inherited variable with that name.
  // The descriptor for standard output and standard error; -1: those of this process.
  int output = -1;
  // Includes the child's descendants, as for a build: the child has ended when all of them have, and signal() reaches
  // its whole process group.
  bool has_descendants = false;
};

class Child {
 public:
  static Result<Child> start(const Launch& launch);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();  // Sends SIGKILL (SIGTERM if descendants are included), and waits for the end.

  pid_t pid() const noexcept { return pid_; }
  void signal(int number) const noexcept;
  // The exit code, or 128 + the number of the signal that ended it; nothing while it runs. SIGCHLD tells when to check.
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
