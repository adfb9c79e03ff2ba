// What decodes, encodes and decodes again to the same; both decoders agree.

#include <cstdlib>
#include <string>

#include "keel/data/uri.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto plus : {uri::Plus::Literal, uri::Plus::Space}) {
    Arena arena;
    std::string copy(text);
    const auto decoded = uri::percent_decode(text, arena, plus);
    const auto in_place = uri::percent_decode_in_place(copy.data(), copy.size(), plus);
    if (decoded.is_ok() != in_place.is_ok()) std::abort();
    if (!decoded) continue;
    if (*decoded != std::string_view(copy).substr(0, *in_place)) std::abort();
    if (decoded->find('\0') != std::string_view::npos) continue;  // Encodes to %00, which is refused.
    Buffer out;
    uri::percent_encode(out, *decoded);
    if (uri::percent_decode(out.view(), arena, plus).value() != *decoded) std::abort();
  }
  Arena arena;
  uri::QueryPairs pairs(text, arena, 16);
  int count = 0;
  while (pairs.next()) ++count;
  if (count > 16) std::abort();
  return 0;
}
