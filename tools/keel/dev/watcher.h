// dev/watcher.h — reports which files of a folder and its subfolders are saved, created, renamed and deleted.
//
//   KEEL_TRY(const auto watcher, Watcher::make("shop", Ignored({"/build*", "/data", "*~"})));
//   …poll(watcher->fd())…
//   KEEL_TRY(const auto changed, watcher->changes());   // "src/notes.cc"
//
// A file counts as changed when its writer closes it, and when another file is renamed to its name: many editors save
// in this way. A new folder is watched as soon as it appears, and the files that it already contains are reported.
// Symbolic links are not followed.
//
// Errors:  NotFound if the folder does not exist, or no longer exists; ResourceExhausted if a limit of the kernel is
//          reached (the message names the limit).
// Threads: one.
// Source:  inotify(7).

#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/result.h"

namespace keel::dev {

// The names that are ignored: those that begin with a dot, and those that match one of the patterns of fnmatch(3). A
// pattern that begins with '/' matches a path from the top; any other pattern matches a name at any depth.
class Ignored {
 public:
  explicit Ignored(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}
  // `path` is relative to the top; the names of its parent folders are not checked.
  bool matches(std::string_view path) const;

 private:
  std::vector<std::string> patterns_;
};

class Watcher {
 public:
  static Result<std::unique_ptr<Watcher>> make(std::string folder, Ignored ignored);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // A descriptor that becomes readable when something may have changed.
  int fd() const noexcept { return fd_; }
  // The changes since the last call, relative to the folder; does not wait. If the kernel's queue overflowed, the
  // result contains ".", because anything may have changed.
  Result<std::vector<std::string>> changes();

 private:
  Watcher(std::string folder, Ignored ignored) : folder_(std::move(folder)), ignored_(std::move(ignored)) {}
  // Watches a folder and its subfolders; existing files are reported as `found`.
  Result<> watch(const std::string& path, std::vector<std::string>& found);
  void forget(const std::string& path);
  std::string absolute(const std::string& path) const { return path.empty() ? folder_ : folder_ + "/" + path; }

  int fd_ = -1;
  std::string folder_;
  Ignored ignored_;
  std::map<int, std::string> folders_;  // The folder of each inotify watch; "" is the top.
};

}  // namespace keel::dev
