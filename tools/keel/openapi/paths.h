// openapi/paths.h — templates of paths and URLs, and the methods of a path item.

#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace keel::openapi {

inline constexpr std::array<std::string_view, 8> methods = {"get",     "put",  "post",  "delete",
                                                            "options", "head", "patch", "trace"};

// The names of the parameters in a path or URL template, in order, and the mistake in the template, or "" if there is
// none.
struct Template {
  std::vector<std::string_view> names;
  std::string problem;
};
Template parse_template(std::string_view text);

// Returns the path without the names of parameters, which clients do not see: "/pets/{}" for "/pets/{id}".
std::string shape_of(std::string_view path);

// A segment of a path, between two slashes.
struct Segment {
  std::string_view before;  // The text of the segment; if the segment has a parameter, the text before the parameter.
  std::string_view name;    // The name of the parameter; empty if there is no parameter.
  std::string_view after;   // The text after the parameter.
  bool has_more = false;    // Whether the segment has more than one parameter.

  bool is_parameter() const noexcept { return !name.empty(); }
};
// Returns the segments of a path; the path must begin with '/', and parse_template() must find no problem in the path.
std::vector<Segment> segments_of(std::string_view path);

}  // namespace keel::openapi
