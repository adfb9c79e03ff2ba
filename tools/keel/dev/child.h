// dev/child.h — a process that ends when this one does.
//
//   KEEL_TRY(Child service, Child::start({.words = {"build/dev/shop", "--config", "service.yaml"}}));
//   service.signal(SIGTERM);
//   const int code = service.wait();
//
// A child has a process group of its own: a Ctrl-C of the terminal does not reach it, the caller decides what does.
// When this process is killed, the kernel sends the child SIGTERM.
//
// Errors:  start(): of fork and of exec, with the program's name.
// Threads: one, and the thread that starts a child lives as long as it does: SIGTERM comes when that thread ends.

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "keel/base/result.h"

namespace keel::dev {

struct Launch {
  std::vector<std::string> words = {};        // The program, which is looked for in PATH, and its arguments.
  std::string folder = {};                    // Where it runs; empty: here.
  std::vector<std::string> environment = {};  // NAME=value, in the place of what is inherited under that name.
  int output = -1;                            // Of standard output and standard error; -1: ours.
  // The child is what it starts as well, as a build is: it has ended when all of that has, and signal() reaches all of
  // its process group.
  bool has_descendants = false;
};

class Child {
 public:
  static Result<Child> start(const Launch& launch);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();  // SIGKILL, or with descendants SIGTERM, and waits.

  pid_t pid() const noexcept { return pid_; }
  void signal(int number) const noexcept;
  // The exit code, or 128 + the number of the signal that ended it; nothing while it runs. SIGCHLD says when to look.
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
