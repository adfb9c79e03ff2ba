// keel/db/testing.h — for tests: a folder that is gone afterwards, and a loop on the calling thread that runs tasks.

#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/io/loop.h"
#include "keel/task/start.h"

namespace keel::db::testing {

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "keel-db-XXXXXX").string();
    KEEL_CHECK(::mkdtemp(pattern.data()) != nullptr, "a test can make a folder");
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const noexcept { return path_; }
  void write(std::string_view name, std::string_view text) const { std::ofstream(*this / name) << text; }

 private:
  std::string path_;
};

// A real loop (epoll), current on the thread that made it.
class OwnLoop {
 public:
  // Runs the task to its end.
  template <class T>
  Result<T> run(Task<T>&& task) {
    Start<T> start;
    if (!start.begin(std::move(task), [](StartCore&) noexcept { io::Loop::current()->stop(); })) loop.run();
    return start.take();
  }
  // One turn that waits at most 100 ms.
  void turn() { loop.turn(Host::system().now() + 100_ms); }

  io::Loop loop{io::make_engine(io::EngineKind::Epoll).value(), Host::system()};

 private:
  io::Loop::Entered entered_{loop};
};

}  // namespace keel::db::testing
