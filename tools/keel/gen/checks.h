// gen/checks.h — writes the function that checks a value against the keywords of its schema.

#pragma once

#include <string>
#include <string_view>

#include "gen/facets.h"
#include "gen/types.h"

namespace keel::gen {

struct Check {
  std::string name;        // "check_string_1_to_200"; "" when there is nothing to check.
  std::string definition;  // The definition of the function with that name.
  // It is set when the check consists of nothing but keel::json::internal::of::Limits: "{1, 200, …}".
  std::string limits;
};

// `word` stands for the type in names: "string", "list_of_product". The values of an enum are not checked.
Check check_of(const Facets& facets, Shape shape, std::string_view spelling, std::string_view word);

// Whether texts are checked for this format.
bool is_checked_format(std::string_view format) noexcept;

}  // namespace keel::gen
