// dev/build_log.h — the first error in what a build has written: of GCC, Clang, the linker, CMake, Ninja or keel sql.
//
// Threads: any.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace keel::dev {

struct BuildError {
  // As it was written, with the lines of the source below it; where nothing is known to be an error, the last lines of
  // the log. Paths below the folder of the project are relative.
  std::string text;
  std::size_t count = 0;  // Of errors in the whole log.
};

BuildError first_error(std::string_view log, std::string_view folder);

}  // namespace keel::dev
