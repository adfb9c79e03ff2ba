// gen/checks.h — writes the function that checks a value against the keywords of its schema.

#pragma once

#include <string>
#include <string_view>

#include "gen/facets.h"
#include "gen/types.h"

namespace keel::gen {

struct Check {
  std::string name;        // A name such as "check_string_1_to_200"; "" if there is nothing to check.
  std::string definition;  // The C++ definition of the function `name`.
  // Empty unless the check can be expressed completely as keel::json::internal::of::Limits: "{1, 200, …}".
  std::string limits;
};

// `word` is the word for the type in names, such as "string", "list_of_product". For an enum, the function does not
// check that the value is one of the listed values.
Check check_of(const Facets& facets, Shape shape, std::string_view spelling, std::string_view word);

// Whether the generated code checks texts for this format.
bool is_checked_format(std::string_view format) noexcept;

}  // namespace keel::gen
