// The forms of scan::find_long beyond its first 64 bytes, each by itself: for tests, the fuzzer and benchmarks.
// base/scan.cc says which of them is used.

#pragma once

#include <span>

#include "keel/base/scan.h"

#ifdef __SSE2__
namespace keel::scan::internal {

struct Kernel {
  const char* name;
  const char* (*find)(const Far& set, const char* at,
                      const char* end) noexcept;  // The 64 bytes before `at` must be readable.
  bool (*runs_here)() noexcept;
};

// The narrowest first; that one runs everywhere.
std::span<const Kernel> kernels() noexcept;
// The one that scan::find_long uses on this processor.
const Kernel& best_kernel() noexcept;

}  // namespace keel::scan::internal
#endif
