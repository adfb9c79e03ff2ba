// A struct is read as a Reader alone reads it: the same verdict, the same values, and the same violations in the same
// places.

#include <cstdlib>

#include "keel/data/internal/json_cursor_test.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!keel::json_cursor_test::difference(text).empty()) std::abort();
  return 0;
}
