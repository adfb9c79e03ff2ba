// The implementations of scan::find_long for text beyond the first 64 bytes. Tests, the fuzzer and benchmarks can call
// each implementation separately. base/scan.cc decides which implementation is used.

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

// The implementations, ordered from the narrowest, which runs on every processor, to the widest.
std::span<const Kernel> kernels() noexcept;
// The implementation that scan::find_long uses on this processor.
const Kernel& best_kernel() noexcept;

}  // namespace keel::scan::internal
#endif
