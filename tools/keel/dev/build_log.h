// dev/build_log.h — finds the first error in the output of a build, which may be from GCC, Clang, the linker, CMake,
// Ninja or keel sql.
//
// Threads: any.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace keel::dev {

struct BuildError {
  // The error as it was printed, with the source lines below it; if no error is recognized, the last lines of the log.
  // Paths below the project's folder are printed relative to that folder.
  std::string text;
  std::size_t count = 0;  // The number of errors in the whole log.
};

BuildError first_error(std::string_view log, std::string_view folder);

}  // namespace keel::dev
