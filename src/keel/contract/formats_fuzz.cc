// Each format takes any text; what is made of a regular expression is the same when it is only checked.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "keel/contract/formats.h"
#include "keel/contract/regex.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::contract;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  is_valid(static_cast<Format>(data[0] % (static_cast<int>(Format::Byte) + 1)), text);
  if (Regex(text).is_ecma != is_regex(text)) std::abort();
  return 0;
}
