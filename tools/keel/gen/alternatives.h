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

// What a reader does: the kind of the value decides, and for objects, where several alternatives are objects, a member.
struct Choice {
  enum class Way : std::uint8_t { Kind, Value, Name };

  // Boolean, number, string, list, object: the alternative of that kind, or -1.
  std::array<int, 5> by_kind = {-1, -1, -1, -1, -1};
  Way way = Way::Kind;                             // Of objects.
  std::string property;                            // Of Way::Value: the member that decides,
  std::vector<std::pair<std::string, int>> cases;  // its values, or the names of members; and their alternatives.
  int otherwise = -1;                              // Of Way::Name: the alternative without such a member.
};

// Of at least two alternatives; null is none of them. `discriminator` may be null. Nothing after a problem: two that
// cannot be told apart are one, at the place of the second.
std::optional<Choice> choose(const openapi::Document& document, const std::vector<const openapi::Node*>& alternatives,
                             const openapi::Node* discriminator, openapi::Problems& problems);

// The kinds of the values that a schema is meant for, through its own alternatives.
Kinds kinds_meant(const openapi::Document& document, const openapi::Node& schema);

}  // namespace keel::gen
