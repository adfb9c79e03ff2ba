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

// There must be at least two alternatives; null does not count. `discriminator` may be null. Returns nothing, after a
// warning, if they cannot be distinguished: its place is that of the second, or of the discriminator's mistake.
std::optional<Choice> choose(const openapi::Document& document, const std::vector<const openapi::Node*>& alternatives,
                             const openapi::Node* discriminator, openapi::Problems& problems);

// Whether the objects among the alternatives have the property of the discriminator: without it, what is written would
// not say which alternative it is. Warns at the place of the first that has not.
bool have_property(const openapi::Document& document, const std::vector<const openapi::Node*>& alternatives,
                   const std::vector<const openapi::Node*>& places, const openapi::Node& discriminator,
                   openapi::Problems& problems);

// The kinds of JSON values that a schema or one of its alternatives describes.
Kinds kinds_meant(const openapi::Document& document, const openapi::Node& schema);

// Of a schema that is a json::Value: whether no style of a parameter or a header can represent its values. These are
// lists or objects; with a oneOf, texts among others.
bool has_no_style(const openapi::Document& document, const openapi::Node& schema);

}  // namespace keel::gen
