// Names and lists in messages about SQL.

#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/ascii.h"
#include "sql/checker.h"

namespace keel::sql {

inline std::string lower_of(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), &ascii::to_lower);
  return lower;
}

// A name that is valid in both SQL and C++.
inline bool is_identifier(std::string_view name) {
  return !name.empty() && !ascii::is_digit(name[0]) &&
         std::ranges::all_of(name, [](char c) { return ascii::is_alphanumeric(c) || c == '_'; });
}

inline std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Returns "; did you mean users?" or, if no name is close, `list` and all existing names: "; the tables are orders,
// users".
inline std::string meant(std::string_view name, const std::vector<std::string>& known, std::string_view list) {
  if (const std::string_view near = nearest(name, known); !near.empty()) {
    return "; did you mean " + std::string(near) + "?";
  }
  return known.empty() ? "" : "; " + std::string(list) + listed(known);
}

}  // namespace keel::sql
