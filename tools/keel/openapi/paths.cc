#include "openapi/paths.h"

#include <algorithm>

namespace keel::openapi {

Template parse_template(std::string_view text) {
  Template parsed;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '}') {
      parsed.problem = "has a '}' without a '{'";
      return parsed;
    }
    if (text[at] != '{') continue;
    const std::size_t end = text.find_first_of("{}/", at + 1);
    if (end == text.npos || text[end] != '}') {
      parsed.problem = "has a '{' without a '}'";
      return parsed;
    }
    const std::string_view name = text.substr(at + 1, end - at - 1);
    if (name.empty()) {
      parsed.problem = "has a parameter without a name";
    } else if (std::find(parsed.names.begin(), parsed.names.end(), name) != parsed.names.end()) {
      parsed.problem = "has the parameter '" + std::string(name) + "' twice";
    }
    if (!parsed.problem.empty()) return parsed;
    parsed.names.push_back(name);
    at = end;
  }
  return parsed;
}

std::vector<Segment> segments_of(std::string_view path) {
  std::vector<Segment> segments;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view text = path.substr(0, path.find('/'));
    path.remove_prefix(text.size());
    const std::size_t open = text.find('{');
    if (open == text.npos) {
      segments.push_back({.before = text, .name = {}, .after = {}});
      continue;
    }
    const std::size_t close = text.find('}', open);
    const std::string_view after = text.substr(close + 1);
    segments.push_back({text.substr(0, open), text.substr(open + 1, close - open - 1), after, after.contains('{')});
  }
  return segments;
}

std::string shape_of(std::string_view path) {
  std::string shape;
  bool is_inside = false;
  for (const char c : path) {
    if (c == '}') is_inside = false;
    if (!is_inside) shape += c;
    if (c == '{') is_inside = true;
  }
  return shape;
}

}  // namespace keel::openapi
