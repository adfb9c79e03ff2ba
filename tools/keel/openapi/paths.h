// openapi/paths.h — templates of paths and URLs, and the methods of a path item.

#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace keel::openapi {

inline constexpr std::array<std::string_view, 8> methods = {"get",     "put",  "post",  "delete",
                                                            "options", "head", "patch", "trace"};

// The names of the parameters in a template of a path or a URL, in order; and its mistake, or "".
struct Template {
  std::vector<std::string_view> names;
  std::string problem;
};
Template parse_template(std::string_view text);

// "/pets/{}" for "/pets/{id}": clients do not see the names of parameters.
std::string shape_of(std::string_view path);

// A segment of a path, between two slashes.
struct Segment {
  std::string_view before;  // The text; if there is a parameter, the text before it.
  std::string_view name;    // The name of the parameter; empty without one.
  std::string_view after;   // The text after the parameter.
  bool has_more = false;    // Whether the segment has another parameter.

  bool is_parameter() const noexcept { return !name.empty(); }
};
// The segments of a path that begins with '/', and in which parse_template() finds no problem.
std::vector<Segment> segments_of(std::string_view path);

}  // namespace keel::openapi
