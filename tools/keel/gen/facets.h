// gen/facets.h — the content of a schema once its `$ref` and `allOf` are merged.
//
// Lifetime: the results are views of the document.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "openapi/document.h"

namespace keel::gen {

// A set of JSON types, with one bit for each type.
using Kinds = std::uint8_t;
inline constexpr Kinds null_kind = 1;
inline constexpr Kinds boolean_kind = 2;
inline constexpr Kinds integer_kind = 4;
inline constexpr Kinds number_kind = 8;  // A number that is not an integer.
inline constexpr Kinds string_kind = 16;
inline constexpr Kinds list_kind = 32;
inline constexpr Kinds object_kind = 64;
inline constexpr Kinds any_kind = 127;

struct Facets {
  using Nodes = std::vector<const openapi::Node*>;

  // Every schema that a value has to match; the alternatives within these schemas (`oneOf`, `anyOf`) are not included.
  Nodes sources;
  Kinds kinds = any_kind;  // From `type`.
  bool is_never = false;   // No value matches.
  std::map<std::string_view, Nodes> properties;
  std::set<std::string_view> required;
  std::optional<Nodes> values;  // The allowed values, from `enum` and `const`.

  // Returns the keyword's value in the first source that has the keyword.
  const openapi::Node* find(std::string_view keyword) const noexcept;
  bool has_any(std::span<const std::string_view> keywords) const noexcept;
  bool has_any(std::initializer_list<std::string_view> keywords) const noexcept {
    return has_any(std::span(keywords.begin(), keywords.size()));
  }
  // The kinds of values that the schema is meant for; without a `type`, they are derived from the allowed values or
  // from the keywords.
  Kinds meant() const noexcept;
};

Facets facets_of(const openapi::Document& document, const openapi::Node& schema);

// Skips schemas that add nothing: those that have only a `$ref`, or only an `allOf` of one schema, and perhaps a
// description.
const openapi::Node& core_of(const openapi::Document& document, const openapi::Node& schema);
// Whether the schema, including its `$ref` and `allOf`, has no keyword that a value could violate.
bool says_nothing(const openapi::Node& schema) noexcept;
// The kind of an enum's or a const's value.
Kinds kind_of(const openapi::Node& value) noexcept;

// Keywords that are checked on the JSON before it is read, because a reader of a struct, a list or a text cannot check
// them.
inline constexpr std::string_view keywords_ahead[] = {"not",
                                                      "if",
                                                      "dependentSchemas",
                                                      "dependentRequired",
                                                      "contains",
                                                      "propertyNames",
                                                      "patternProperties",
                                                      "prefixItems",
                                                      "$dynamicRef",
                                                      "unevaluatedItems"};

}  // namespace keel::gen
