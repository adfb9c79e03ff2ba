// dev/watcher.h — which files of a folder, and of all folders in it, are saved, made, renamed and deleted.
//
//   KEEL_TRY(const auto watcher, Watcher::make("shop", Ignored({"/build*", "/data", "*~"})));
//   …poll(watcher->fd())…
//   KEEL_TRY(const auto changed, watcher->changes());   // "src/notes.cc"
//
// A file counts as changed when what wrote it closes it, and when it gets its name by a rename, as many editors save. A
// folder that appears is watched from then on, with what it has already. Symbolic links are not followed.
//
// Errors:  NotFound, when the folder is not there, or no longer; ResourceExhausted, with the kernel's setting to raise.
// Threads: one.  Source: inotify(7).

#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/result.h"

namespace keel::dev {

// Names that do not count: those that begin with a dot, and what one of the patterns of fnmatch(3) fits: at any depth,
// or with a '/' in front only at the top.
class Ignored {
 public:
  explicit Ignored(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}
  // `path` is relative to the top; the folders above it are not looked at.
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

  // Readable when something may have changed.
  int fd() const noexcept { return fd_; }
  // What has changed since the last call, relative to the folder, does not wait. "." when the kernel had no room for
  // all of it: anything may have changed.
  Result<std::vector<std::string>> changes();

 private:
  Watcher(std::string folder, Ignored ignored) : folder_(std::move(folder)), ignored_(std::move(ignored)) {}
  // Watches a folder and those in it; files that are there are `found`.
  Result<> watch(const std::string& path, std::vector<std::string>& found);
  void forget(const std::string& path);
  std::string absolute(const std::string& path) const { return path.empty() ? folder_ : folder_ + "/" + path; }

  int fd_ = -1;
  std::string folder_;
  Ignored ignored_;
  std::map<int, std::string> folders_;  // By watch; "" is the top.
};

}  // namespace keel::dev
