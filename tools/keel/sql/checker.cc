#include "sql/checker.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "keel/base/ascii.h"
#include "keel/db/sql.h"

namespace keel::sql {
namespace {

// The least number of insertions, deletions, substitutions and exchanges of neighboring letters that turns `a` into `b`
// (optimal string alignment).
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

// Whether a value of the type is read from a single column (db/row.h).
bool is_plain(std::string_view type) {
  constexpr std::string_view optional = "optional<";
  if (const std::size_t at = type.find(optional); at != type.npos && type.ends_with('>')) {
    type = type.substr(at + optional.size());
    type.remove_suffix(1);
  }
  if (type.starts_with("std::")) type.remove_prefix(5);
  static constexpr std::string_view plain[] = {"bool",    "int",     "long",    "short",    "unsigned",
                                               "double",  "float",   "string",  "int8_t",   "int16_t",
                                               "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t"};
  return std::ranges::find(plain, type) != std::end(plain);
}

}  // namespace

std::optional<Mistake> find_wrong_call(const Statement& statement, std::size_t columns) {
  if (statement.call == "execute") return std::nullopt;
  if (columns == 0) {
    return Mistake{std::string(statement.call) +
                       "() reads rows, but the statement returns none: use execute(), or add `returning …` to it",
                   std::nullopt};
  }
  if (columns != 1 && is_plain(statement.read_as)) {
    return Mistake{std::string(statement.call) + '<' + statement.read_as +
                       "> reads one column, but the statement returns " + std::to_string(columns) +
                       ": select one, or read a struct",
                   std::nullopt};
  }
  return std::nullopt;
}

NumberedText numbered(std::string_view text) {
  NumberedText result;
  std::vector<std::string_view> names;
  std::size_t copied = 0;
  const auto copy = [&](std::size_t end) {
    result.text.append(text.substr(copied, end - copied));
    for (; copied < end; ++copied) result.offsets.push_back(copied);
  };
  db::for_each_placeholder(text, [&](const db::Placeholder& placeholder) {
    if (!placeholder.is_named()) return;
    auto name = std::ranges::find(names, placeholder.name);
    if (name == names.end()) name = names.insert(name, placeholder.name);
    copy(placeholder.offset);
    result.text += '$' + std::to_string(name - names.begin() + 1);
    result.offsets.resize(result.text.size(), placeholder.offset);
    copied = placeholder.offset + 1 + placeholder.name.size();
  });
  copy(text.size());
  result.offsets.push_back(text.size());
  return result;
}

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
