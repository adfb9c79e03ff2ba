#include "keel/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace keel {

void check_failed(const char* file, int line, const char* condition, const char* sentence) noexcept {
  std::fprintf(stderr, "%s:%d: check failed: %s: %s\n", file, line, condition, sentence);
  std::fflush(stderr);
  std::abort();
}

}  // namespace keel
