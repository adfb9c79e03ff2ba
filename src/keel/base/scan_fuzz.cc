// Every form of a search finds what a look at one byte after the other finds, from every byte that was found on, and
// reads nothing outside. scan_test.cc runs the same function over texts of its own.

#include <cstdint>
#include <cstring>
#include <memory>

#include "keel/base/check.h"
#include "keel/base/internal/scan_kernels.h"
#include "keel/base/scan.h"

namespace keel::scan {
namespace {

template <class Set>
void search_all(const char* begin, const char* at, const char* end) {
  for (;;) {
    const char* const expected = find_portable<Set>(at, end);
    KEEL_CHECK(find<Set>(begin, at, end) == expected, "find gives the first byte of its set");
    KEEL_CHECK(find_long<Set>(at, end) == expected, "find_long gives the first byte of its set");
#ifdef __SSE2__
    if (at - begin >= 64) {
      for (const internal::Kernel& kernel : internal::kernels()) {
        if (!kernel.runs_here()) continue;
        KEEL_CHECK(kernel.find(internal::far<Set>, at, end) == expected, "each form gives the first byte of its set");
      }
    }
#endif
    if (expected == end) return;
    at = expected + 1;
  }
}

}  // namespace
}  // namespace keel::scan

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::scan;
  if (size == 0) return 0;
  const std::size_t before = data[0];  // Where the search begins.
  const std::unique_ptr<char[]> bytes(new char[size - 1]);
  std::memcpy(bytes.get(), data + 1, size - 1);
  const char* const begin = bytes.get();
  const char* const end = begin + (size - 1);
  const char* const at = before < size ? begin + before : end;

  search_all<Control>(begin, at, end);
  search_all<NotLetterOrDash>(begin, at, end);
  search_all<NotHostByte>(begin, at, end);
  search_all<PathStop>(begin, at, end);
  search_all<QueryStop>(begin, at, end);
  search_all<JsonStop>(begin, at, end);
  return 0;
}
