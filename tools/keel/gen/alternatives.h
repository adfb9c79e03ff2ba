// gen/alternatives.h — how the alternatives of a oneOf or an anyOf are told apart.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gen/facets.h"
#include "openapi/document.h"
#include "openapi/problems.h"

namespace keel::gen {

// How a reader chooses the alternative: by the kind of the value and, if several alternatives are objects, by a member.
struct Choice {
  enum class Way : std::uint8_t { Kind, Value, Name };

  // For each kind (boolean, number, string, list, object), the index of its alternative, or -1.
  std::array<int, 5> by_kind = {-1, -1, -1, -1, -1};
  Way way = Way::Kind;   // For objects.
  std::string property;  // For Way::Value, the member whose value selects the alternative.
  // Each value (Way::Value) or member name (Way::Name), with the index of its alternative.
  std::vector<std::pair<std::string, int>> cases;
  // For Way::Name, the alternative of an object that has none of the members in `cases`; or -1.
  int otherwise = -1;
};

// There must be at least two alternatives, not counting null. `discriminator` may be null. If the alternatives cannot
// be distinguished, adds a warning and returns nothing; the warning is at the second of two indistinguishable
// alternatives, or at the mistake in the discriminator.
std::optional<Choice> choose(const openapi::Document& document, const std::vector<const openapi::Node*>& alternatives,
                             const openapi::Node* discriminator, openapi::Problems& problems);

// Whether all objects among the alternatives have the property of the discriminator: without this property, a reader
// could not tell to which alternative a written value belongs. Warns at the first alternative without the property.
bool have_property(const openapi::Document& document, const std::vector<const openapi::Node*>& alternatives,
                   const std::vector<const openapi::Node*>& places, const openapi::Node& discriminator,
                   openapi::Problems& problems);

// The kinds of JSON values for which a schema or one of its alternatives is meant.
Kinds kinds_meant(const openapi::Document& document, const openapi::Node& schema);

// For a schema that becomes a json::Value: whether no style of a parameter or a header can represent its values,
// because the values are lists or objects or, in a oneOf, partly texts and partly other values.
bool has_no_style(const openapi::Document& document, const openapi::Node& schema);

}  // namespace keel::gen
