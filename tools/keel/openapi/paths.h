// openapi/paths.h — templates of paths and URLs, and the methods that a path item has.

#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace keel::openapi {

inline constexpr std::array<std::string_view, 8> methods = {"get",     "put",  "post",  "delete",
                                                            "options", "head", "patch", "trace"};

// Names of the parameters in a template of a path or a URL, in their order; and what is wrong with it, or "".
struct Template {
  std::vector<std::string_view> names;
  std::string problem;
};
Template parse_template(std::string_view text);

// "/pets/{}" of "/pets/{id}": clients do not see the names of parameters.
std::string shape_of(std::string_view path);

}  // namespace keel::openapi
