#include "sql/checker.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "keel/base/ascii.h"

namespace keel::sql {
namespace {

// The number of insertions, deletions, substitutions and exchanges of neighbours (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool is_same = ascii::to_lower(a[i - 1]) == ascii::to_lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (is_same ? 0 : 1)});
      if (i > 1 && j > 1 && ascii::to_lower(a[i - 1]) == ascii::to_lower(b[j - 2]) &&
          ascii::to_lower(a[i - 2]) == ascii::to_lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view name, const std::vector<std::string>& candidates) {
  std::string_view best;
  std::size_t least = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (const std::size_t far = distance(name, candidate); far < least) {
      least = far;
      best = candidate;
    }
  }
  return best;
}

}  // namespace keel::sql
