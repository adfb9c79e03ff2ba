// gen/checks.h — the function that tells whether a value is as the keywords of its schema say.

#pragma once

#include <string>
#include <string_view>

#include "gen/facets.h"
#include "gen/types.h"

namespace keel::gen {

struct Check {
  std::string name;        // "check_string_1_to_200"; "" when there is nothing to check.
  std::string definition;  // Of the function of that name.
  std::string limits;      // What it checks, when that is no more than keel::json::internal::of::Limits: "{1, 200, …}".
};

// `word` is what the type is in names: "string", "list_of_product". Of an enum the values are not checked.
Check check_of(const Facets& facets, Shape shape, std::string_view spelling, std::string_view word);

// Whether a format is one that texts are checked for.
bool is_checked_format(std::string_view format) noexcept;

}  // namespace keel::gen
