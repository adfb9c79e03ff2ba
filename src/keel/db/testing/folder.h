// keel/db/testing/folder.h — for tests: a temporary folder, which is removed when the object is destroyed.

#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "keel/base/check.h"

namespace keel::db::testing {

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "keel-db-XXXXXX").string();
    KEEL_CHECK(::mkdtemp(pattern.data()) != nullptr, "a test must be able to create a folder");
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

}  // namespace keel::db::testing
