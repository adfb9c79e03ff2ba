// keel/http/message/range.h — byte ranges of a representation (RFC 9110 §14).
//
//   Range ranges[8];
//   const RangeRequest asked = parse_ranges(value, size, ranges);
//   if (asked.kind == RangeRequest::Kind::Satisfiable) … the first `asked.count` of ranges
//
// No request can make the response larger than the whole representation: the field is ignored if its ranges overlap, or
// if it has more ranges than `into` has room for; RFC 9110 §14.2 allows this (CVE-2011-3192). A number that does not
// fit into 64 bits is replaced by the largest position.
//
// Cost: no allocation; linear in the size of the text, quadratic in the number of ranges that fit into the result.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace keel::http {

struct Range {
  std::uint64_t first;
  std::uint64_t size;  // Not 0.
  bool operator==(const Range&) const = default;
};

// The result of parsing a Range field: whether its ranges can be satisfied, and the number of ranges.
struct RangeRequest {
  enum class Kind : std::uint8_t {
    // The unit is not bytes, or the ranges are malformed, too many or overlapping: respond 200 with the whole
    // representation.
    Ignored,
    Satisfiable,    // 206.
    Unsatisfiable,  // No range overlaps the representation: respond 416 with Content-Range: bytes */size.
  };
  Kind kind;
  std::size_t count = 0;  // For Satisfiable: the number of ranges written to `into`, in the order of the request.
};

// Parses the value of a Range field for a representation of `size` bytes.
RangeRequest parse_ranges(std::string_view value, std::uint64_t size, std::span<Range> into) noexcept;

}  // namespace keel::http
