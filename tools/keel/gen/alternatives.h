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

  // For boolean, number, string, list and object: the alternative of that kind, or -1.
  std::array<int, 5> by_kind = {-1, -1, -1, -1, -1};
  Way way = Way::Kind;                             // For objects.
  std::string property;                            // For Way::Value: the member that decides.
  std::vector<std::pair<std::string, int>> cases;  // Values or names of members, with alternatives.
  int otherwise = -1;                              // For Way::Name: the alternative without any of these members.
};

// For at least two alternatives; null does not count. `discriminator` may be null. Returns nothing after a problem:
// alternatives that cannot be distinguished are a problem at the place of the second.
std::optional<Choice> choose(const openapi::Document& document, const std::vector<const openapi::Node*>& alternatives,
                             const openapi::Node* discriminator, openapi::Problems& problems);

// The kinds of values that a schema is meant for, including its own alternatives.
Kinds kinds_meant(const openapi::Document& document, const openapi::Node& schema);

}  // namespace keel::gen
