// Invariants of ranges over arbitrary values and sizes. range_test.cc runs the same function over its table.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "keel/base/check.h"
#include "keel/http/message/range.h"

// The first eight bytes are the size.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::http;
  std::uint64_t whole = 0;
  if (size < sizeof whole) return 0;
  std::memcpy(&whole, data, sizeof whole);
  const std::string_view value(reinterpret_cast<const char*>(data) + sizeof whole, size - sizeof whole);
  for (const std::uint64_t bytes : {whole >> 1, std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1000}}) {
    Range ranges[5];
    const RangeRequest asked = parse_ranges(value, bytes, ranges);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < asked.count; ++i) {
      KEEL_CHECK(ranges[i].size != 0 && ranges[i].first < bytes && ranges[i].size <= bytes - ranges[i].first,
                 "a range lies inside the representation");
      sum += ranges[i].size;
    }
    KEEL_CHECK(sum <= bytes, "ranges are not more than the whole");
    KEEL_CHECK((asked.kind == RangeRequest::Kind::Satisfiable) == (asked.count != 0), "satisfiable means some");
  }
  return 0;
}
