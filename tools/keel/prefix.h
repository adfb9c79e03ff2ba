// The prefix in which this program is installed: CMake finds Keel itself there, wherever it is.

#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace keel {

// The value of CMAKE_PREFIX_PATH for CMake: the inherited one, and the prefix behind it. Empty: the program is not
// installed, and CMake is to inherit what there is.
inline std::string cmake_prefix_path() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto prefix = self.parent_path().parent_path();
  if (error || self.parent_path().filename() != "bin") return {};
  if (!std::filesystem::exists(prefix / "include/keel", error)) return {};
  const char* const inherited = std::getenv("CMAKE_PREFIX_PATH");
  return (inherited == nullptr ? "" : std::string(inherited) + ":") + prefix.string();
}

}  // namespace keel
