// The prefix in which this program is installed: CMake finds Keel in this prefix, wherever the prefix is.

#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace keel {

// The value of CMAKE_PREFIX_PATH for CMake: the inherited value, followed by the prefix. If the program is not
// installed, the text is empty, so that CMake uses only the inherited value.
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
