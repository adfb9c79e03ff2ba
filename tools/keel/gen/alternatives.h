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

// How a reader chooses the alternative: by the kind of the value, and among several objects by a member.
struct Choice {
  enum class Way : std::uint8_t { Kind, Value, Name };

  // The alternative of each kind (boolean, number, string, list, object), or -1.
  std::array<int, 5> by_kind = {-1, -1, -1, -1, -1};
  Way way = Way::Kind;                             // For objects.
  std::string property;                            // The member that decides, for Way::Value.
  std::vector<std::pair<std::string, int>> cases;  // Values or names of members, with alternatives.
  int otherwise = -1;                              // The alternative without any of these members, for Way::Name.
};

// There must be at least two alternatives; null does not count. `discriminator` may be null. If the alternatives cannot
// be distinguished, returns nothing after a warning, at the second of two indistinguishable alternatives or at the
// mistake in the discriminator.
std::optional<Choice> choose(const openapi::Document& document, const std::vector<const openapi::Node*>& alternatives,
                             const openapi::Node* discriminator, openapi::Problems& problems);

// Whether all objects among the alternatives have the property of the discriminator: without it, a written value would
// not say which alternative it is. Warns at the first alternative without the property.
bool have_property(const openapi::Document& document, const std::vector<const openapi::Node*>& alternatives,
                   const std::vector<const openapi::Node*>& places, const openapi::Node& discriminator,
                   openapi::Problems& problems);

// The kinds of JSON values that a schema or one of its alternatives describes.
Kinds kinds_meant(const openapi::Document& document, const openapi::Node& schema);

// For a schema that becomes a json::Value: whether no style of a parameter or a header can represent its values,
// because they are lists or objects or, with a oneOf, texts and other values.
bool has_no_style(const openapi::Document& document, const openapi::Node& schema);

}  // namespace keel::gen
