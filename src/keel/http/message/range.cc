#include "keel/http/message/range.h"

#include <algorithm>
#include <optional>

#include "keel/base/ascii.h"
#include "keel/http/message/fields.h"

namespace keel::http {
namespace {

constexpr RangeRequest ignored{RangeRequest::Kind::Ignored};

// One less than the largest number, because the position after the last byte must be representable as well.
constexpr std::uint64_t position_max = UINT64_MAX - 1;

// Digits only. RFC 9110 §14.1.2 does not bound positions. A position that does not fit into 64 bits is replaced by
// position_max, because both are after the end of every file.
std::optional<std::uint64_t> number_of(std::string_view text) noexcept {
  if (text.empty()) return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : text) {
    if (!ascii::is_digit(c)) return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    number = number > (position_max - digit) / 10 ? position_max : number * 10 + digit;
  }
  return number;
}

// Parses "first-last", "first-" or "-suffix"; nullopt for any other form. A range after the end of the representation
// gets the size 0.
std::optional<Range> parse_range(std::string_view text, std::uint64_t size) noexcept {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view from = text.substr(0, dash);
  const std::string_view to = text.substr(dash + 1);
  if (from.empty()) {
    const auto suffix = number_of(to);
    // A suffix of an empty representation is the whole representation: it is satisfiable, but there is no range to
    // return, so the field is ignored (RFC 9110 §14.1.2).
    if (!suffix || (size == 0 && *suffix != 0)) return std::nullopt;
    const std::uint64_t bytes = std::min(*suffix, size);
    return Range{size - bytes, bytes};
  }
  const auto first = number_of(from);
  if (!first) return std::nullopt;
  std::uint64_t last = position_max;
  if (!to.empty()) {
    const auto given = number_of(to);
    if (!given || *given < *first) return std::nullopt;
    last = *given;
  }
  if (*first >= size) return Range{size, 0};
  return Range{*first, std::min(last + 1, size) - *first};
}

}  // namespace

RangeRequest parse_ranges(std::string_view value, std::uint64_t size, std::span<Range> into) noexcept {
  constexpr std::string_view unit = "bytes=";
  if (!equals_ignore_case(value.substr(0, unit.size()), unit)) return ignored;
  std::size_t count = 0;
  std::size_t asked = 0;
  for (std::string_view rest = value.substr(unit.size()), element; next_element(rest, element);) {
    if (element.empty()) continue;
    const std::optional<Range> range = parse_range(element, size);
    // Ranges that cannot be satisfied also count toward the limit.
    if (!range || ++asked > into.size()) return ignored;
    if (range->size == 0) continue;
    for (const Range& other : into.first(count)) {
      const bool apart = range->first >= other.first + other.size || other.first >= range->first + range->size;
      if (!apart) return ignored;
    }
    into[count++] = *range;
  }
  if (asked == 0) return ignored;
  if (count == 0) return {RangeRequest::Kind::Unsatisfiable};
  return {RangeRequest::Kind::Satisfiable, count};
}

}  // namespace keel::http
