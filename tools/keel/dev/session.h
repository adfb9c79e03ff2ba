// dev/session.h — `keel dev` while it runs: builds after each save, and serves the built program.
//
// Threads: one; the session handles the signals of that thread.

#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dev/builder.h"
#include "dev/changes.h"
#include "dev/generations.h"
#include "dev/project.h"
#include "dev/watcher.h"
#include "keel/base/result.h"
#include "keel/base/time.h"

namespace keel::dev {

class Session {
 public:
  // `arguments` are passed to the program after the project's own arguments.
  static Result<std::unique_ptr<Session>> make(Project project, std::vector<std::string> arguments);
  ~Session();

  // Runs until SIGINT, SIGTERM or SIGHUP; returns the exit code of the service, or 0 if no service ran.
  Result<int> run();

 private:
  // Identifies a program by its file and size: if either changes, the program has changed.
  struct Identity {
    unsigned long inode = 0;
    long long size = 0;
    long long changed_ns = 0;
    bool operator==(const Identity&) const = default;
  };
  static Identity identify(const std::string& path);

  Session(Project project, std::vector<std::string> arguments, Generations generations,
          std::unique_ptr<Watcher> watcher);
  Result<> wait();
  Result<> take_signals();
  Result<> build(const std::set<std::string>& changed);
  Result<> take_build(const Built& built);
  Result<> start_program();
  void tell_failure(const Built& built) const;
  void tell(const Generations::Event& event);
  void stop();
  std::string who_serves() const;

  const Project project_;
  const std::vector<std::string> arguments_;
  Generations generations_;
  std::unique_ptr<Watcher> watcher_;
  Builder builder_;
  Changes changes_;
  int signals_ = -1;
  Instant saved_;  // The time of the save that led to the current build or start.
  // True once a process has served; the time until then is counted from the start of keel dev, not from a save.
  bool has_served_ = false;
  bool has_to_start_ = true;
  bool has_to_configure_ = false;  // True until CMake has run, because a save may end the build before CMake runs.
  Identity started_;
  int stops_asked_ = 0;
  int code_ = 0;
};

}  // namespace keel::dev
